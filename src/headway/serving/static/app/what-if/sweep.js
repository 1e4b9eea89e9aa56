// @ts-check
/** Every head off in turn: how much the log-probability of one piece changes. */

import { kindsOf } from "app/attention-view.js";
import { h } from "app/dom.js";
import { largest, matrix } from "app/matrix.js";
import { percent } from "app/numbers.js";
import { scaleBar } from "app/scale.js";
import { Tensor } from "app/trace.js";
import { add, headOff } from "app/what-if/edits.js";
import { signed } from "app/what-if/forced.js";

/** @typedef {import("app/explorer.js").Explorer} Explorer */

/** @param {Explorer} explorer @param {import("app/what-if/answers.js").Answers} data */
export function sweep(explorer, { a, sweep: found }) {
  if (!explorer.backend.interactive) return null;
  const row = explorer.row(a.rows.length);
  const { reads, writes } = a.rows[row];
  const rows = /** @type {[number, string][]} */ (a.rows.map((own, place) => [place, `${place + 1}: ${own.reads} → ${own.writes}`]));
  return h("section", { "aria-labelledby": "what-if-sweep" },
    h("h2", { id: "what-if-sweep" }, explorer.t("what-if.sweep")),
    h("p", { class: "quiet" }, explorer.t("what-if.sweep.words")),
    h("div", { class: "row" },
      h("label", { class: "field" }, h("span", null, explorer.t("what-if.sweep.row")),
        h("select", { "data-key": "what-if:sweep-row", onchange: (/** @type {Event} */ event) => explorer.go({ t: Number(/** @type {HTMLSelectElement} */ (event.target).value) }) },
          rows.map(([value, words]) => h("option", { value, selected: value === row }, words)))),
      h("button", {
        type: "button", class: found ? null : "primary", "data-key": "what-if:sweep", "aria-expanded": String(Boolean(found)),
        onclick: () => explorer.go({ show: found ? "" : "sweep" }),
      }, explorer.t(found ? "what-if.sweep.close" : "what-if.sweep.go"))),
    found ? grids(explorer, found, `${reads} → ${writes}`) : null);
}

/** @param {Explorer} explorer @param {any} found @param {string} words */
function grids(explorer, found, words) {
  const limit = largest(kindsOf(explorer.model).flatMap((kind) => found[kind].flat()));
  return h("div", { class: "panel" },
    h("p", { role: "status" }, explorer.t("what-if.sweep.found", { row: words, p: percent(found.probability) }), " ", worst(explorer, found)),
    h("div", { class: "what-if-matrices" }, kindsOf(explorer.model).map((kind) => grid(explorer, kind, found[kind], limit))),
    limit > 0 ? scaleBar(limit, 2, explorer.t("what-if.sweep.less"), explorer.t("what-if.sweep.more")) : null,
    h("p", { class: "quiet" }, explorer.t("what-if.sweep.click")));
}

/** Name the head without which the piece loses most. @param {Explorer} explorer @param {any} found */
function worst(explorer, found) {
  const all = explorer.model.attention.flatMap((/** @type {any} */ own) =>
    found[own.kind][own.layer].map((/** @type {number} */ value, /** @type {number} */ head) => ({ ...own, value, head })));
  const least = all.reduce((/** @type {any} */ one, /** @type {any} */ other) => (other.value < one.value ? other : one));
  if (least.value >= 0) return "";
  return explorer.t("what-if.sweep.worst", {
    head: explorer.headWords(least.head), kind: explorer.t(`kind.${least.kind}`), layer: explorer.t("layer.one", { layer: least.layer + 1, of: least.of }), change: signed(least.value, 3),
  });
}

/** @param {Explorer} explorer @param {string} kind @param {number[][]} values @param {number} limit */
function grid(explorer, kind, values, limit) {
  const attention = explorer.model.attention.filter((/** @type {any} */ own) => own.kind === kind);
  const [layers, heads] = [values.length, Math.max(...values.map((row) => row.length))];
  // Layers may have fewer heads than others: where there is none, nothing is drawn but the hatch.
  const data = Float32Array.from({ length: layers * heads }, (_, place) => values[Math.floor(place / heads)][place % heads] ?? NaN);
  const isThere = (/** @type {number} */ layer, /** @type {number} */ head) => head < values[layer].length;
  return h("div", { class: "what-if-matrix" }, h("h3", null, explorer.t(`kind.${kind}`)), matrix({
    tensor: new Tensor(`${kind}.sweep`, [layers, heads], ["layer", "head"], data),
    label: `${explorer.t("what-if.sweep")}: ${explorer.t(`kind.${kind}`)}`, key: `what-if:sweep:${kind}`,
    rows: attention.map((/** @type {any} */ own) => explorer.t("layer.one", { layer: own.layer + 1, of: own.of })),
    columns: Array.from({ length: heads }, (_, head) => explorer.headWords(head)),
    rowAxis: explorer.t("what-if.field.layer"), columnAxis: explorer.t("what-if.field.head"),
    scale: "signed", limit, cell: 46, places: 3, write: (value) => signed(value, 2), masked: (layer, head) => !isThere(layer, head), tableWord: explorer.t("matrix.table"),
    describe: (layer, head) => [`${attention[layer].name}.heads [head=${head}]`],
    hover: (layer, head) => explorer.about({
      name: `${attention[layer].name}.heads`, code: `${attention[layer].name}.heads  [head=${head}]`, value: `Δ log p = ${signed(values[layer][head], 4)}`,
    }),
    choose: (layer, head) => { if (isThere(layer, head)) add(explorer, headOff(attention[layer].name, head)); },
  }));
}
