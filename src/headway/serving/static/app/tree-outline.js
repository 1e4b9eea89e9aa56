// @ts-check
/** The tree as a nested list: a line of pieces, beneath it what leaves it. */

import { h } from "app/dom.js";
import { fixed } from "app/numbers.js";
import { textOf } from "app/record.js";
import { lineage } from "app/tree-layout.js";
import { labelOf, sumOf } from "app/tree-picture.js";

/**
 * @typedef {import("app/explorer.js").Explorer} Explorer
 * @typedef {import("app/tree-layout.js").Chain} Chain
 * @typedef {import("app/tree-layout.js").Vertex} Vertex
 * @typedef {import("app/tree-picture.js").View} View
 */

/** @param {Explorer} explorer @param {View} view @param {(vertex: Vertex, isShift: boolean) => void} choose */
export function outline(explorer, view, choose) {
  return h("ul", { class: "outline" }, item(explorer, view, view.root, choose));
}

/** @param {Explorer} explorer @param {View} view @param {Chain} chain @param {(vertex: Vertex, isShift: boolean) => void} choose @returns {HTMLElement} */
function item(explorer, view, { line, branches }, choose) {
  const last = line[line.length - 1];
  const first = line[0];
  const before = first.parent ? textOf(lineage(view.all, view.all[first.parent]).map(({ piece }) => piece ?? "")) : "";
  return h("li", null,
    h("div", { class: "outline-line" },
      before ? h("span", { class: "quiet outline-before" }, explorer.t("tree.after", { before })) : null,
      line.filter(({ parent }) => parent !== null).map((vertex) => h("button", {
        type: "button", "data-key": `outline:${vertex.id}`, "aria-pressed": String(view.chosen.id === vertex.id),
        class: `piece is-${vertex.fate}${vertex.isBest ? " is-best" : ""}${view.chosen.id === vertex.id ? " chosen" : ""}`,
        "aria-label": labelOf(explorer, view, vertex),
        onclick: (/** @type {MouseEvent} */ event) => choose(vertex, event.shiftKey),
      }, vertex.piece ?? "∅")),
      h("span", { class: "outline-end" }, ending(explorer, view, last))),
    branches.length ? h("ul", null, branches.map((branch) => item(explorer, view, branch, choose))) : null);
}

/** Return what became of a line. @param {Explorer} explorer @param {View} view @param {Vertex} last */
function ending(explorer, view, last) {
  const sum = fixed(sumOf(view, last), 3);
  if (last.fate === "finished") {
    const place = view.record.ranking.indexOf(last.id) + 1;
    return `★ #${place} · ${explorer.t("tree.end.finished", { sum, score: fixed(last.score, 3) })}`;
  }
  if (last.fate === "pruned") return explorer.t("tree.end.pruned", { sum, rank: last.rank ?? "–", beam: view.record.options.beam_size });
  return explorer.t(last.step === view.record.steps.length ? "tree.end.open" : "tree.end.kept", { sum });
}
