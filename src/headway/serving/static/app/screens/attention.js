// @ts-check
/** Attention: all heads of all layers at once, and one of them large. */

import { bigView, cellFacts, comparison } from "app/attention-big.js";
import { quoted, spoken, tensorCode, traceLines } from "app/python.js";
import { flowOf, flowView } from "app/attention-flow.js";
import { panel, picturesOf } from "app/attention-grid.js";
import { attentionName, chosenKey, followRow, groupAt, kindOf, kindsOf, maskOf, viewOf } from "app/attention-view.js";
import { h } from "app/dom.js";
import { choice, heading, select, toggle } from "app/parts.js";
import { Tensor } from "app/trace.js";

/** @typedef {import("app/explorer.js").Explorer} Explorer */
/** @typedef {import("app/attention-view.js").Kind} Kind */
/** @typedef {Record<Kind, Tensor>} Stacked */

/**
 * @typedef {object} Data
 * @property {import("app/trace.js").Trace} trace
 * @property {Stacked} weights   (layer, head, query, key) of each kind that the model has
 * @property {Tensor | null} scores  (head, query, key) of the layer that is seen
 * @property {{source: Tensor | null, target: Tensor | null}} masks
 */

/** What `show` in the address can say: words with dots between. */
const FLAGS = ["sharp", "noends", "merge", "lines", "flow"];

/** @param {Explorer} explorer @returns {Promise<Data>} */
async function load(explorer) {
  followRow(explorer);
  const trace = await explorer.trace();
  const kind = kindOf(explorer.state.view, explorer.model);
  const maybe = (/** @type {string} */ name) => trace.tensor(name).catch(() => null); // a page in one file may lack it
  const kinds = kindsOf(explorer.model);
  const [source, target, ...found] = await Promise.all([
    maybe("source_mask"), maybe("target_mask"), ...kinds.map((one) => trace.tensor(`${attentionName(one, "*")}.weights`))]);
  const weights = /** @type {Stacked} */ (Object.fromEntries(kinds.map((one, place) => [one, layered(found[place])])));
  const scores = await maybe(`${attentionName(kind, explorer.layer(weights[kind].shape[0]))}.scores`);
  return { trace, weights, scores, masks: { source, target } };
}

/** @param {any} tensor @returns {Tensor} */
function layered(tensor) {
  return tensor.shape.length === 4 ? tensor : new Tensor(tensor.name, [1, ...tensor.shape], ["layer", ...tensor.axes], tensor.data);
}

/** Return what is chosen, as far as it exists. @param {Explorer} explorer @param {Data} data */
function chosenOf(explorer, data) {
  const kind = kindOf(explorer.state.view, explorer.model);
  const [layers, heads, queries] = data.weights[kind].shape;
  const within = (/** @type {number} */ value, /** @type {number} */ size) => Math.max(0, Math.min(size - 1, value));
  const words = explorer.state.show.split(".");
  const other = words.map((word) => /^vs(mean|\d+)$/.exec(word)).find((found) => found !== null);
  const second = other ? (other[1] === "mean" ? -1 : Number(other[1])) : null;
  const [layer, head, q] = [explorer.layer(layers), explorer.head(heads), within(explorer.state.q, queries)];
  const { weights } = picturesOf(data.weights[kind])[layer][head < 0 ? heads : head];
  return {
    kind, layers, heads, second: second !== null && second < heads ? second : null,
    layer, head, q, k: chosenKey(explorer, weights.part(q).data),
    flags: new Set(words.filter((word) => FLAGS.includes(word))),
  };
}

/** @typedef {ReturnType<typeof chosenOf>} Chosen */

/** Return `show` with other flags. @param {Chosen} chosen @param {string} flag @param {boolean} isOn */
function flagged(chosen, flag, isOn) {
  const flags = FLAGS.filter((one) => (one === flag ? isOn : chosen.flags.has(one)));
  return [...flags, ...(chosen.second !== null ? [`vs${chosen.second < 0 ? "mean" : chosen.second}`] : [])].join(".");
}

/** @param {Explorer} explorer @param {Data} data @param {Chosen} chosen @param {number} head */
function subjectOf(explorer, { trace, weights, scores, masks }, chosen, head) {
  const { kind, layer, flags, q, k, heads } = chosen;
  const pictures = picturesOf(weights[kind])[layer];
  const own = pictures[head < 0 ? heads : head].weights;
  const view = viewOf(trace, kind, own, maskOf(kind, masks), { merge: flags.has("merge"), ends: !flags.has("noends") });
  const name = `${attentionName(kind, layer)}.weights`;
  view.tensor.name = name;
  return {
    trace, kind, name, head, weights: own, view,
    scores: scores && head >= 0 ? scores.part(head) : null,
    chosen: /** @type {[number, number]} */ ([groupAt(view.rows, q), groupAt(view.columns, k)]),
    choose: (/** @type {number} */ row, /** @type {number} */ column) => {
      const patch = { q: view.rows[row][0], k: view.columns[column][0] };
      explorer.go(kind === "encoder" ? patch : { ...patch, t: patch.q });
    },
  };
}

