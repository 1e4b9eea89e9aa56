// @ts-check
/** One row over the whole vocabulary: the best columns as bars, for thousands cannot be read. */

import { h } from "app/dom.js";
import { count, fixed, percent } from "app/numbers.js";
import { writePlaces } from "app/tensor-parts.js";

const BEST = 20;

/**
 * @param {import("app/explorer.js").Explorer} explorer
 * @param {import("app/trace.js").Trace} trace
 * @param {import("app/tensor-view.js").Seen} seen
 */
export function vocabularyRow(explorer, trace, seen) {
  const { entry, part, places } = seen;
  const values = part.data;
  const order = bestOf(values, BEST);
  const row = trace.rows[places.target ?? 0];
  // Without the list of pieces the trace still names the ten most probable ones.
  const piece = (/** @type {number} */ column, /** @type {number} */ rank) => seen.vocabulary?.[column] ?? row?.best[rank]?.[0] ?? "";
  const isShare = entry.name === "probabilities";
  const [high, low] = [values[order[0]], isShare ? 0 : Math.min(0, values[order[order.length - 1]])];
  const length = (/** @type {number} */ value) => `${(100 * Math.max(0, value - low) / (high - low || 1)).toFixed(1)}%`;
  const choose = (/** @type {number} */ vocabulary) => explorer.go({ at: writePlaces({ ...places, vocabulary }) });
  const line = (/** @type {number} */ column, /** @type {number} */ rank) => h("tr", { class: places.vocabulary === column ? "chosen" : null },
    h("td", { class: "number quiet" }, rank + 1),
    h("th", { scope: "row" }, h("button", {
      type: "button", class: "plain-piece", "data-key": `vocabulary:${column}`, "aria-pressed": String(places.vocabulary === column), onclick: () => choose(column),
      onmouseenter: () => explorer.about({ name: entry.name, place: `target=${places.target ?? 0}, vocabulary=${column}`, value: fixed(values[column], 6) }),
    }, piece(column, rank) || `#${column}`)),
    h("td", { class: "number quiet" }, column),
    h("td", { class: "number" }, isShare ? percent(values[column]) : fixed(values[column], 4)),
    h("td", { class: "vocabulary-bar", "aria-hidden": "true" }, h("span", { style: `width: ${length(values[column])}` })));
  return h("div", { class: "vocabulary-row" },
    h("p", null, explorer.t("tensors.vocabulary", { best: order.length, of: count(values.length) })),
    h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": explorer.t("tensors.numbers") }, h("table", null,
      h("thead", null, h("tr", null, ["rank", "piece", "id", "value"].map((key) => h("th", { scope: "col" }, explorer.t(`tensors.vocabulary.${key}`))), h("td"))),
      h("tbody", null, order.map(line)))),
    isShare ? h("p", { class: "quiet" }, explorer.t("tensors.vocabulary-rest", { many: count(values.length - order.length), share: percent(Math.max(0, 1 - order.reduce((sum, column) => sum + values[column], 0))) })) : null);
}

/**
 * Return the places of the largest values, largest first.
 * @param {ArrayLike<number>} values
 * @param {number} many
 */
export function bestOf(values, many) {
  const places = Array.from({ length: values.length }, (_, place) => place);
  return places.sort((one, other) => values[other] - values[one] || one - other).slice(0, many);
}
