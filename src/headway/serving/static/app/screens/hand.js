// @ts-check
/** By hand: one weight and what its head gathers, worked out and compared with the model. */

import { quoted, tensorCode, traceLines } from "app/python.js";
import { askerLabels, attentionName, chosenKey, followRow, keysOf, kindOf, kindsOf, layersOf, maskOf } from "app/attention-view.js";
import { keepScroll } from "app/attention-scroll.js";
import { h } from "app/dom.js";
import { aroundView, loadAround } from "app/hand-around.js";
import { goodCode, goodTab } from "app/hand-good.js";
import { inputView, loadInput } from "app/hand-input.js";
import { steps } from "app/hand-steps.js";
import { EXAMPLE, wordsState, wordsTab } from "app/hand-words.js";
import { readMatrices, yoursTab } from "app/hand-yours.js";
import { matrix } from "app/matrix.js";
import { fixed } from "app/numbers.js";
import { choice, heading, select, toggle } from "app/parts.js";

/** @typedef {import("app/explorer.js").Explorer} Explorer */
/** @typedef {import("app/trace.js").Tensor} Tensor */

/**
 * @typedef {object} Data
 * @property {import("app/trace.js").Trace} trace
 * @property {Chosen} chosen
 * @property {Tensor} q   of the head, like all of these
 * @property {Tensor} k
 * @property {Tensor} v
 * @property {Record<"scores" | "masked_scores" | "weights" | "heads", Tensor | null>} model
 * @property {{source: Tensor | null, target: Tensor | null}} masks
 * @property {import("app/hand-around.js").Around} around
 * @property {import("app/hand-input.js").Input} input
 */

/** @typedef {{kind: import("app/attention-view.js").Kind, layer: number, layers: number, head: number, heads: number, name: string, i: number, j: number}} Chosen */

/** @param {Explorer} explorer */
const tabOf = (explorer) => (["words", "good", "yours"].includes(explorer.state.tab) ? explorer.state.tab : "");

/** @param {Explorer} explorer @param {import("app/trace.js").Trace} trace @returns {Chosen} */
function chosenOf(explorer, trace) {
  const kind = kindOf(explorer.state.view, explorer.model);
  const layers = layersOf(explorer.model, kind);
  const heads = explorer.model.sizes.num_heads;
  const layer = explorer.layer(layers);
  const within = (/** @type {number} */ value, /** @type {number} */ size) => Math.max(0, Math.min(size - 1, value));
  return {
    kind, layer, layers, heads, head: Math.max(0, explorer.head(heads)), name: attentionName(kind, layer),
    i: within(explorer.state.q, askerLabels(trace, kind).length), j: within(explorer.state.k, keysOf(trace, kind).length),
  };
}

/** @param {Explorer} explorer @returns {Promise<Data | null>} */
async function load(explorer) {
  followRow(explorer);
  if (tabOf(explorer) !== "") return null;
  const trace = await explorer.trace();
  const chosen = chosenOf(explorer, trace);
  const of = (/** @type {string} */ part) => trace.tensor(`${chosen.name}.${part}`, { head: chosen.head });
  const maybe = (/** @type {Promise<Tensor>} */ asked) => asked.catch(() => null);
  const [q, k, v, around, input, scores, masked, weights, heads, source, target] = await Promise.all([
    of("q"), of("k"), of("v"), loadAround(explorer, trace, chosen.name, chosen.i), loadInput(explorer, trace, chosen),
    maybe(of("scores")), maybe(of("masked_scores")), maybe(of("weights")), maybe(of("heads")),
    maybe(trace.tensor("source_mask")), maybe(trace.tensor("target_mask"))]);
  if (weights) chosen.j = chosenKey(explorer, weights.part(chosen.i).data);
  return { trace, chosen, q, k, v, around, input, model: { scores, masked_scores: masked, weights, heads }, masks: { source, target } };
}