/** @param {Explorer} explorer @param {Chosen} chosen */
function controls(explorer, chosen) {
  const { flags, head, heads, second } = chosen;
  const flip = (/** @type {string} */ flag, /** @type {string} */ key, isOn = flags.has(flag)) => toggle(explorer.t(key), isOn, (value) => explorer.go({ show: flagged(chosen, flag, flag === "noends" ? !value : value) }));
  const others = Array.from({ length: heads + 1 }, (_, place) => place - 1).filter((one) => one !== head);
  const words = (/** @type {number} */ one) => explorer.headWords(one);
  return h("div", { class: "row attention-controls" },
    flip("noends", "attention.ends", !flags.has("noends")), flip("merge", "attention.merge"), flip("lines", "attention.all-lines"), flip("flow", "attention.flow"),
    select(explorer.t("attention.compare"), [["", explorer.t("attention.compare-none")], ...others.map((one) => /** @type {[string, string]} */ ([String(one), words(one)]))],
      second === null ? "" : String(second),
      (value) => explorer.go({ show: flagged({ ...chosen, second: value === "" ? null : Number(value) }, "", true) })));
}

/** @param {Explorer} explorer @param {Chosen} chosen */
function ways(explorer, chosen) {
  const { kind, layer, head, q, k } = chosen;
  const edits = JSON.stringify([{ name: `${attentionName(kind, layer)}.heads`, kind: "zero", where: { head } }]);
  return h("p", { class: "row ways" },
    h("a", { href: explorer.address({ screen: "hand", tab: "", show: "", view: kind, l: layer, h: Math.max(0, head), q, k }), "data-key": "work-it-out" },
      head < 0 ? explorer.t("attention.work-out-first") : explorer.t("attention.work-out")),
    explorer.backend.interactive && head >= 0
      ? h("a", { href: explorer.address({ screen: "what-if", tab: "", show: "", edits }), "data-key": "head-off" }, explorer.t("attention.head-off", { head: explorer.headWords(head) }))
      : null);
}

/** @param {Explorer} explorer @param {Data} data */
function render(explorer, data) {
  const chosen = chosenOf(explorer, data);
  const { kind, layer, layers, head, flags, second } = chosen;
  const sorted = flags.has("sharp");
  const headWords = (/** @type {number} */ one) => explorer.headWords(one);
  const subject = subjectOf(explorer, data, chosen, head);
  const title = [explorer.t(`kind.${kind}`), explorer.t("layer.one", { layer: layer + 1, of: layers }), headWords(head)].join(" · ");
  const big = second === null
    ? bigView(explorer, subject, { title, all: flags.has("lines") })
    : comparison(explorer, subject, subjectOf(explorer, data, chosen, second), headWords);
  const row = kind === "encoder" ? explorer.row(data.trace.rows.length) : chosen.q;
  return h("div", null,
    heading(explorer.t("screen.attention"), explorer.t("attention.words")),
    h("div", { class: "row" }, choice(explorer.t("attention.order"), [[false, explorer.t("attention.order.place")], [true, explorer.t("attention.order.sharp")]], sorted,
      (value) => explorer.go({ show: flagged(chosen, "sharp", value) })), sorted ? h("span", { class: "quiet" }, explorer.t("attention.order.words")) : null),
    h("div", { class: "attention-panels" }, kindsOf(explorer.model).map((one) => panel(explorer, one, data.weights[one], {
      chosen: one === kind ? { layer, head } : null, sorted,
      choose: (l, own) => explorer.go({ view: one, l, h: own }),
    }))),
    h("section", { class: "panel attention-big" },
      h("div", { class: "big-head" }, h("h2", null, title), h("code", { class: "quiet" }, tensorCode(spoken(subject.name, head), head < 0 ? "" : `head=${head}`))),
      controls(explorer, chosen),
      flags.has("merge") ? h("p", { class: "quiet" }, explorer.t("attention.merge-note")) : null,
      flags.has("noends") ? h("p", { class: "quiet" }, explorer.t("attention.noends-note")) : null,
      big, ways(explorer, chosen)),
    flags.has("flow") ? flowView(explorer, data.trace, flowOf(explorer, data.trace, data.weights.cross, data.weights.encoder, row)) : null);
}

/** @param {Explorer} explorer @param {Data} data */
function subject(explorer, data) {
  const chosen = chosenOf(explorer, data);
  const seen = subjectOf(explorer, data, chosen, chosen.head);
  const { name, place, value } = cellFacts(explorer, seen, ...seen.chosen);
  return { name, place, value };
}

/** @param {Explorer} explorer @param {Data} data */
function python(explorer, data) {
  const { kind, layer, head, q, k } = chosenOf(explorer, data);
  const lines = [...traceLines(explorer, data.trace), `weights = trace[${quoted(`${attentionName(kind, layer)}.weights`)}]`, "print([axis.name for axis in weights.axes])"];
  return [...lines, ...(head < 0
    ? ["mean = weights.mean(0)  # over heads", "print(mean)", `print(mean[${q}, ${k}])`]
    : [`print(weights.at(head=${head}))`, `print(weights.at(head=${head}, query=${q}, key=${k}))`])].join("\n");
}

/** @type {import("app/explorer.js").Screen} */
export const attention = {
  id: "attention", load, render, python, subject,
  figure: (explorer, data) => `${attentionName(kindOf(explorer.state.view, explorer.model), chosenOf(explorer, data).layer)}.weights`,
};
