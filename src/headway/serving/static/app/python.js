// @ts-check
/** Python that shows what the page shows: the lines that all screens begin with. */

/** @typedef {import("app/explorer.js").Explorer} Explorer */

/** Return a text as Python writes it. @param {string} text */
export const quoted = (text) => JSON.stringify(text);

/** Return the line that loads the model. @param {Explorer} explorer */
export const loadLine = ({ model }) => `translator = headway.load(${quoted(model.given)})`;

/**
 * Return the lines that make the trace of the page.
 * @param {Explorer} explorer
 * @returns {string[]}
 */
export function traceLines(explorer) {
  const { state, model } = explorer;
  const given = [quoted(state.src)];
  if (state.target) given.push(quoted(state.target));
  if (state.prefix) given.push(`prefix=${quoted(state.prefix)}`);
  const penalty = state.lp < 0 ? model.decoding.length_penalty : state.lp;
  const isOwn = state.beam === model.decoding.beam_size && penalty === model.decoding.length_penalty;
  const hasOptions = !isOwn && !state.target;
  if (hasOptions) given.push(`options=SearchOptions(beam_size=${state.beam}, length_penalty=${penalty})`);
  return [
    "import headway",
    ...(hasOptions ? ["from headway.decoding.options import SearchOptions"] : []),
    "",
    loadLine(explorer),
    `trace = translator.trace(${given.join(", ")})`,
  ];
}