/** @param {Explorer} explorer @param {Data | null} data */
function render(explorer, data) {
  const tab = tabOf(explorer);
  const tabs = /** @type {[string, string][]} */ ([["", explorer.t("hand.tab.model")], ["words", explorer.t("hand.tab.words")], ["good", explorer.t("hand.tab.good")], ["yours", explorer.t("hand.tab.yours")]]);
  return h("div", null, heading(explorer.t("screen.hand"), explorer.t("hand.words")),
    h("div", { class: "row hand-tabs" }, choice(explorer.t("hand.tabs"), tabs, tab, (value) => explorer.go({ tab: value, show: "", ...(value ? { q: 0, k: -1 } : {}) }, { remember: true }))),
    tab === "words" ? wordsTab(explorer) : tab === "good" ? goodTab(explorer) : tab === "yours" ? yoursTab(explorer) : data ? modelTab(explorer, data) : null);
}

/** @param {Explorer} explorer @param {Data} data */
function modelTab(explorer, data) {
  const { chosen, trace, q, k, v, model, masks, around, input } = data;
  const { kind, head, i, j } = chosen;
  const all = explorer.state.show.split(".").includes("all");
  const rowsOf = (/** @type {Tensor} */ tensor) => Array.from({ length: tensor.shape[0] }, (_, row) => /** @type {ArrayLike<number>} */ (tensor.part(row).data));
  const hidden = maskOf(kind, masks);
  const labels = keysOf(trace, kind);
  const { weights, scores, masked_scores: masked, heads } = model;
  return h("div", { class: "hand-tab" },
    picker(explorer, data, hidden),
    h("h2", null, explorer.t("hand.seven")),
    toggle(explorer.t("hand.all", { size: q.shape[1] }), all, (value) => explorer.go({ show: value ? "all" : "" })),
    inputView(explorer, input, { piece: askerLabels(trace, kind)[i], i, head, all }),
    steps(explorer, {
      q: q.part(i).data, keys: rowsOf(k), values: rowsOf(v), allowed: labels.map((_, key) => !hidden(i, key)), i, j, head,
      asking: askerLabels(trace, kind)[i], labels, name: chosen.name, all, dim: explorer.state.dim,
      model: { score: scores?.value(i, j) ?? null, masked: masked?.value(i, j) ?? null, weights: weights?.part(i).data ?? null, head: heads?.part(i).data ?? null },
    }),
    aroundView(explorer, around, { head, query: i, all }));
}

/** @param {Explorer} explorer @param {Data} data @param {(query: number, key: number) => boolean} hidden */
function picker(explorer, { chosen, trace, model: { weights } }, hidden) {
  const { kind, layer, layers, head, heads, name, i, j } = chosen;
  const [rows, columns] = [askerLabels(trace, kind), keysOf(trace, kind)];
  const numbered = (/** @type {string[]} */ labels) => /** @type {[string, string][]} */ (labels.map((label, place) => [String(place), `${place}: ${label}`]));
  const place = (/** @type {number} */ query, /** @type {number} */ key) => explorer.go({ q: query, k: key, ...(kind === "encoder" ? {} : { t: query }) });
  const kinds = /** @type {[string, string][]} */ (kindsOf(explorer.model).map((one) => [one, explorer.t(`kind.${one}`)]));
  const most = Math.max(rows.length, columns.length);
  const cell = most <= 12 ? 26 : most <= 30 ? 18 : 15;
  const figure = weights ? matrix({
    tensor: weights, label: explorer.t("hand.matrix"), rows, columns, cell, chosen: [i, j], key: "hand-matrix", choose: place, tableWord: explorer.t("matrix.table"),
    masked: hidden, maskWord: explorer.t("matrix.mask"), rowAxis: explorer.t("matrix.asks"), columnAxis: explorer.t("matrix.looked"),
    hover: (query, key) => explorer.about({ name: `${name}.weights`, place: `head=${head}, query=${query}, key=${key}`, value: fixed(weights.value(query, key)) }),
  }) : null;
  if (figure) keepScroll(figure.querySelector(".matrix-scroll"), `hand:${name}:${trace.id}`, [j * cell, i * cell]);
  return h("div", { class: "panel hand-picker" },
    h("div", { class: "hand-choices" },
      select(explorer.t("hand.attention"), kinds, kind, (view) => explorer.go({ view, q: 0, k: -1, l: -1 })),
      select(explorer.t("hand.layer"), Array.from({ length: layers }, (_, l) => [String(l), explorer.t("layer.one", { layer: l + 1, of: layers })]), layer, (l) => explorer.go({ l: Number(l) })),
      select(explorer.t("hand.head"), Array.from({ length: heads }, (_, one) => [String(one), explorer.headWords(one)]), head, (one) => explorer.go({ h: Number(one) })),
      select(explorer.t("hand.query"), numbered(rows), i, (query) => place(Number(query), j)),
      select(explorer.t("hand.key"), numbered(columns), j, (key) => place(i, Number(key))),
      h("p", { class: "hand-cell" }, h("code", null, tensorCode(`${name}.weights`, `head=${head}, query=${i}, key=${j}`)), " = ", h("strong", { class: "number" }, weights ? fixed(weights.value(i, j)) : "–"))),
    figure);
}

