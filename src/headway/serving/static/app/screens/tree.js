// @ts-check
/** The search as a tree: what the beam kept, what it dropped, and how the ended ones were scored. */

import { h } from "app/dom.js";
import { choice, heading, toggle } from "app/parts.js";
import { searchLines } from "app/python.js";
import { comparison, finals } from "app/tree-finals.js";
import { chains, vertices, visible } from "app/tree-layout.js";
import { outline } from "app/tree-outline.js";
import { followers, nodePanel } from "app/tree-panel.js";
import { picture } from "app/tree-picture.js";

/**
 * @typedef {import("app/explorer.js").Explorer} Explorer
 * @typedef {import("app/tree-layout.js").Vertex} Vertex
 * @typedef {import("app/tree-picture.js").View} View
 */

/** @type {import("app/explorer.js").Screen} */
export const tree = { id: "tree", load: async (explorer) => (await explorer.search()).record, render, python, subject: () => ({ name: "log_probs" }) };

/** Read what is shown: `all,norm,13,17` is all, sums by length, and these two leaves side by side. @param {string} show */
function readShow(show) {
  const parts = show.split(",").filter(Boolean);
  return { isAll: parts.includes("all"), isNormal: parts.includes("norm"), pair: parts.filter((part) => /^\d+$/.test(part)).map(Number) };
}

/** @param {ReturnType<typeof readShow>} shown */
function writeShow({ isAll, isNormal, pair }) {
  return [...(isAll ? ["all"] : []), ...(isNormal ? ["norm"] : []), ...pair].join(",");
}

/** @param {Explorer} explorer @param {import("app/record.js").SearchRecord} record @returns {View} */
function viewOf(explorer, record) {
  const { isAll, isNormal, pair } = readShow(explorer.state.show);
  const all = vertices(record);
  const chosen = all[explorer.state.node] ?? all[record.ranking[0]];
  const shown = visible(all, isAll || chosen.fate === "pruned" && !all[chosen.parent ?? 0].isBest);
  const leaves = pair.filter((leaf) => record.ranking.includes(leaf));
  return { record, all, shown, root: chains(shown), chosen, isNormal, pair: leaves.length ? leaves : record.ranking.slice(0, 2) };
}

/** @param {Explorer} explorer @param {import("app/record.js").SearchRecord} record */
function render(explorer, record) {
  const view = viewOf(explorer, record);
  const shown = readShow(explorer.state.show);
  const compare = (/** @type {number} */ leaf) => {
    // A third one takes the place of the first.
    const pair = view.pair.includes(leaf) ? view.pair.filter((own) => own !== leaf) : [...view.pair, leaf].slice(-2);
    explorer.go({ show: writeShow({ ...shown, pair }) });
  };
  const choose = (/** @type {Vertex} */ { id, fate }, /** @type {boolean} */ isShift) => {
    if (isShift && fate === "finished") compare(id);
    else explorer.go({ node: id });
  };
  const { sampling, beam_size: beam } = record.options;
  const kind = sampling ? "drawn" : beam === 1 ? "greedy" : "beam";
  return h("section", null,
    heading(explorer.t("screen.tree"), explorer.t(`tree.about.${kind}`, { beam, twice: 2 * beam })),
    h("div", { class: "row tree-controls" },
      choice(explorer.t("tree.numbers"), [[false, explorer.t("tree.numbers.raw")], [true, explorer.t("tree.numbers.normal")]], view.isNormal,
        (isNormal) => explorer.go({ show: writeShow({ ...shown, isNormal }) })),
      // A greedy search looks at one piece: nothing was dropped.
      view.all.length > record.nodes.length ? toggle(explorer.t("tree.all"), shown.isAll, (isAll) => explorer.go({ show: writeShow({ ...shown, isAll }) })) : null,
      h("span", { class: "quiet small" }, explorer.t("tree.count", { shown: view.shown.length - 1, all: view.all.length - 1 }))),
    nodePanel(explorer, view, choose),
    h("div", { class: "tree-views" },
      h("section", { class: "tree-drawn", "aria-labelledby": "picture-title" }, h("h2", { id: "picture-title" }, explorer.t("tree.picture")),
        legend(explorer), picture(explorer, view, choose)),
      h("div", { class: "tree-tables" }, finals(explorer, view, compare), comparison(explorer, view), followers(explorer, view)),
      h("section", { class: "tree-listed", "aria-labelledby": "outline-title" }, h("h2", { id: "outline-title" }, explorer.t("tree.outline")),
        outline(explorer, view, choose))));
}

/** @param {Explorer} explorer */
function legend(explorer) {
  const entry = (/** @type {string} */ name) => h("li", null, h("span", { class: `sample sample-${name}`, "aria-hidden": "true" }, name === "finished" ? "★" : ""), explorer.t(`tree.legend.${name}`));
  return h("ul", { class: "tree-legend" }, ["best", "kept", "pruned", "finished", "edge", "number"].map(entry));
}

/** @param {Explorer} explorer @param {import("app/record.js").SearchRecord} record */
function python(explorer, record) {
  const { node } = explorer.state;
  const seen = node >= 0 && node < record.nodes.length ? node : record.ranking[0];
  return [...searchLines(explorer), "print(found.outline())", `print(found.nodes[${seen}], found.pieces(${seen}))`].join("\n");
}
