// @ts-check
/** What a calculation on the page is made of: numbers as bars, sums written out, results compared. */

import { total } from "app/arithmetic.js";
import { reachable } from "app/attention-scroll.js";
import { h } from "app/dom.js";
import { fixed } from "app/numbers.js";
import { tensorCode } from "app/python.js";
import * as tooltip from "app/tooltip.js";

/** @typedef {import("app/explorer.js").Explorer} Explorer */

/** Of a long vector so many have digits. */
export const FIRST = 8;

/**
 * Return numbers as bars, up for positive and down for negative ones, the first with their digits.
 * @param {Explorer} explorer
 * @param {ArrayLike<number>} values
 * @param {{label: string, all: boolean, name?: string, place?: string, axis?: string}} options
 */
export function strip(explorer, values, { label, all, name, place, axis = "" }) {
  const numbers = Array.from(values);
  const most = numbers.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0) || 1;
  const written = all ? numbers.length : Math.min(FIRST, numbers.length);
  const cells = numbers.map((value, index) => h("span", { class: `strip-cell${index < written ? "" : " bare"}`, "data-index": index },
    h("span", { class: "strip-index", "aria-hidden": "true" }, index < written ? index : ""),
    h("span", { class: `strip-bar${value < 0 ? " below" : ""}`, "aria-hidden": "true", style: `--size: ${((50 * Math.abs(value)) / most).toFixed(1)}%` }),
    index < written ? h("span", { class: "strip-digits" }, fixed(value)) : null));
  let current = 0;
  const tell = (/** @type {number} */ index, /** @type {number} */ x, /** @type {number} */ y) => {
    current = index;
    tooltip.show([fixed(numbers[index], 6), `${label}[${index}]`], x, y);
    if (name) explorer.about({ name, place: [place, axis && `${axis}=${index}`].filter(Boolean).join(", "), value: fixed(numbers[index], 6) });
  };
  return h("div", {
    class: `strip${all ? " all" : ""}`, role: "group", tabindex: "0", "aria-label": explorer.t("hand.strip", { label, count: numbers.length }), "data-key": `strip:${label}`,
    onpointermove: (/** @type {PointerEvent} */ event) => {
      const cell = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest("[data-index]"));
      if (cell !== null) tell(Number(cell.dataset.index), event.clientX, event.clientY);
    },
    onpointerleave: tooltip.hide, onblur: tooltip.hide,
    onkeydown: (/** @type {KeyboardEvent} */ event) => {
      const step = /** @type {Record<string, number>} */ ({ ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity })[event.key];
      if (step === undefined) return;
      const index = Math.max(0, Math.min(numbers.length - 1, current + step));
      cells[index].scrollIntoView({ block: "nearest", inline: "nearest" });
      const box = cells[index].getBoundingClientRect();
      tell(index, box.left, box.bottom - 24);
      event.preventDefault();
    },
  }, cells, written < numbers.length ? h("span", { class: "strip-more quiet" }, explorer.t("hand.more", { count: numbers.length - written })) : null);
}

/**
 * Return the name of a tensor, which tells about itself when it is pointed at.
 * @param {Explorer} explorer
 * @param {string} name
 * @param {string} [place]
 * @param {string} [key]
 */
export function nameOf(explorer, name, place = "", key = name) {
  const tell = () => explorer.about({ name, place });
  return h("code", { class: "tensor-name", tabindex: "0", "data-key": `name:${key}:${place}`, onpointerenter: tell, onfocus: tell }, tensorCode(name, place));
}

/**
 * Return a sum as it is written: the first terms, the others together, and the result.
 * @param {Explorer} explorer
 * @param {ArrayLike<number>} terms
 * @param {boolean} all
 */
