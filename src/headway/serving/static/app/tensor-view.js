// @ts-check
/** One tensor: its picture, its numbers, how one of them came about, and files of it. */

import { rowOf } from "app/about.js";
import { formula, h } from "app/dom.js";
import { download } from "app/downloads.js";
import { heatmap } from "app/heatmap.js";
import { markRoots } from "app/mathematics.js";
import { largest, matrix } from "app/matrix.js";
import { count, fixed, percent, range } from "app/numbers.js";
import { select } from "app/parts.js";
import { refusalWords } from "app/refusals.js";
import { scaleBar, shareBar } from "app/scale.js";
import { axesOf, wholePlace, writePlaces } from "app/tensor-parts.js";
import { vocabularyRow } from "app/vocabulary-row.js";

/** @typedef {import("app/explorer.js").Explorer} Explorer */
/** @typedef {import("app/trace.js").Tensor} Tensor */

/**
 * @typedef {object} Seen
 * @property {import("app/network.js").TensorEntry} entry
 * @property {import("app/tensor-parts.js").Places} places
 * @property {Tensor} part      what is seen of it, two axes
 * @property {((row: number, column: number) => boolean) | null} masked
 * @property {any} statistics
 * @property {any} explanation  null where no cell is chosen or nothing can be asked
 * @property {string[] | null} vocabulary
 */

const MOST_NAMED = 40; // columns with a name each; more are a heat map with ticks

/**
 * @param {Explorer} explorer
 * @param {import("app/trace.js").Trace} trace
 * @param {Seen} seen
 */
export function tensorView(explorer, trace, seen) {
  const { entry } = seen;
  const row = rowOf(explorer.model, entry.name);
  const sentence = row && (explorer.language === "ko" ? row.korean : row.english);
  const isVocabulary = axesOf(entry).columns === "vocabulary";
  return h("section", { class: "tensor-view panel", "aria-labelledby": "tensor-title" },
    h("h2", { id: "tensor-title" }, h("code", null, entry.name)),
    h("p", { class: "tensor-shape quiet number" }, shapeOf(entry), entry.derived ? ` · ${explorer.t("tensors.derived")}` : ""),
    sentence ? h("p", null, sentence) : null,
    row ? h("div", { class: "tensor-formula scroll", tabindex: "0", role: "group", "aria-label": explorer.t("about.equation") }, formula(row.mathml)) : null,
    statistics(explorer, seen.statistics),
    slices(explorer, trace, seen),
    isVocabulary ? vocabularyRow(explorer, trace, seen) : [picture(explorer, trace, seen), legend(explorer, seen), numbers(explorer, trace, seen)],
    worked(explorer, seen),
    downloads(explorer, trace, entry.name));
}

/** @param {import("app/network.js").TensorEntry} entry */
export function shapeOf(entry) {
  return entry.axes.map((axis, place) => `${axis.name} ${count(entry.shape[place])}`).join(" × ");
}

/** @param {Explorer} explorer @param {any} found */
function statistics(explorer, found) {
  // Four places say nothing of a small probability.
  const short = (/** @type {number | null} */ value) => (value !== null && value !== 0 && Math.abs(value) < 0.001 ? value.toExponential(2).replace(/-/g, "−") : fixed(value, 4));
  const pairs = ["min", "max", "mean", "std", "norm"].map((key) => [key, short(found[key])]);
  pairs.push(["zeros", percent(found.zeros)]);
  const strange = Object.entries(found.not_finite);
  pairs.push(["not-finite", strange.length ? strange.map(([kind, many]) => `${kind.replace("-inf", "−∞").replace("inf", "∞")}: ${count(Number(many))}`).join(", ") : "0"]);
  return h("dl", { class: "tensor-statistics" },
    pairs.map(([key, words]) => h("div", null, h("dt", null, explorer.t(`tensors.statistics.${key}`)), h("dd", { class: "number" }, words))));
}

/**
 * Lists for the axes that the picture does not show.
 * @param {Explorer} explorer @param {import("app/trace.js").Trace} trace @param {Seen} seen
 */