/** @param {Explorer} explorer @param {Data | null} data */
function subject(explorer, data) {
  if (data === null) return { name: "encoder.layers.*.self_attention.weights" };
  const { name, head, i, j } = data.chosen;
  return { name: `${name}.weights`, place: `head=${head}, query=${i}, key=${j}`, value: data.model.weights ? fixed(data.model.weights.value(i, j)) : undefined };
}

/** @param {Explorer} explorer @param {Data | null} data */
function python(explorer, data) {
  if (tabOf(explorer) === "good") return goodCode();
  if (data === null) return pencil(explorer);
  const { name, head, i, j } = data.chosen;
  return [...traceLines(explorer, data.trace),
    `name = ${quoted(name)}`,
    `q, k, v = (trace[f"{name}.{part}"][${head}] for part in "qkv")`,
    "scores = q @ k.T / q.shape[-1] ** 0.5",
    `print(scores[${i}, ${j}], trace[f"{name}.scores"][${head}, ${i}, ${j}])`,
    `weights = trace[f"{name}.masked_scores"][${head}].softmax(-1)`,
    `print(weights[${i}, ${j}], trace[f"{name}.weights"][${head}, ${i}, ${j}])`,
    `print((weights @ v)[${i}], trace[f"{name}.heads"][${head}, ${i}])`,
    `print(trace.explain(f"{name}.weights", head=${head}, query=${i}, key=${j}${explorer.language === "ko" ? ", language=\"ko\"" : ""}))`].join("\n");
}

/** Return the code of the two tabs with q, k and v of their own. @param {Explorer} explorer */
function pencil(explorer) {
  const isWords = tabOf(explorer) === "words";
  const typed = readMatrices(isWords ? "" : explorer.state.qkv);
  const isCausal = isWords ? wordsState(explorer).isCausal : explorer.state.show.split(".").includes("causal");
  const rows = (/** @type {(string | number)[][]} */ grid) => `[${grid.map((row) => `[${row.map((value) => `${Number(value) || 0}.`.replace(/(\..*)\.$/, "$1")).join(", ")}]`).join(", ")}]`;
  const given = isWords ? EXAMPLE : typed;
  return ["import torch", "", ...(/** @type {const} */ (["q", "k", "v"])).map((letter) => `${letter} = torch.tensor(${rows(given[letter])})`),
    "scores = q @ k.T / q.shape[-1] ** 0.5",
    ...(isCausal ? ["mask = torch.ones_like(scores).tril().bool()", "scores = scores.masked_fill(~mask, float(\"-inf\"))"] : []),
    "weights = scores.softmax(-1)", "print(weights)", "print(weights @ v)"].join("\n");
}

/** @type {import("app/explorer.js").Screen} */
export const hand = {
  id: "hand", load, render, python, subject,
  figure: (_, data) => (data ? `${data.chosen.name}.weights` : null),
  needsSource: (explorer) => tabOf(explorer) === "",
};
