// @ts-check
/** What the screen "Alignment" asks: words and weights, error rates, or scores of attribution. */

import { parse } from "app/alignment/links.js";
import { Refusal } from "app/network.js";

/** @typedef {import("app/explorer.js").Explorer} Explorer */
/** @typedef {import("app/trace.js").Trace} Trace */

/** @typedef {{matrix: number[][], source_words: string[], target_words: string[], pharaoh: string, name: string}} Aligned */
/** @typedef {{layer: number, head: number | null, reads: boolean, error_rate: number, precision: number, recall: number}} Score */
/** @typedef {{method: string, rows: string[], columns: string[], values: (number | null)[][], baselines: number[], gaps: number[]}} Attributed */

/**
 * @typedef {object} Answers
 * @property {Trace} trace
 * @property {Aligned | null} aligned
 * @property {import("app/alignment/links.js").Link[]} links   as shown: the reader's, else the largest weights
 * @property {boolean} areOwn      whether the reader has changed them
 * @property {{rows: Score[]} | null} errors
 * @property {Refusal | null} refusal   of the alignment by hand
 * @property {Attributed | null} attributed
 */

export const METHODS = ["cross", "gradient_x_input", "integrated_gradients", "occlusion"];

/** @param {Explorer} explorer */
export function methodOf(explorer) {
  const { method } = explorer.state;
  return METHODS.includes(method) && explorer.backend.has("attribute") ? method : "cross";
}

/** Return what the program is asked for; what is open is left to it. @param {Explorer} explorer */
export function reading(explorer) {
  const { l, h, show } = explorer.state;
  const cross = explorer.model.attention.filter((/** @type {any} */ own) => own.kind === "cross");
  const layer = l >= 0 && l < cross.length ? l : null;
  const { heads } = cross[layer ?? cross.length - 1];
  return { layer, head: h >= 0 && h < heads ? h : null, reads: show === "reads" ? true : null, layers: cross.length, heads };
}

/** @param {Explorer} explorer @returns {Promise<Answers>} */
export async function answers(explorer) {
  const trace = await explorer.trace();
  /** @type {Answers} */
  const found = { trace, aligned: null, links: [], areOwn: false, errors: null, refusal: null, attributed: null };
  const method = methodOf(explorer);
  if (method !== "cross") {
    found.attributed = await explorer.ask("attribute", [trace.id, method], () => trace.again(() => explorer.backend.attribute(trace.id, method)));
    return found;
  }
  const { layer, head, reads } = reading(explorer);
  const options = { layer, head, reads };
  /** @type {Aligned} */
  const aligned = await explorer.ask("align", [trace.id, options], () => trace.again(() => explorer.backend.align(trace.id, options)));
  found.aligned = aligned;
  if (explorer.backend.interactive) await score(explorer, found); // of an alignment that nobody knows beforehand
  const { source_words: sources, target_words: targets, pharaoh: own } = aligned;
  const { links } = explorer.state;
  found.areOwn = links !== "";
  found.links = parse(links || own, sources.length, targets.length).sure;
  return found;
}

/** Score all layers and heads by the alignment by hand, where there is one. @param {Explorer} explorer @param {Answers} found */
async function score(explorer, found) {
  const { gold } = explorer.state;
  const { trace } = found;
  if (!gold) return;
  try {
    found.errors = await explorer.ask("align_error", [trace.id, gold], () => trace.again(() => explorer.backend.alignError(trace.id, { gold })));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    found.refusal = error;
  }
}
