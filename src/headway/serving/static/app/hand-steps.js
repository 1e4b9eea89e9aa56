// @ts-check
/** Seven lines of arithmetic: from one query and its keys to what the head gathers. */

import { allowance, dot, gather, products, softmax, weightAllowance } from "app/arithmetic.js";
import { h } from "app/dom.js";
import { compared, farthest, nameOf, strip, sumLine } from "app/hand-parts.js";
import { mathText } from "app/mathematics.js";
import { fixed } from "app/numbers.js";

/** @typedef {import("app/explorer.js").Explorer} Explorer */

/**
 * @typedef {object} Model  the model's own numbers, where there is one
 * @property {number | null} score
 * @property {number | null} masked
 * @property {ArrayLike<number> | null} weights
 * @property {ArrayLike<number> | null} head
 */

/**
 * @typedef {object} Work
 * @property {ArrayLike<number>} q         of the row
 * @property {ArrayLike<number>[]} keys
 * @property {ArrayLike<number>[]} values
 * @property {boolean[]} allowed           where the row may look
 * @property {number} i
 * @property {number} j
 * @property {number} head                 -1: there are no heads
 * @property {string} asking               label of the row
 * @property {string[]} labels             of the keys
 * @property {string | null} name          of the attention
 * @property {Model | null} model
 * @property {boolean} all                 whether all numbers have digits
 * @property {number} dim                  component of the result that is written out
 */

/**
 * Return the seven steps.
 * @param {Explorer} explorer
 * @param {Work} work
 */
export function steps(explorer, work) {
  const scores = work.keys.map((key) => dot(work.q, key) / Math.sqrt(work.q.length));
  const masked = scores.map((score, key) => (work.allowed[key] ? score : -Infinity));
  const done = { scores, masked, soft: softmax(masked), error: scoreError(work) };
  return h("ol", { class: "hand-steps" }, [
    ...vectors(explorer, work), product(explorer, work), scaled(explorer, work, done), mask(explorer, work, done), weight(explorer, work, done), result(explorer, work, done),
  ]);
}

/** @typedef {{scores: number[], masked: number[], soft: import("app/arithmetic.js").Softmax, error: number}} Done */

/** Return how far a float32 score of the row may be off. @param {Work} work */
function scoreError({ q, keys }) {
  return Math.max(...keys.map((key) => allowance(products(q, key)))) / Math.sqrt(q.length);
}

/** @param {Work} work @param {string} [key] */
const at = ({ head, i, j }, key) => [head >= 0 ? `head=${head}` : "", key === "k" || key === "v" ? `key=${j}` : `query=${i}`, key === "both" ? `key=${j}` : ""].filter(Boolean).join(", ");

/**
 * @param {Explorer} explorer
 * @param {string} step
 * @param {Record<string, string | number>} words
 * @param {import("app/dom.js").Child} name
 * @param {import("app/dom.js").Child[]} content
 */
function line(explorer, step, words, name, ...content) {
  return h("li", { class: "hand-step panel" }, h("div", { class: "hand-step-head" }, h("h3", null, explorer.t(`hand.${step}`, words)), name),
    h("p", { class: "quiet" }, explorer.t(`hand.${step}.words`, words)), content);
}

/** @param {Explorer} explorer @param {Work} work @param {string} tensor @param {string} [key] */
const named = (explorer, work, tensor, key) => (work.name ? nameOf(explorer, `${work.name}.${tensor}`, at(work, key)) : null);

/** @param {Explorer} explorer @param {Work} work @returns {HTMLElement[]} */
function vectors(explorer, work) {
  const { q, keys, i, j, name, all } = work;
  return [
    line(explorer, "q", { i, piece: work.asking, size: q.length }, named(explorer, work, "q"),
      strip(explorer, q, { label: `q${i}`, all, name: name ? `${name}.q` : undefined, place: at(work), axis: "d_k" })),
    line(explorer, "k", { j, piece: work.labels[j] }, named(explorer, work, "k", "k"),
      strip(explorer, keys[j], { label: `k${j}`, all, name: name ? `${name}.k` : undefined, place: at(work, "k"), axis: "d_k" })),
  ];
}

/** @param {Explorer} explorer @param {Work} work */
function product(explorer, work) {
  const terms = products(work.q, work.keys[work.j]);
  return line(explorer, "product", {}, null,
    strip(explorer, terms, { label: "q × k", all: work.all }), sumLine(explorer, terms, work.all));
}

/** @param {Explorer} explorer @param {Work} work @param {Done} done */
function scaled(explorer, work, { scores, error }) {
  const size = work.q.length;
  const sum = dot(work.q, work.keys[work.j]);
  return line(explorer, "scale", { size }, named(explorer, work, "scores", "both"),
    h("p", { class: "sum number" }, `${fixed(sum)} / ${mathText(`√${size}`)} = ${fixed(sum)} / ${fixed(Math.sqrt(size))} = `, h("strong", null, fixed(scores[work.j]))),
    work.model ? compared(explorer, scores[work.j], work.model.score, error) : null,
    h("details", null, h("summary", { "data-key": "why-root" }, explorer.t("hand.why")), h("p", null, explorer.t("hand.why.words")),
      h("table", null, h("thead", null, h("tr", null, h("th", { scope: "col" }, "d_k"), h("th", { scope: "col" }, explorer.t("hand.why.deviation")))),
        h("tbody", null, [...new Set([4, size, 64, 512])].sort((a, b) => a - b).map((width) => h("tr", null, h("th", { scope: "row" }, width), h("td", null, `${mathText(`√${width}`)} = ${fixed(Math.sqrt(width), 2)}`)))))));
}

