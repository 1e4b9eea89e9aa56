// @ts-check
/** Three words that can be worked out with a pencil, done rightly and with a mistake. */

import { attend, causal, layerNorm, total } from "app/arithmetic.js";
import { h } from "app/dom.js";
import { grid } from "app/hand-parts.js";
import { steps } from "app/hand-steps.js";
import { mathText } from "app/mathematics.js";
import { fixed } from "app/numbers.js";
import { select, toggle } from "app/parts.js";

/** @typedef {import("app/explorer.js").Explorer} Explorer */
/** @typedef {import("app/arithmetic.js").Grid} Grid */

/** The sentence: I, you, see. d_k is 4, so that its root is 2; the second row is uniform on purpose. */
export const WORDS = ["나는", "너를", "본다"];
/** @type {{q: Grid, k: Grid, v: Grid}} */
export const EXAMPLE = {
  q: [[1, 0, 1, 0], [0, 1, 1, 0], [1, 1, 0, 2]],
  k: [[1, 1, 0, 0], [0, 1, 0, 1], [1, 0, 1, 1]],
  v: [[1, 0, 0, 2], [0, 2, 1, 0], [1, 1, 0, 1]],
};
/** What goes around the attention in the first row. */
const X = [1, 2, 0, 1];

/** @type {Record<string, import("app/arithmetic.js").Ways & {needsMask?: boolean}>} */
export const MISTAKES = {
  "no-root": { scaled: false },
  "mask-last": { maskLast: true, needsMask: true },
  "wrong-axis": { downwards: true },
  "ten-thousand": { hidden: -1e4, needsMask: true },
  "unbiased": {},
};

/**
 * Return the tables of a calculation, from scores to output.
 * @param {Explorer} explorer
 * @param {import("app/arithmetic.js").Attention} found
 * @param {{rows: string[], columns: string[], size: number, chosen: [number, number] | null, masked: boolean}} options
 */
export function tables(explorer, found, { rows, columns, size, chosen, masked }) {
  const components = (found.output[0] ?? []).map((_, place) => String(place));
  return h("div", { class: "tables" },
    grid(mathText("Q K^T"), found.products, { rows, columns, chosen }),
    grid(`scores = ${mathText(`Q K^T / √${size}`)}`, found.scores, { rows, columns, chosen }),
    masked ? grid(explorer.t("hand.table.masked"), found.masked, { rows, columns, chosen }) : null,
    grid(`exp(${masked ? "masked_scores" : "scores"})`, found.exponentials, { rows, columns, chosen, sums: explorer.t("hand.table.sum") }),
    grid(explorer.t("hand.table.weights"), found.weights, { rows, columns, chosen, sums: explorer.t("hand.table.sum") }),
    grid(explorer.t("hand.table.output"), found.output, { rows, columns: components }));
}

/** Return Q, K and V. @param {{q: Grid, k: Grid, v: Grid}} given @param {string[]} rows @param {string[]} columns */
function inputs({ q, k, v }, rows, columns) {
  return h("div", { class: "tables" }, grid("Q", q, { rows }), grid("K", k, { rows: columns }), grid("V", v, { rows: columns }));
}

/** Return what the address says of this tab. @param {Explorer} explorer */
export function wordsState(explorer) {
  const flags = explorer.state.show.split(".");
  const mistake = Object.keys(MISTAKES).find((name) => flags.includes(name)) ?? "";
  return { mistake, isCausal: flags.includes("causal") || Boolean(MISTAKES[mistake]?.needsMask), all: flags.includes("all") };
}

/** @param {Explorer} explorer */
export function wordsTab(explorer) {
  const { mistake, isCausal, all } = wordsState(explorer);
  const go = (/** @type {string} */ own, /** @type {boolean} */ masked) => explorer.go({ show: [own, masked ? "causal" : "", all ? "all" : ""].filter(Boolean).join(".") });
  const mask = isCausal ? causal(3) : null;
  const found = attend(EXAMPLE.q, EXAMPLE.k, EXAMPLE.v, { mask });
  const i = Math.min(2, Math.max(0, explorer.state.q));
  const j = Math.min(2, Math.max(0, explorer.state.k));
  const names = /** @type {[string, string][]} */ ([["", explorer.t("hand.mistake.none")], ...Object.keys(MISTAKES).map((name) => [name, explorer.t(`hand.mistake.${name}`)])]);
  const words = /** @type {[string, string][]} */ (WORDS.map((word, place) => [String(place), word]));
  return h("div", { class: "hand-tab" },
    h("p", null, explorer.t("hand.words.words")),
    h("div", { class: "row" }, toggle(explorer.t("hand.causal"), isCausal, (value) => go(MISTAKES[mistake]?.needsMask && !value ? "" : mistake, value)),
      select(explorer.t("hand.mistake"), names, mistake, (own) => go(own, isCausal))),
    h("h2", null, explorer.t("hand.given")), inputs(EXAMPLE, WORDS, WORDS),
    h("h2", null, explorer.t("hand.worked")), tables(explorer, found, { rows: WORDS, columns: WORDS, size: 4, chosen: [i, j], masked: isCausal }),
    mistake && mistake !== "unbiased" ? mistaken(explorer, mistake, found, mask) : null,
    norms(explorer, mistake === "unbiased"),
    h("h2", null, explorer.t("hand.one-cell")),
    h("div", { class: "row" }, select(explorer.t("hand.query"), words, i, (value) => explorer.go({ q: Number(value) })), select(explorer.t("hand.key"), words, j, (value) => explorer.go({ k: Number(value) }))),
    steps(explorer, {
      q: EXAMPLE.q[i], keys: EXAMPLE.k, values: EXAMPLE.v, allowed: mask ? mask[i] : WORDS.map(() => true), i, j, head: -1,
      asking: WORDS[i], labels: WORDS, name: null, model: null, all, dim: 0,
    }));
}

