// @ts-check
/** One head, large: its matrix, what the cell is whose turn it is, and the lines beneath. */

import { total } from "app/arithmetic.js";
import { askerLabels, isEnd, keysOf, placeOf } from "app/attention-view.js";
import { lineView } from "app/attention-lines.js";
import { keepScroll } from "app/attention-scroll.js";
import { h } from "app/dom.js";
import { largest, matrix } from "app/matrix.js";
import { fixed, percent } from "app/numbers.js";
import { spoken, tensorCode } from "app/python.js";
import { shareBar } from "app/scale.js";
import { Tensor } from "app/trace.js";

/** @typedef {import("app/explorer.js").Explorer} Explorer */
/** @typedef {import("app/attention-view.js").View} View */
/** @typedef {import("app/attention-view.js").Kind} Kind */

/**
 * @typedef {object} Subject  what is shown large
 * @property {import("app/trace.js").Trace} trace
 * @property {Kind} kind
 * @property {string} name      of the weights
 * @property {number} head      -1 is the mean
 * @property {Tensor} weights   (query, key)
 * @property {Tensor | null} scores   of the head, before the mask
 * @property {View} view
 * @property {[number, number]} chosen  row and column of the view
 * @property {(row: number, column: number) => void} choose
 */

/** Return the side of a cell in pixels, so that so many can be read. @param {number} most */
export function cellSize(most) {
  const narrow = innerWidth < 700 ? Math.max(16, Math.floor((innerWidth - 190) / most)) : Infinity;
  return Math.min(narrow, sizeFor(most));
}

/** @param {number} most */
function sizeFor(most) {
  if (most <= 8) return 44;
  if (most <= 12) return 36;
  if (most <= 20) return 28;
  return most <= 40 ? 20 : 16;
}

/**
 * Return what is known of a cell.
 * @param {Explorer} explorer
 * @param {Subject} subject
 * @param {number} row
 * @param {number} column
 */
export function cellFacts(explorer, { view, weights, scores, name, head }, row, column) {
  const queries = view.rows[row];
  const keys = view.columns[column];
  const [, width] = weights.shape;
  const sums = queries.map((query) => total(weights.data.subarray(query * width, (query + 1) * width)));
  const isSingle = queries.length === 1 && keys.length === 1;
  const score = isSingle && scores !== null ? fixed(scores.value(queries[0], keys[0])) : explorer.t(isSingle ? "attention.no-score-mean" : "attention.no-score-merged");
  return {
    value: fixed(view.tensor.value(row, column)),
    isMasked: view.masked(row, column),
    sum: fixed(total(sums) / sums.length),
    score,
    name: spoken(name, head),
    place: placeOf(view, row, column, head),
  };
}

/**
 * Return the matrix of a subject.
 * @param {Explorer} explorer
 * @param {Subject} subject
 * @param {{label: string, key: string, cell: number, hover?: (row: number, column: number) => void, table?: boolean}} options
 */
export function headMatrix(explorer, subject, { label, key, cell, hover, table = false }) {
  const { view, chosen, choose } = subject;
  const figure = matrix({
    tensor: view.tensor, label, rows: view.rowLabels, columns: view.columnLabels, cell, key, chosen, choose,
    rowAxis: explorer.t("matrix.asks"), columnAxis: explorer.t("matrix.looked"),
    masked: view.masked, maskWord: explorer.t("matrix.mask"),
    describe: (row, column) => {
      const facts = cellFacts(explorer, subject, row, column);
      return [`${explorer.t("attention.sum")} ${facts.sum}`, `${explorer.t("attention.score")} ${facts.score}`, tensorCode(facts.name, facts.place)];
    },
    hover: (row, column) => {
      const { name, place, value } = cellFacts(explorer, subject, row, column);
      explorer.about({ name, place, value });
      hover?.(row, column);
    },
    tableWord: table ? explorer.t("matrix.table") : undefined,
  });
  keepScroll(figure.querySelector(".matrix-scroll"), `${key}:${subject.name}:${subject.trace.id}`, [chosen[1] * cell, chosen[0] * cell]);
  return figure;
}

/**
 * Return one head, large, with its lines.
 * @param {Explorer} explorer
 * @param {Subject} subject
 * @param {{title: string, all: boolean}} options
 */