function slices(explorer, trace, { entry, places }) {
  const { fixed: axes } = axesOf(entry);
  if (!axes.length) return null;
  return h("div", { class: "row tensor-slices" }, axes.map((axis) => {
    const labels = trace.labels(entry.name, axis);
    const options = /** @type {[number, string][]} */ (labels.map((label, place) => [place, axis === "head" ? explorer.t("tensors.head", { number: place + 1, place }) : `${place}: ${label}`]));
    return select(axis, options, places[axis] ?? 0, (value) => explorer.go({ at: writePlaces({ ...places, [axis]: Number(value) }) }));
  }));
}

/** @param {import("app/trace.js").Trace} trace @param {string} name @param {string} axis @param {number} many */
function labelsOf(trace, name, axis, many) {
  const found = trace.labels(name, axis);
  return found.length === many ? found : Array.from({ length: many }, () => "");
}

/** @param {Explorer} explorer @param {import("app/trace.js").Trace} trace @param {Seen} seen */
function picture(explorer, trace, seen) {
  const { entry, part, places, masked } = seen;
  const [rows, columns] = part.shape;
  const [rowAxis, columnAxis] = part.axes;
  const chosen = cellOf(seen);
  const place = (/** @type {number} */ row, /** @type {number} */ column) => ({ ...places, ...(rowAxis ? { [rowAxis]: row } : {}), ...(columnAxis ? { [columnAxis]: column } : {}) });
  const scale = /** @type {import("app/colors.js").Scale} */ (range(part.data)[0] < 0 ? "signed" : "share");
  const options = {
    tensor: part, label: explorer.t("tensors.picture", { name: entry.name }), scale, key: "tensor-picture",
    rows: labelsOf(trace, entry.name, rowAxis, rows), rowAxis, columnAxis, chosen,
    hover: (/** @type {number} */ row, /** @type {number} */ column) => explorer.about({
      name: entry.name, place: whole(entry, place(row, column)), value: fixed(part.value(row, column), 6),
    }),
    choose: (/** @type {number} */ row, /** @type {number} */ column) => explorer.go({ at: writePlaces(place(row, column)) }),
  };
  const named = entry.axes[entry.axes.length - 1].pieces !== null || columns === 1;
  if (named && columns <= MOST_NAMED && rows <= MOST_NAMED) {
    const cell = Math.max(14, Math.min(34, Math.floor(520 / Math.max(rows, columns))));
    return matrix({ ...options, cell, columns: labelsOf(trace, entry.name, columnAxis, columns), masked: masked ?? undefined, maskWord: explorer.t("matrix.mask") });
  }
  return heatmap({ ...options, width: 620, height: rows > 60 ? 8 : 20, describe: (row, column) => (masked?.(row, column) ? [explorer.t("matrix.mask")] : []) });
}

/** @param {import("app/network.js").TensorEntry} entry @param {import("app/tensor-parts.js").Places} places */
function whole(entry, places) {
  return Object.entries(wholePlace(entry, places) ?? {}).map(([axis, place]) => `${axis}=${place}`).join(", ");
}

/** Return the chosen cell's row and column in the picture. @param {Seen} seen @returns {[number, number] | null} */
function cellOf({ entry, places, part }) {
  const found = wholePlace(entry, places);
  if (found === null) return null;
  return [part.axes[0] ? found[part.axes[0]] : 0, part.axes[1] ? found[part.axes[1]] : 0];
}

/** @param {Explorer} explorer @param {Seen} seen */
function legend(explorer, { part }) {
  const isSigned = range(part.data)[0] < 0;
  return h("div", { class: "tensor-legend quiet" },
    (isSigned ? scaleBar : shareBar)(largest(part.data), 3), explorer.t("tensors.picture-help"));
}

const WINDOW = 8; // columns of numbers at a time
const MOST_ROWS = 64;

/**
 * The numbers themselves, a window of columns at a time.
 * @param {Explorer} explorer @param {import("app/trace.js").Trace} trace @param {Seen} seen
 */
