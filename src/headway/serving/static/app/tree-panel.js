// @ts-check
/** Numbers of the tree: of one node, and of what could have followed it. */

import { h } from "app/dom.js";
import { count, fixed, percent } from "app/numbers.js";
import { expansionOf, lengthPenalty, textOf } from "app/record.js";
import { lineage } from "app/tree-layout.js";

/**
 * @typedef {import("app/explorer.js").Explorer} Explorer
 * @typedef {import("app/tree-layout.js").Vertex} Vertex
 * @typedef {import("app/tree-picture.js").View} View
 */

/** Return the text that a hypothesis begins with. @param {View} view @param {Vertex} vertex */
function textTo(view, vertex) {
  return textOf(lineage(view.all, vertex).map(({ piece }) => piece ?? ""));
}

/** @param {Explorer} explorer @param {View} view @param {(vertex: Vertex, isShift: boolean) => void} choose */
export function nodePanel(explorer, view, choose) {
  const { chosen, all } = view;
  const parent = chosen.parent === null ? null : all[chosen.parent];
  const prefix = textTo(view, chosen);
  const force = () => explorer.go({ screen: "what-if", prefix, node: -1, links: "", gold: "", tab: "", show: "" }, { remember: true });
  return h("section", { class: "panel tree-panel", "aria-labelledby": "node-title" },
    h("div", { class: "row" },
      h("h2", { id: "node-title" }, parent === null ? explorer.t("tree.root") : explorer.t("tree.node.title", { step: chosen.step })),
      chosen.piece ? h("span", { class: "piece chosen" }, chosen.piece) : null,
      h("span", { class: "grow" }),
      prefix && explorer.backend.interactive ? h("button", { type: "button", class: "primary", "data-key": "force", onclick: force }, explorer.t("tree.force", { prefix: clip(prefix) })) : null),
    parent === null ? h("p", { class: "quiet" }, explorer.t("tree.root.note")) : h("div", { role: "status" }, h("dl", { class: "node-facts" }, facts(explorer, view, parent, choose))));
}

/** @param {string} text */
function clip(text) {
  return text.length > 40 ? `… ${text.slice(-38)}` : text;
}

/** @param {Explorer} explorer @param {View} view @param {Vertex} parent @param {(vertex: Vertex, isShift: boolean) => void} choose */
function facts(explorer, { record, chosen, all }, parent, choose) {
  const { probability, logProb, total, step, fate, rank, score } = chosen;
  const before = parent.parent === null ? "<s>" : parent.piece ?? "∅";
  const penalty = lengthPenalty(record.options, step);
  const fact = (/** @type {string} */ name, /** @type {import("app/dom.js").Child} */ value) =>
    h("div", null, h("dt", null, explorer.t(`tree.fact.${name}`)), h("dd", { class: "number", "data-fact": name }, value));
  return [
    fact("parent", h("button", { type: "button", class: "piece", "data-key": "to-parent", onclick: () => choose(all[parent.id], false) }, before)),
    fact("p", probability === null ? "–" : percent(probability)),
    fact("log-prob", fixed(logProb, 4)),
    fact("sum", fixed(total, 4)),
    fact("normal", `${fixed(total, 3)} / ${fixed(penalty, 3)} = ${fixed(total / penalty, 4)}`),
    fact("rank", rank === null ? "–" : explorer.t("tree.fact.rank.value", { rank, beam: record.options.beam_size })),
    fact("fate", explorer.t(`tree.fate.${fate}`)),
    score === null ? null : fact("score", `★ ${fixed(score, 4)}`),
  ];
}

/** Return the table of what could follow the chosen one; where it ended, of its rivals. @param {Explorer} explorer @param {View} view */
export function followers(explorer, view) {
  const { record, chosen, all } = view;
  const own = chosen.fate === "kept" ? expansionOf(record, chosen.id) : null;
  const about = own || chosen.parent === null ? chosen : all[chosen.parent];
  const expansion = own ?? expansionOf(record, about.id);
  if (expansion === null) return null;
  const title = about.parent === null ? explorer.t("tree.followers.first") : explorer.t("tree.followers", { before: textTo(view, about) });
  const head = ["piece", "p", "log-prob", "sum", "rank", "fate"].map((name) => h("th", { scope: "col" }, explorer.t(`tree.fact.${name}`)));
  return h("section", { class: "panel", "aria-labelledby": "followers-title" },
    h("h2", { id: "followers-title" }, title),
    h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": title, "data-key": "followers" },
      h("table", { class: "followers" }, h("thead", null, h("tr", null, head)),
        h("tbody", null,
          expansion.candidates.map((one) => h("tr", { class: `is-${one.fate}`, "data-piece": one.piece },
            h("th", { scope: "row" }, one.piece), h("td", null, percent(one.probability)), h("td", null, fixed(one.log_prob, 3)),
            h("td", null, fixed(one.total, 3)), h("td", null, one.rank ?? "–"), h("td", { class: "words" }, explorer.t(`tree.fate.${one.fate}`)))),
          h("tr", { class: "is-other" }, h("th", { scope: "row" }, explorer.t("translate.best.others", { many: count(expansion.other_pieces) })),
            h("td", null, percent(expansion.other_probability)), h("td", { colspan: 4 }, ""))))));
}
