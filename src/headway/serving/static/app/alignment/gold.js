// @ts-check
/** An alignment by hand, and how far each layer and head is from it. */

import { reading } from "app/alignment/answers.js";
import { h } from "app/dom.js";
import { fixed } from "app/numbers.js";
import { refusalWords } from "app/refusals.js";

/** @typedef {import("app/explorer.js").Explorer} Explorer */
/** @typedef {import("app/alignment/answers.js").Answers} Answers */
/** @typedef {import("app/alignment/answers.js").Score} Score */

/** @param {Explorer} explorer @param {Answers} data */
export function gold(explorer, { errors, refusal, areOwn, links }) {
  if (!explorer.backend.interactive) return null;
  const field = /** @type {HTMLInputElement} */ (h("input", {
    type: "text", value: explorer.state.gold, placeholder: "0-0 1-1 1?2", spellcheck: "false", autocomplete: "off",
    class: "alignment-gold-field", "data-key": "alignment:gold", "aria-label": explorer.t("alignment.gold"), "aria-describedby": "alignment-gold-words",
  }));
  const own = links.map(([source, target]) => `${source}-${target}`).join(" ");
  return h("section", { class: "panel", "aria-labelledby": "alignment-gold" },
    h("h2", { id: "alignment-gold" }, explorer.t("alignment.gold")),
    h("p", { class: "quiet", id: "alignment-gold-words" }, explorer.t("alignment.gold.words")),
    h("form", {
      class: "row",
      onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        explorer.go({ gold: field.value.trim() });
      },
    }, field,
    h("button", { type: "submit", class: "primary", "data-key": "alignment:score" }, explorer.t("alignment.score")),
    areOwn && own ? h("button", { type: "button", "data-key": "alignment:own", onclick: () => explorer.go({ gold: own }) }, explorer.t("alignment.gold.own")) : null),
    refusal ? h("div", { class: "refusal", role: "alert" }, refusalWords(explorer, refusal)) : null,
    errors ? table(explorer, errors.rows) : null);
}

/** @param {Explorer} explorer @param {Score[]} rows */
function table(explorer, rows) {
  const now = reading(explorer);
  const [best] = rows;
  const equal = rows.filter((row) => row.error_rate === best.error_rate).length;
  /** @param {Score} row */
  const isNow = (row) => row.layer === (now.layer ?? now.layers - 1) && row.head === now.head && row.reads === Boolean(now.reads);
  return h("div", { class: "alignment-errors" },
    h("p", { role: "status" }, h("strong", null, explorer.t("alignment.best", { row: words(explorer, best), aer: fixed(best.error_rate, 3) })),
      equal > 1 ? ` ${explorer.t("alignment.equal", { count: equal - 1 })}` : "", " ", explorer.t("alignment.one-sentence")),
    h("div", { class: "scroll alignment-table", tabindex: "0", role: "group", "aria-label": explorer.t("alignment.errors") }, h("table", null,
      h("thead", null, h("tr", null, ["place", "where", "moment", "aer", "precision", "recall"].map((column) => h("th", { scope: "col" }, explorer.t(`alignment.column.${column}`))))),
      h("tbody", null, rows.map((row, place) => h("tr", { class: isNow(row) ? "chosen" : null },
        h("td", null, place + 1),
        h("th", { scope: "row" }, h("button", {
          type: "button", class: "alignment-row", "aria-pressed": String(isNow(row)), "data-key": `alignment:row:${row.layer}:${row.head}:${row.reads}`,
          onclick: () => explorer.go({ l: row.layer, h: row.head ?? -1, show: row.reads ? "reads" : "", links: "" }),
        }, words(explorer, row))),
        h("td", { class: "alignment-moment" }, explorer.t(row.reads ? "alignment.moment.read" : "alignment.moment.written")),
        h("td", null, h("strong", null, fixed(row.error_rate, 3))), h("td", null, fixed(row.precision, 3)), h("td", null, fixed(row.recall, 3))))))));
}

/** @param {Explorer} explorer @param {Score} row */
function words(explorer, { layer, head }) {
  const of = explorer.model.sizes.num_decoder_layers;
  return `${explorer.t("layer.one", { layer: layer + 1, of })}, ${explorer.headWords(head ?? -1)}`;
}