export function bigView(explorer, subject, { title, all }) {
  const { view, chosen, choose, trace, kind } = subject;
  const facts = h("div", { class: "cell-facts", role: "status" });
  const lines = lineView(explorer, view, {
    row: chosen[0], column: chosen[1], all, isTarget: kind !== "encoder",
    chooseRow: (row) => choose(row, chosen[1]), chooseColumn: (column) => choose(chosen[0], column),
  });
  const tell = (/** @type {number} */ row, /** @type {number} */ column) => {
    facts.replaceChildren(cellCard(explorer, subject, row, column));
  };
  tell(...chosen);
  const figure = headMatrix(explorer, subject, {
    label: title, key: "big-matrix", cell: cellSize(Math.max(...view.tensor.shape)), table: true,
    hover: (row, column) => {
      tell(row, column);
      lines.show(row);
    },
  });
  figure.addEventListener("pointerleave", () => {
    tell(...chosen);
    lines.show(chosen[0]);
  });
  const share = shareOfEnds(subject.weights, keysOf(trace, kind), askerLabels(trace, kind).length);
  return h("div", null,
    h("div", { class: "big-view" }, h("div", { class: "big-matrix" }, figure), facts),
    shareBar(largest(view.tensor.data), 4),
    h("p", { class: "quiet ends-note" }, explorer.t("attention.ends-note", { share: percent(share) })),
    h("h3", null, explorer.t("attention.lines")), lines.element);
}

/** @param {Explorer} explorer @param {Subject} subject @param {number} row @param {number} column */
function cellCard(explorer, subject, row, column) {
  const { view, head } = subject;
  const facts = cellFacts(explorer, subject, row, column);
  const item = (/** @type {string} */ term, /** @type {import("app/dom.js").Child} */ value) => [h("dt", null, term), h("dd", null, value)];
  return h("dl", { class: "cell-card" },
    item(explorer.t("attention.value"), [h("span", { class: "cell-value" }, facts.value), facts.isMasked ? h("span", { class: "cell-mask" }, explorer.t("matrix.mask")) : null]),
    item(explorer.t("attention.asks"), view.rowLabels[row]),
    item(explorer.t("attention.looked"), view.columnLabels[column]),
    item(explorer.t("attention.sum"), facts.sum),
    item(explorer.t("attention.score"), facts.score),
    item(explorer.t("about.name"), h("code", null, tensorCode(facts.name, facts.place))),
    head < 0 ? item("", h("span", { class: "quiet" }, explorer.t("attention.mean-note"))) : null);
}

/**
 * Return two heads side by side and their difference.
 * @param {Explorer} explorer
 * @param {Subject} first
 * @param {Subject} second
 * @param {(head: number) => string} wordsOf
 */
export function comparison(explorer, first, second, wordsOf) {
  const [rows, columns] = first.view.tensor.shape;
  const a = first.view.tensor.data;
  const b = second.view.tensor.data;
  const difference = new Tensor(first.name, [rows, columns], ["query", "key"], Float32Array.from(a, (value, place) => value - b[place]));
  const cell = Math.min(30, cellSize(Math.max(rows, columns)));
  const limit = Math.max(...[a, b].map((data) => largest(data)));
  const one = (/** @type {Subject} */ subject, /** @type {string} */ key) => h("div", null, h("h3", null, wordsOf(subject.head)), headMatrix(explorer, subject, { label: wordsOf(subject.head), key, cell, table: true }));
  const title = explorer.t("attention.difference", { first: wordsOf(first.head), second: wordsOf(second.head) });
  const { view, chosen, choose } = first;
  return h("div", { class: "comparison" }, one(first, "compare-first"), one(second, "compare-second"),
    h("div", null, h("h3", null, title), matrix({
      tensor: difference, label: title, rows: view.rowLabels, columns: view.columnLabels, cell, chosen, choose, key: "compare-difference",
      scale: "signed", limit, masked: view.masked, maskWord: explorer.t("matrix.mask"),
      rowAxis: explorer.t("matrix.asks"), columnAxis: explorer.t("matrix.looked"),
      describe: (row, column) => [`${fixed(view.tensor.value(row, column))} − ${fixed(second.view.tensor.value(row, column))}`],
      hover: (row, column) => explorer.about({
        name: first.name, value: fixed(difference.value(row, column)), words: title,
        code: [first, second].map(({ head }) => tensorCode(spoken(first.name, head), placeOf(view, row, column, head))).join(" - "),
      }),
      tableWord: explorer.t("matrix.table"),
    }), h("p", { class: "quiet" }, explorer.t("attention.signed"))));
}

/**
 * Return how much of all attention goes to the beginning and the end.
 * @param {Tensor} weights
 * @param {string[]} keys
 * @param {number} rows
 */
function shareOfEnds(weights, keys, rows) {
  let sum = 0;
  for (let row = 0; row < rows; row += 1) keys.forEach((key, place) => { if (isEnd(key)) sum += weights.value(row, place); });
  return sum / rows;
}