/**
 * Show a mistake's result beside the right one.
 * @param {Explorer} explorer
 * @param {string} name
 * @param {import("app/arithmetic.js").Attention} right
 * @param {boolean[][] | null} mask
 */
function mistaken(explorer, name, right, mask) {
  const yours = attend(EXAMPLE.q, EXAMPLE.k, EXAMPLE.v, { mask, ...MISTAKES[name] });
  const components = ["0", "1", "2", "3"];
  const differs = (/** @type {Grid} */ a, /** @type {Grid} */ b) => (/** @type {number} */ row, /** @type {number} */ column) => Math.abs(a[row][column] - b[row][column]) > 5e-5;
  const column = (/** @type {string} */ title, /** @type {import("app/arithmetic.js").Attention} */ one, /** @type {import("app/arithmetic.js").Attention | null} */ other) => h("div", { class: "panel" }, h("h3", null, title),
    grid(explorer.t("hand.table.weights"), one.weights, { rows: WORDS, columns: WORDS, sums: explorer.t("hand.table.sum"), marked: other ? differs(one.weights, other.weights) : undefined }),
    grid(explorer.t("hand.table.output"), one.output, { rows: WORDS, columns: components, marked: other ? differs(one.output, other.output) : undefined }));
  return h("section", null, h("h2", null, explorer.t(`hand.mistake.${name}`)), h("p", null, explorer.t(`hand.mistake.${name}.words`)),
    h("div", { class: "beside" }, column(explorer.t("hand.right"), right, null), column(explorer.t("hand.yours"), yours, right)),
    h("p", { class: "quiet" }, explorer.t("hand.marked")),
    name === "ten-thousand" ? shutRow(explorer) : null);
}

/** Show a row that may look nowhere: what minus infinity and -1e4 make of it. @param {Explorer} explorer */
function shutRow(explorer) {
  const shut = [[false, false, false]];
  const row = [EXAMPLE.q[0]];
  const [right, yours] = [-Infinity, -1e4].map((hidden) => attend(row, EXAMPLE.k, EXAMPLE.v, { mask: shut, hidden }));
  return h("div", null, h("p", null, explorer.t("hand.shut-row")), h("div", { class: "tables" },
    grid("−∞", right.weights, { rows: [WORDS[0]], columns: WORDS, sums: explorer.t("hand.table.sum") }),
    grid("−10000", yours.weights, { rows: [WORDS[0]], columns: WORDS, sums: explorer.t("hand.table.sum"), marked: () => true })));
}

/** @param {Explorer} explorer @param {boolean} isMistaken */
function norms(explorer, isMistaken) {
  const { output } = attend(EXAMPLE.q, EXAMPLE.k, EXAMPLE.v);
  const z = output[0].map((value, place) => value + X[place]);
  const right = layerNorm(z);
  const yours = layerNorm(z, 1e-5, { unbiased: true, outside: true });
  const columns = ["0", "1", "2", "3"];
  const rows = ["x", explorer.t("hand.table.attention"), "z = x + out", "LayerNorm(z)", ...(isMistaken ? [explorer.t("hand.yours")] : [])];
  const square = (/** @type {number} */ value) => `(${fixed(value - right.mean)})²`;
  return h("section", null, h("h2", null, explorer.t("hand.norm3")), h("p", null, explorer.t("hand.norm3.words")),
    grid(explorer.t("hand.norm3.row", { word: WORDS[0] }), [X, output[0], z, right.result, ...(isMistaken ? [yours.result] : [])], { rows, columns, marked: (row) => row === 4 }),
    h("p", { class: "sum number" }, `mean = (${z.map((value) => fixed(value)).join(" + ")}) / 4 = `, h("strong", null, fixed(right.mean))),
    h("p", { class: "sum number" }, `variance = (${z.map(square).join(" + ")}) / 4 = ${fixed(total(z.map((value) => (value - right.mean) ** 2)))} / 4 = `, h("strong", null, fixed(right.variance))),
    isMistaken ? [h("h3", null, explorer.t("hand.mistake.unbiased")), h("p", null, explorer.t("hand.mistake.unbiased.words")),
      h("p", { class: "sum number" }, `variance = ${fixed(total(z.map((value) => (value - right.mean) ** 2)))} / 3 = `, h("strong", null, fixed(yours.variance)), `,  ${mathText(`√${fixed(yours.variance)} + 0.00001`)} = ${fixed(yours.divisor)}`)] : null);
}