function numbers(explorer, trace, seen) {
  const { entry, part, masked } = seen;
  const [rows, columns] = part.shape;
  const [rowAxis, columnAxis] = part.axes;
  const chosen = cellOf(seen);
  const wide = columns <= 12 ? columns : WINDOW;
  const rowLabels = labelsOf(trace, entry.name, rowAxis, rows);
  const columnLabels = labelsOf(trace, entry.name, columnAxis, columns);
  const body = h("div");
  let first = chosen ? Math.floor(chosen[1] / wide) * wide : 0;
  const fill = () => {
    const shown = Array.from({ length: Math.min(wide, columns - first) }, (_, place) => first + place);
    const top = chosen && rows > MOST_ROWS ? Math.max(0, Math.min(rows - MOST_ROWS, chosen[0] - MOST_ROWS / 2)) : 0;
    body.replaceChildren(h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": explorer.t("tensors.numbers"), "data-key": "tensor-numbers" }, h("table", null,
      h("thead", null, h("tr", null, h("th", { scope: "col" }, rowAxis), shown.map((column) => h("th", { scope: "col", class: "number" }, columnLabels[column])))),
      h("tbody", null, Array.from({ length: Math.min(rows, MOST_ROWS) }, (_, number) => top + number).map((row) => h("tr", null, h("th", { scope: "row" }, rowLabels[row]),
        shown.map((column) => h("td", { class: chosen?.[0] === row && chosen[1] === column ? "chosen" : null },
          masked?.(row, column) ? explorer.t("matrix.mask") : fixed(part.value(row, column), 4))))))))
    , columns > wide ? steps(shown) : "");
  };
  const steps = (/** @type {number[]} */ shown) => h("div", { class: "row" },
    h("button", { type: "button", "data-key": "columns-back", disabled: first === 0, onclick: () => { first = Math.max(0, first - wide); fill(); } }, `← ${explorer.t("tensors.before")}`),
    h("span", { class: "number", role: "status" }, explorer.t("tensors.columns", { axis: columnAxis, first: shown[0], last: shown[shown.length - 1], of: columns })),
    h("button", { type: "button", "data-key": "columns-on", disabled: first + wide >= columns, onclick: () => { first += wide; fill(); } }, `${explorer.t("tensors.after")} →`));
  fill();
  return h("details", { class: "tensor-numbers" }, h("summary", { "data-key": "tensor-table" }, explorer.t("tensors.numbers")), body);
}

/** @param {Explorer} explorer @param {Seen} seen */
function worked(explorer, { explanation }) {
  const title = h("h3", null, explorer.t("tensors.worked"));
  if (!explanation) {
    return explorer.backend.interactive ? h("div", { class: "tensor-worked" }, title, h("p", { class: "quiet" }, explorer.t("tensors.choose-cell"))) : null;
  }
  if (explanation.refusal) return h("div", { class: "tensor-worked" }, title, h("div", { class: "quiet" }, refusalWords(explorer, explanation.refusal)));
  const value = explanation.value === null ? "−∞" : fixed(explanation.value, 6);
  return h("div", { class: "tensor-worked" }, title,
    h("p", null, h("code", null, `${explanation.name}[${explanation.place}]`), " = ", h("strong", { class: "number" }, value)),
    h("ol", null, explanation.steps.map((/** @type {any} */ step) => h("li", null,
      h("span", { class: "quiet" }, `${step.words}`),
      h("div", { class: "scroll number tensor-step", tabindex: "0", role: "group", "aria-label": step.words },
        step.expression ? `${markRoots(step.expression)} = ` : "", h("strong", null, step.value === null ? "−∞" : fixed(step.value, 6)))))));
}

/** @param {Explorer} explorer @param {import("app/trace.js").Trace} trace @param {string} name */
function downloads(explorer, trace, name) {
  if (!explorer.backend.interactive) return null;
  return h("div", { class: "tensor-downloads" }, h("span", { class: "quiet" }, explorer.t("tensors.download")), " ",
    ["npy", "csv", "json"].map((form) => [download(explorer, trace, explorer.backend.downloadAddress(trace.id, name, form), `download:${form}`, form === "npy" ? "NumPy (.npy)" : form.toUpperCase()), " "]));
}