export function sumLine(explorer, terms, all) {
  const list = Array.from(terms);
  const shown = all ? list.length : Math.min(FIRST, list.length);
  const signed = (/** @type {number} */ value, /** @type {number} */ place) =>
    (place === 0 ? fixed(value) : value < 0 ? ` − ${fixed(-value)}` : ` + ${fixed(value)}`);
  const rest = total(list.slice(shown));
  return h("p", { class: "sum number" }, list.slice(0, shown).map(signed).join(""),
    shown < list.length ? [signed(rest, 1), h("span", { class: "quiet" }, ` (${explorer.t("hand.rest", { count: list.length - shown })})`)] : null,
    " = ", h("strong", null, fixed(total(list))));
}

/**
 * Return the page's result beside the model's, and whether both agree.
 * @param {Explorer} explorer
 * @param {number} here
 * @param {number | null | undefined} model
 * @param {number} allowed   what rounding may make of it
 * @param {string} [words]   what is compared, where there are many
 */
export function compared(explorer, here, model, allowed, words) {
  if (model === null || model === undefined) return h("p", { class: "compared" }, h("span", null, explorer.t("hand.here"), " ", h("strong", { class: "number" }, fixed(here, 6))));
  const isSame = here === model; // also minus infinity, which has no difference
  const difference = isSame ? 0 : here - model;
  const agrees = isSame || Math.abs(difference) <= allowed;
  return h("p", { class: `compared ${agrees ? "agrees" : "differs"}` },
    words ? h("span", null, words) : null,
    h("span", null, explorer.t("hand.here"), " ", h("strong", { class: "number" }, fixed(here, 6))),
    h("span", null, explorer.t("hand.model"), " ", h("strong", { class: "number" }, fixed(model, 6))),
    h("span", null, explorer.t("hand.difference"), " ", h("span", { class: "number" }, small(difference))),
    h("span", { class: "verdict" }, `${agrees ? "✓" : "✗"} ${explorer.t(agrees ? "hand.agrees" : "hand.differs")}`));
}

/** Return a small number with its power of ten: 1.2 · 10⁻⁷. @param {number} value */
export function small(value) {
  if (value === 0) return "0";
  if (!Number.isFinite(value)) return fixed(value);
  if (Math.abs(value) >= 0.001) return fixed(value, 6);
  const [digits, power] = value.toExponential(1).split("e");
  const raised = [...power.replace("+", "")].map((sign) => (sign === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(sign)])).join("");
  return `${digits.replace("-", "−")} · 10${raised}`;
}

/**
 * Return the place where two vectors differ most.
 * @param {ArrayLike<number>} a
 * @param {ArrayLike<number>} b
 */
export function farthest(a, b) {
  let place = 0;
  for (let index = 1; index < a.length; index += 1) if (Math.abs(a[index] - b[index]) > Math.abs(a[place] - b[place])) place = index;
  return place;
}

/**
 * Return rows of numbers as a table with a title.
 * @param {string} title
 * @param {number[][]} rows
 * @param {{rows: string[], columns?: string[], chosen?: [number, number] | null, marked?: (row: number, column: number) => boolean, sums?: string, places?: number, write?: (row: number, column: number) => string}} options
 */
export function grid(title, rows, { rows: labels, columns, chosen = null, marked, sums, write, places = rows.every((row) => row.every(Number.isInteger)) ? 0 : 4 }) {
  const cell = (/** @type {number} */ value, /** @type {number} */ row, /** @type {number} */ column) => h("td", {
    class: [chosen?.[0] === row && chosen[1] === column ? "chosen" : "", marked?.(row, column) ? "marked" : "", value === -Infinity ? "hatched" : ""].filter(Boolean).join(" ") || null,
  }, write ? write(row, column) : fixed(value, places));
  return reachable(h("div", { class: "scroll small-table" }, h("table", null, h("caption", null, title),
    columns ? h("thead", null, h("tr", null, h("td", null, ""), columns.map((label) => h("th", { scope: "col" }, label)), sums ? h("th", { scope: "col" }, sums) : null)) : null,
    h("tbody", null, rows.map((values, row) => h("tr", null, h("th", { scope: "row" }, labels[row]),
      values.map((value, column) => cell(value, row, column)), sums ? h("td", { class: "row-sum" }, fixed(total(values), places)) : null))))), title);
}
