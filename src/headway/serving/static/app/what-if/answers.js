// @ts-check
/** What the screen "What if" asks: A, B, and what is different. All answers are kept by request. */

import { about, changesOf, isChanged, originalBody, resolved } from "app/what-if/edits.js";
import { total } from "app/arithmetic.js";
import { isEnd, kindOf } from "app/attention-view.js";
import { Refusal } from "app/network.js";
import { Tensor } from "app/trace.js";
import { lastCross } from "app/what-if/form.js";

/** @typedef {import("app/explorer.js").Explorer} Explorer */
/** @typedef {import("app/trace.js").Trace} Trace */
/** @template T @typedef {{value: T, error?: undefined} | {value?: undefined, error: Refusal}} Attempt */

/**
 * @typedef {object} Attention
 * @property {string} name
 * @property {Tensor} a
 * @property {Tensor | null} b   null where it has another shape
 * @property {(row: number, column: number) => boolean} masked
 * @property {(row: number, column: number) => boolean} maskedAfter
 * @property {number} heads
 * @property {number} layers
 * @property {number} layer
 * @property {number} head
 */

/**
 * @typedef {object} Answers
 * @property {import("app/what-if/edits.js").Changes} changes
 * @property {Trace} a
 * @property {any} before          the record of A's search; null where no question can be asked
 * @property {Attempt<Trace>} b    over A's translation
 * @property {Attempt<any>} after  the record of B's search
 * @property {Attempt<any> | null} comparison
 * @property {Attention | null} attention
 * @property {any} sweep
 * @property {number} attended     the source token with most attention, while nothing is changed
 */

/** Return the trace of A. @param {Explorer} explorer @returns {Promise<Trace>} */
export function original(explorer) {
  return explorer.backend.interactive ? originalTrace(explorer) : explorer.trace();
}

/** @param {Explorer} explorer */
function originalTrace(explorer) {
  const body = originalBody(explorer);
  return body.target ? explorer.traceOf(body) : explorer.traceFound(body);
}

/** @param {Explorer} explorer @returns {Promise<Answers>} */
export async function answers(explorer) {
  const changes = changesOf(explorer);
  const a = await original(explorer);
  /** @type {Answers} */
  const found = {
    changes, a, before: null, b: { value: a }, after: { value: null }, comparison: null, attention: null, sweep: null, attended: 0,
  };
  if (!explorer.backend.interactive) return found;
  const row = explorer.row(a.rows.length);
  const sweep = explorer.state.show === "sweep"
    ? explorer.ask("ablate", [a.id, row], () => a.again(() => explorer.backend.ablate(a.id, row))) : null;
  if (isChanged(changes)) await compared(explorer, found);
  else found.attended = await mostAttended(explorer, a);
  found.sweep = await sweep;
  return found;
}

/**
 * Return the source token that gets most attention in the last cross-attention. Signs, and the ends
 * of the sentence, do not count: they get much and say little.
 * @param {Explorer} explorer
 * @param {Trace} a
 */
async function mostAttended(explorer, a) {
  const weights = (await a.tensor(`${lastCross(explorer).name}.weights`)).mean();
  const [rows, keys] = weights.shape;
  const sums = Array.from({ length: keys }, (_, key) =>
    (isEnd(a.sentence.source_pieces[key]) || !/\p{L}/u.test(a.sentence.source_pieces[key]) ? -1 : total(Array.from({ length: rows }, (__, row) => weights.value(row, key)))));
  return sums.indexOf(Math.max(...sums));
}

/** Tell whether a search can have these changes: it writes piece by piece, and has no future to hide. @param {import("app/what-if/edits.js").Changes} changes */
export function canSearch({ edits }) {
  return edits.every(({ name }) => name !== "target_mask");
}

/** Fill in B and its comparison with A. @param {Explorer} explorer @param {Answers} found */
async function compared(explorer, found) {
  const { a, changes } = found;
  const body = originalBody(explorer);
  const source = changes.src2 || body.source;
  const edits = await attempt(() => resolved(explorer, changes.edits, body));
  const { edits: taken, others } = edits.value ?? { edits: [], others: [] };
  const edited = taken.length ? { edits: taken } : {};
  const { target: _, ...plain } = body; // as the trace is searched
  const target = body.target ?? a.sentence.writes.slice(0, -1);
  const own = { ...about(source, plain), ...edited, ...(changes.prefix ? { prefix: changes.prefix } : {}) };
  const refused = /** @type {any} */ (edits);
  [found.before, found.b, found.after] = await Promise.all([
    explorer.searchFor(plain).then((answer) => answer.record),
    edits.error ? refused : attempt(() => explorer.traceOf({ ...(body.model ? { model: body.model } : {}), source, target, ...edited }, others)),
    edits.error ? refused : canSearch(changes) ? attempt(() => explorer.searchFor(own, others).then((answer) => answer.record)) : { value: null },
  ]);
  const b = found.b.value;
  if (!b) return;
  if (b.id !== a.id && isSameSource(a, b)) {
    found.comparison = await attempt(() => explorer.ask("compare", [a.id, b.id],
      () => a.again(() => b.again(() => explorer.backend.compare(a.id, b.id)))));
  }
  found.attention = await attentionOf(explorer, a, b);
}

/** Tell whether both have read the same pieces, so that each place of one is a place of the other. @param {Trace} a @param {Trace} b */
export function isSameSource(a, b) {
  return JSON.stringify(a.sentence.source_pieces) === JSON.stringify(b.sentence.source_pieces);
}

/**
 * Return the chosen weights of both runs.
 * @param {Explorer} explorer
 * @param {Trace} a
 * @param {Trace} b
 * @returns {Promise<Attention>}
 */
async function attentionOf(explorer, a, b) {
  const view = kindOf(explorer.state.view, explorer.model);
  const all = explorer.model.attention.filter((/** @type {any} */ own) => own.kind === view);
  const layer = explorer.layer(all.length);
  const { heads, name: attention } = all[layer];
  const head = explorer.head(heads);
  const name = `${attention}.weights`;
  const mask = view === "decoder" ? "target_mask" : "source_mask";
  const [before, after, maskBefore, maskAfter] = await Promise.all([
    weights(a, name, head), weights(b, name, head), a.tensor(mask), b.tensor(mask),
  ]);
  const isSame = String(before.shape) === String(after.shape);
  const hiddenBefore = closed(maskBefore, before.shape[1]);
  const hiddenAfter = closed(maskAfter, after.shape[1]);
  return { name, a: before, b: isSame ? after : null, masked: hiddenBefore, maskedAfter: hiddenAfter, heads, layers: all.length, layer, head };
}

/** @param {Trace} trace @param {string} name @param {number} head */
async function weights(trace, name, head) {
  return head < 0 ? (await trace.tensor(name)).mean() : trace.tensor(name, { head });
}

/** Tell of each cell whether a mask closes it; a mask of one row holds for all rows. @param {Tensor} mask @param {number} width */
function closed(mask, width) {
  const rows = mask.data.length / width;
  return (/** @type {number} */ row, /** @type {number} */ column) => mask.data[(rows > 1 ? row : 0) * width + column] === 0;
}

/** Return b − a. @param {Tensor} a @param {Tensor} b */
export function difference(a, b) {
  return new Tensor(a.name, a.shape, a.axes, Float32Array.from(a.data, (value, place) => b.data[place] - value));
}

/**
 * Return an answer, or what the program says against it; other errors go on.
 * @template T
 * @param {() => Promise<T>} question
 * @returns {Promise<Attempt<T>>}
 */
export async function attempt(question) {
  try {
    return { value: await question() };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { error };
  }
}