/** @param {Explorer} explorer @param {Work} work @param {Done} done */
function mask(explorer, work, { scores, masked, error }) {
  const { j, allowed } = work;
  return line(explorer, "mask", {}, named(explorer, work, "masked_scores", "both"),
    h("p", { class: "sum number" }, allowed[j]
      ? explorer.t("hand.mask.open", { score: fixed(scores[j]) })
      : explorer.t("hand.mask.shut", { score: fixed(scores[j]) })),
    work.model ? compared(explorer, masked[j], work.model.masked, error) : null);
}

/** @param {Explorer} explorer @param {Work} work @param {Done} done */
function weight(explorer, work, { masked, soft, error }) {
  const { j, labels, model } = work;
  const exponent = soft.shift === 0 ? fixed(masked[j]) : `${fixed(masked[j])} − ${fixed(soft.shift)}`;
  const head = ["key", "score", "exp", "weight", ...(model?.weights ? ["weight-model"] : [])];
  const modelWeights = model?.weights ?? null;
  return line(explorer, "softmax", {}, named(explorer, work, "weights", "both"),
    soft.shift === 0 ? null : h("p", { class: "quiet" }, explorer.t("hand.shift", { largest: fixed(soft.shift) })),
    h("div", { class: "scroll softmax-table", tabindex: "0", role: "group", "aria-label": explorer.t("hand.softmax.table") }, h("table", null,
      h("thead", null, h("tr", null, head.map((column) => h("th", { scope: "col" }, explorer.t(`hand.column.${column}`))))),
      h("tbody", null, labels.map((label, key) => h("tr", { class: key === j ? "chosen" : null },
        h("th", { scope: "row" }, label),
        h("td", { class: masked[key] === -Infinity ? "hatched" : null }, masked[key] === -Infinity ? `−∞ (${explorer.t("matrix.mask")})` : fixed(masked[key])),
        h("td", null, fixed(soft.exponentials[key])), h("td", null, fixed(soft.weights[key])),
        modelWeights ? h("td", null, fixed(modelWeights[key])) : null))),
      h("tfoot", null, h("tr", null, h("th", { scope: "row" }, explorer.t("hand.total")), h("td", null, ""), h("td", null, fixed(soft.sum)),
        h("td", null, fixed(soft.sum > 0 ? 1 : 0)), modelWeights ? h("td", null, fixed(Array.from(modelWeights).reduce((sum, value) => sum + value, 0))) : null)))),
    soft.sum === 0
      ? h("p", { class: "compared differs" }, explorer.t("hand.softmax.nothing"))
      : h("p", { class: "sum number" }, `exp(${exponent}) / ${fixed(soft.sum)} = ${fixed(soft.exponentials[j])} / ${fixed(soft.sum)} = `, h("strong", null, fixed(soft.weights[j]))),
    modelWeights ? compared(explorer, soft.weights[j], modelWeights[j], weightAllowance(soft.weights[j], error, labels.length)) : null);
}

/** @param {Explorer} explorer @param {Work} work @param {Done} done */
function result(explorer, work, { soft, error }) {
  const { values, j, i, all, name, model } = work;
  const size = values[0].length;
  const dim = Math.max(0, Math.min(size - 1, work.dim));
  const out = gather(soft.weights, values);
  const terms = values.map((value, key) => soft.weights[key] * value[dim]);
  const far = model?.head ? farthest(out, model.head) : 0;
  const allowed = allowance(values.map((value, key) => soft.weights[key] * value[far])) + values.reduce((sum, value, key) => sum + Math.abs(value[far]) * weightAllowance(soft.weights[key], error, values.length), 0);
  return line(explorer, "gather", { j, i, piece: work.labels[j] }, named(explorer, work, "heads"),
    h("h4", null, `v${j} · ${work.labels[j]} `, name ? nameOf(explorer, `${name}.v`, at(work, "v")) : null),
    strip(explorer, values[j], { label: `v${j}`, all, name: name ? `${name}.v` : undefined, place: at(work, "v"), axis: "d_v" }),
    h("h4", null, `${fixed(soft.weights[j])} × v${j}`),
    strip(explorer, values[j] && Array.from(values[j], (value) => value * soft.weights[j]), { label: `${fixed(soft.weights[j])} × v${j}`, all }),
    h("h4", null, explorer.t("hand.gather.sum", { i })),
    strip(explorer, out, { label: `head${i}`, all, name: name ? `${name}.heads` : undefined, place: at(work), axis: "d_v" }),
    h("p", { class: "sum number" }, `${explorer.t("hand.component", { dim })}: ${values.map((value, key) => `${fixed(soft.weights[key])} × ${value[dim] < 0 ? `(${fixed(value[dim])})` : fixed(value[dim])}`).slice(0, all ? undefined : 8).join(" + ")}${!all && values.length > 8 ? " + …" : ""} = `,
      h("strong", null, fixed(terms.reduce((sum, term) => sum + term, 0)))),
    model?.head ? compared(explorer, out[far], model.head[far], allowed, explorer.t("hand.worst", { dim: far, size })) : null);
}
