// @ts-check
/** The hypotheses that ended: how each was scored, and two of them side by side. */

import { h } from "app/dom.js";
import { mathText } from "app/mathematics.js";
import { fixed } from "app/numbers.js";
import { lengthPenalty, pathOf, textOf } from "app/record.js";

/**
 * @typedef {import("app/explorer.js").Explorer} Explorer
 * @typedef {import("app/tree-picture.js").View} View
 */

/** @param {View} view @param {number} leaf */
function finalOf({ record }, leaf) {
  const path = pathOf(record, leaf);
  const node = record.nodes[leaf];
  // Where rules left nothing to go on with, the leaf stands for its parent: it is no piece of its own.
  const length = path.filter(({ piece }) => piece !== null).length;
  const penalty = lengthPenalty(record.options, length);
  return {
    leaf, path, length, penalty, total: node.total, score: node.score ?? 0, complete: node.complete,
    place: record.ranking.indexOf(leaf) + 1, text: textOf(path.map(({ piece }) => piece ?? "")),
    rest: (node.score ?? 0) - node.total / penalty, // what coverage takes away, where it counts
  };
}

/** @typedef {ReturnType<typeof finalOf>} Final */

/** @param {Explorer} explorer @param {View} view @param {(leaf: number) => void} compare */
export function finals(explorer, view, compare) {
  const { record } = view;
  const { length_penalty: alpha, length_form: form } = record.options;
  const head = ["place", "text", "length", "sum", "formula", ...(record.ranking.length > 1 ? ["compare"] : [])].map((name) => h("th", { scope: "col" }, explorer.t(`tree.finals.${name}`)));
  return h("section", { class: "panel", "aria-labelledby": "finals-title" },
    h("h2", { id: "finals-title" }, explorer.t("tree.finals")),
    h("p", null, explorer.t("tree.finals.note"), " ", mathText(form === "plain" ? `|Y|^${alpha}` : `((5 + |Y|) / 6)^${alpha}`)),
    h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": explorer.t("tree.finals"), "data-key": "finals" },
      h("table", { class: "finals" }, h("thead", null, h("tr", null, head)),
        h("tbody", null, record.ranking.map((leaf) => finalRow(explorer, view, finalOf(view, leaf), compare))))));
}

/** @param {Explorer} explorer @param {View} view @param {Final} final @param {(leaf: number) => void} compare */
function finalRow(explorer, { pair, record }, final, compare) {
  const { leaf, place, text, length, total, score, complete } = final;
  return h("tr", { class: place === 1 ? "is-best" : "", "data-leaf": leaf, "data-score": score },
    h("th", { scope: "row" }, `★ #${place}`),
    h("td", { class: "words" }, text || "∅", complete ? null : h("span", { class: "quiet" }, ` (${explorer.t("tree.incomplete")})`)),
    h("td", null, length), h("td", null, fixed(total, 3)), h("td", { class: "formula" }, formulaOf(record.options, final)),
    record.ranking.length > 1 && h("td", null, h("button", {
      type: "button", "data-key": `compare:${leaf}`, "aria-pressed": String(pair.includes(leaf)), class: pair.includes(leaf) ? "is-pressed" : "",
      "aria-label": explorer.t("tree.finals.compare.label", { place, text }), onclick: () => compare(leaf),
    }, pair.includes(leaf) ? "✓" : "+")));
}

/** Return how a score comes about, with its numbers. @param {any} options @param {Final} final */
function formulaOf({ length_form: form, length_penalty: alpha }, { total, length, penalty, score, rest }) {
  const power = mathText(form === "plain" ? `${length}^${alpha}` : `((5 + ${length}) / 6)^${alpha}`);
  const coverage = Math.abs(rest) > 1e-6 ? ` ${rest < 0 ? "−" : "+"} ${fixed(Math.abs(rest), 3)}` : "";
  return [`${fixed(total, 3)} / ${power} = ${fixed(total, 3)} / ${fixed(penalty, 3)}${coverage} = `, h("strong", null, fixed(score, 4))];
}

/** Return two leaves side by side, and which wins by what. @param {Explorer} explorer @param {View} view */
export function comparison(explorer, view) {
  if (view.record.ranking.length < 2) return null;
  const title = h("h2", { id: "compare-title" }, explorer.t("tree.compare"));
  if (view.pair.length < 2) return h("section", { class: "panel", "aria-labelledby": "compare-title" }, title, h("p", { class: "quiet" }, explorer.t("tree.compare.hint")));
  const [a, b] = view.pair.map((leaf) => finalOf(view, leaf)).sort((one, other) => one.place - other.place);
  let same = 0;
  while (same < Math.min(a.path.length, b.path.length) && a.path[same].number === b.path[same].number) same += 1;
  return h("section", { class: "panel", "aria-labelledby": "compare-title" }, title,
    h("p", { class: "verdict", role: "status" }, verdict(explorer, a, b)),
    h("div", { class: "columns" }, [a, b].map((final) => side(explorer, view, final, same))));
}

/** @param {Explorer} explorer @param {Final} a @param {Final} b   the one that is ranked lower */
function verdict(explorer, a, b) {
  const values = {
    a: a.place, b: b.place, lengthA: a.length, lengthB: b.length, sumA: fixed(a.total, 3), sumB: fixed(b.total, 3),
    scoreA: fixed(a.score, 4), scoreB: fixed(b.score, 4), by: fixed(a.score - b.score, 4), sumBy: fixed(Math.abs(a.total - b.total), 4),
  };
  return explorer.t(a.total >= b.total ? "tree.compare.both" : "tree.compare.length", values);
}

/** @param {Explorer} explorer @param {View} view @param {Final} final @param {number} same   pieces that both have */
function side(explorer, { record }, final, same) {
  const { place, text, path } = final;
  const title = `#${place} ${text}`;
  const head = ["step", "piece", "log-prob", "sum"].map((name) => h("th", { scope: "col" }, explorer.t(`tree.fact.${name}`)));
  return h("div", { class: "compared" }, h("h3", null, title),
    h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": title, "data-key": `compared:${final.leaf}` },
      h("table", null, h("thead", null, h("tr", null, head)),
        h("tbody", null, path.map((node, step) => h("tr", { class: step < same ? "is-same" : step === same ? "is-fork" : "" },
          h("td", null, step + 1), h("th", { scope: "row" }, node.piece ?? "∅"), h("td", null, fixed(node.log_prob, 3)), h("td", null, fixed(node.total, 3))))))),
    h("p", { class: "formula" }, formulaOf(record.options, final)));
}
