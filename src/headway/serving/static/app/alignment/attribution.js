// @ts-check
/** Attribution: how much each piece that was read made each written piece more or less probable. */

import { h } from "app/dom.js";
import { largest, matrix } from "app/matrix.js";
import { fixed } from "app/numbers.js";
import { scaleBar } from "app/scale.js";
import { Tensor } from "app/trace.js";

/** @typedef {import("app/explorer.js").Explorer} Explorer */
/** @typedef {import("app/alignment/answers.js").Answers} Answers */
/** @typedef {import("app/alignment/answers.js").Attributed} Attributed */

/** @param {Explorer} explorer @param {Answers} data */
export function attribution(explorer, data) {
  const found = /** @type {Attributed} */ (data.attributed);
  const sources = data.trace.sentence.source_pieces.length;
  const { rows, columns, values, method } = found;
  const tensor = new Tensor(method, [rows.length, columns.length], ["target", "piece"], Float32Array.from(values.flat(), (value) => value ?? NaN));
  const limit = largest(tensor.data);
  const unread = (/** @type {number} */ row, /** @type {number} */ column) => values[row][column] === null;
  const chosen = explorer.row(rows.length);
  return h("div", { class: "attribution-desk" },
    h("section", { class: "panel", "aria-labelledby": "attribution-matrix" },
      h("h2", { id: "attribution-matrix" }, explorer.t(`alignment.method.${method}`)),
      h("p", null, explorer.t(`alignment.formula.${method}`)),
      h("p", { class: "quiet" }, explorer.t("alignment.attribution.words", { count: sources })),
      matrix({
        tensor, label: explorer.t(`alignment.method.${method}`), key: "alignment:attribution", scale: "signed", limit, cell: 38, places: 3, write: (value) => fixed(value, 1),
        rows, columns: columns.map((piece, column) => `${piece}${column < sources ? "" : ` ${explorer.t("alignment.read-mark")}`}`),
        rowAxis: explorer.t("alignment.explained"), columnAxis: explorer.t("alignment.because"),
        masked: unread, maskWord: explorer.t("alignment.not-read"), tableWord: explorer.t("matrix.table"),
        marked: values.map((row, place) => /** @type {[number, number]} */ ([place, strongest(row.slice(0, sources))])), start: [chosen, 0],
        describe: (_, column) => [explorer.t(column < sources ? "alignment.of-source" : "alignment.of-prefix")],
        hover: (row, column) => unread(row, column) ? explorer.about({ words: explorer.t("alignment.not-read") }) : explorer.about({
          words: explorer.t("alignment.score-words", { piece: columns[column], row: rows[row] }), value: `${signed(tensor.value(row, column))} nats`,
        }),
        choose: (row) => explorer.go({ t: row }),
      }),
      scaleBar(limit, 2, explorer.t("alignment.scale.less"), explorer.t("alignment.scale.more")),
      h("p", { class: "quiet" }, explorer.t("alignment.outlined"))),
    one(explorer, data, found, chosen, sources));
}

/** @param {(number | null)[]} row */
function strongest(row) {
  const numbers = row.map((value) => value ?? -Infinity);
  return numbers.indexOf(Math.max(...numbers));
}

/** Write a score with its sign. @param {number} value */
function signed(value) {
  return value > 0 ? `+${fixed(value, 3)}` : fixed(value, 3);
}

/**
 * Show one row by itself: bars from zero to both sides, and their sums.
 * @param {Explorer} explorer
 * @param {Answers} data
 * @param {Attributed} found
 * @param {number} row
 * @param {number} sources
 */
function one(explorer, { trace }, { rows, columns, values, method, baselines, gaps }, row, sources) {
  const own = columns.flatMap((piece, column) => (values[row][column] === null ? [] : [{ piece, column, value: /** @type {number} */ (values[row][column]) }]));
  const limit = Math.max(...own.map(({ value }) => Math.abs(value)), 1e-9);
  const sum = own.reduce((total, { value }) => total + value, 0);
  const log = Math.log(trace.rows[row].probability);
  const list = rows.map((words, place) => /** @type {[number, string]} */ ([place, `${place + 1}: ${words}`]));
  return h("section", { class: "panel", "aria-labelledby": "attribution-row" },
    h("h2", { id: "attribution-row" }, explorer.t("alignment.row", { row: rows[row] })),
    h("label", { class: "field" }, h("span", null, explorer.t("alignment.row.choose")),
      h("select", { "data-key": "alignment:row", onchange: (/** @type {Event} */ event) => explorer.go({ t: Number(/** @type {HTMLSelectElement} */ (event.target).value) }) },
        list.map(([value, words]) => h("option", { value, selected: value === row }, words)))),
    h("div", { class: "attribution-bars" }, own.map(({ piece, column, value }) => [
      column === 0 || column === sources ? h("h3", null, explorer.t(column === 0 ? "alignment.of-source" : "alignment.of-prefix")) : null,
      h("div", { class: "attribution-bar" },
        h("span", { class: "bar-words" }, piece),
        h("span", { class: "attribution-track", "aria-hidden": "true" },
          h("span", { class: value < 0 ? "attribution-less" : "attribution-more", style: `width: ${(50 * Math.abs(value)) / limit}%` })),
        h("span", { class: "bar-share" }, signed(value))),
    ])),
    h("p", { class: "number attribution-sum" }, explorer.t("alignment.sum", { sum: signed(sum), log: fixed(log, 3) }), " ",
      method === "integrated_gradients"
        ? explorer.t("alignment.complete", { baseline: fixed(baselines[row], 3), gap: fixed(gaps[row], 4) }) : explorer.t("alignment.incomplete")));
}
