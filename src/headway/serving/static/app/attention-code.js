// @ts-check
/** Python that shows what the page shows. */

/** @param {string} text */
export const quoted = (text) => JSON.stringify(text);

/**
 * Return the lines that make the trace of the page.
 * @param {import("app/explorer.js").Explorer} explorer
 * @returns {string[]}
 */
export function traceLines(explorer) {
  const { state, model } = explorer;
  const given = [quoted(state.src), state.target ? quoted(state.target) : "", state.prefix ? `prefix=${quoted(state.prefix)}` : ""];
  const options = [state.beam !== 4 ? `beam_size=${state.beam}` : "", state.lp >= 0 ? `length_penalty=${state.lp}` : ""].filter(Boolean);
  if (options.length) given.push(`options=SearchOptions(${options.join(", ")})`);
  return [
    "import headway",
    ...(options.length ? ["from headway.decoding.options import SearchOptions"] : []),
    "",
    `translator = headway.load(${quoted(model.name)})`,
    `trace = translator.trace(${given.filter(Boolean).join(", ")})`,
  ];
}
