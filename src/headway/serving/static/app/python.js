// @ts-check
/**
 * Python that shows what the page shows: the lines that all screens begin with.
 *
 * What is searched for, and how, is read from the body that the program is asked with, in `searchOf`
 * alone: what the page shows and what its Python says cannot differ.
 */

/** @typedef {import("app/explorer.js").Explorer} Explorer */

/** Return a text as Python writes it. @param {string} text */
export const quoted = (text) => JSON.stringify(text);

/**
 * Return the Python of a tensor of the trace, or of a part of it: `trace["…"].at(head=0, query=2)`.
 * Of several places taken together no single expression is the number: name and place, then.
 * @param {string} name   also of a mean or sum, `….weights.mean(0)`
 * @param {string} [place]   as `head=0, query=2`, or `query=[2, 3], key=0` of several
 * @param {string} [trace]   what the trace is called
 */
export function tensorCode(name, place, trace = "trace") {
  if (place && /=\[/.test(place)) return `${name}  [${place}]`;
  const [, path, reduced = ""] = /** @type {RegExpExecArray} */ (/^(.*?)(\.(?:mean|sum)\(.*)?$/.exec(name));
  const whole = `${trace}[${quoted(path)}]`;
  if (!reduced) return place ? `${whole}.at(${place})` : whole;
  const places = place ? place.split(", ").map((part) => part.slice(part.indexOf("=") + 1)) : [];
  return `${whole}${reduced}${places.length ? `[${places.join(", ")}]` : ""}`;
}

/** Return a name as Python writes it, of a head or the mean. @param {string} name @param {number} head */
export const spoken = (name, head) => (head < 0 ? `${name}.mean(0)` : name);

/** Return the line that loads the model, in the page's precision. @param {Explorer} explorer */
export const loadLine = ({ model }) => `translator = headway.load(${quoted(model.given)}, precision="float32")`;

/**
 * Return what a search is told in Python: nothing where it is the model's own way.
 * @param {Explorer} explorer
 * @param {Record<string, any>} body   what the program is asked for
 * @returns {{imports: string[], options: string, more: string}}  `more` goes on after the sentence
 */
export function searchOf({ model }, body) {
  const { beam, length_penalty: given, max_length: longest, sampling, prefix } = body;
  const own = model.decoding;
  const penalty = given ?? own.length_penalty;
  const isOwn = beam === own.beam_size && penalty === own.length_penalty && !longest && !sampling;
  const parts = [`beam_size=${beam}`, `length_penalty=${penalty}`];
  if (longest) parts.push(`max_length=${longest}`);
  if (sampling) {
    const { temperature, top_k: most, top_p: share, seed } = sampling;
    parts.push(`sampling=Sampling(${[`temperature=${temperature}`, most ? `top_k=${most}` : "", share ? `top_p=${share}` : "", `seed=${seed}`].filter(Boolean).join(", ")})`);
  }
  const options = isOwn ? "" : `, options=SearchOptions(${parts.join(", ")})`;
  return {
    imports: isOwn ? [] : [`from headway.decoding.options import ${sampling ? "Sampling, " : ""}SearchOptions`],
    options,
    more: `${options}${prefix ? `, prefix=${quoted(prefix)}` : ""}`,
  };
}

/**
 * Return the lines that search as the page does: the record is `found`.
 * @param {Explorer} explorer
 * @param {Record<string, any>} [body]
 */
export function searchLines(explorer, body = explorer.request()) {
  const { imports, more } = searchOf(explorer, body);
  return ["import headway", ...imports, "", loadLine(explorer), `found = translator.search(${quoted(body.source)}${more})`];
}

/**
 * Return the lines that make the trace of the page: over a target of the reader's own, what was
 * drawn, or what the search finds.
 * @param {Explorer} explorer
 * @param {import("app/trace.js").Trace} trace
 * @param {string[]} [others]   more lines to import with
 * @returns {string[]}
 */
export function traceLines(explorer, { sentence }, others = []) {
  const { target } = explorer.state;
  /** @type {Record<string, any>} */
  const body = { ...explorer.request(), source: sentence.source };
  const { imports, more } = searchOf(explorer, body);
  const isDrawn = !target && body.sampling;
  const given = target ? `, ${quoted(target)}` : isDrawn ? ", found.pieces(found.best.number)" : more;
  return [
    "import headway", ...[...others, ...(target ? [] : imports)].sort(), "", loadLine(explorer),
    ...(isDrawn ? [`found = translator.search(${quoted(body.source)}${more})`] : []),
    `trace = translator.trace(${quoted(body.source)}${given})`,
  ];
}
