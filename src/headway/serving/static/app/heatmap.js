// @ts-check
/**
 * A wide tensor as a picture: thousands of columns, one canvas, no element for any cell.
 *
 * The canvas has one pixel a cell and is stretched by the style sheet, so that 2,048 columns cost no
 * more than their numbers. Piece by piece matrices with names on both sides are `app/matrix.js`.
 */

import { pixels } from "app/colors.js";
import { h } from "app/dom.js";
import { largest } from "app/matrix.js";
import { fixed } from "app/numbers.js";
import * as tooltip from "app/tooltip.js";

/**
 * @typedef {object} Options
 * @property {import("app/trace.js").Tensor} tensor  two axes
 * @property {string} label        what it is, for screen readers
 * @property {string[]} rows       labels
 * @property {string} rowAxis
 * @property {string} columnAxis
 * @property {import("app/colors.js").Scale} [scale]
 * @property {number} [limit]      the number with the strongest colour; the largest one by default
 * @property {number} [width]      pixels that there are for the cells; wider pictures scroll
 * @property {number} [height]     pixels of a row
 * @property {[number, number] | null} [chosen]
 * @property {(row: number, column: number) => string[]} [describe]  more lines for the tooltip
 * @property {(row: number, column: number) => void} [hover]
 * @property {(row: number, column: number) => void} [choose]
 * @property {string} [tableWord]  the words that open the numbers of the chosen row; none without
 * @property {string} key          keeps the focus when the page is drawn anew
 */

/**
 * Return the picture with its axes as an element.
 * @param {Options} options
 * @returns {HTMLElement}
 */
export function heatmap(options) {
  const { tensor, chosen, height = 20, width = 640 } = options;
  const [rows, columns] = tensor.shape;
  const cell = Math.max(2, Math.min(24, Math.floor(width / Math.max(1, columns))));
  const canvas = picture(options);
  canvas.style.width = `${columns * cell}px`;
  canvas.style.height = `${rows * height}px`;
  listen(canvas, options, cell, height);
  const every = stride(height, 15);
  const box = h("div", { class: "heat-box", style: `width: ${columns * cell}px; height: ${rows * height}px` }, canvas,
    chosen ? [
      h("span", { class: "heat-row", "aria-hidden": "true", style: `top: ${chosen[0] * height}px; height: ${height}px` }),
      h("span", { class: "heat-column", "aria-hidden": "true", style: `left: ${chosen[1] * cell}px; width: ${cell}px` }),
    ] : null);
  const scroll = h("div", { class: "heat-scroll", role: "group", tabindex: "0", "aria-label": options.label, "data-key": `${options.key}:scroll` },
    h("div", { class: "heat-grid" },
      h("span"), ticks(columns, cell),
      h("div", { class: "heat-labels", "aria-hidden": "true", style: `grid-auto-rows: ${height}px` },
        options.rows.map((label, row) => h("span", { class: row === chosen?.[0] ? "chosen" : null, title: label }, row % every ? "" : label))),
      box));
  if (chosen) requestAnimationFrame(() => reveal(scroll, (chosen[1] + 0.5) * cell));
  return h("figure", { class: "heat" },
    h("div", { class: "heat-axes quiet" }, h("span", null, `${options.rowAxis} ↓`), h("span", null, `${options.columnAxis} →`)), scroll,
    chosen && options.tableWord ? numbers(options, chosen) : null);
}

/** Return the numbers of the chosen row, made when they are opened. @param {Options} options @param {[number, number]} chosen */
function numbers({ tensor, label, rows, rowAxis, columnAxis, tableWord, key }, [row, column]) {
  const details = h("details", { class: "matrix-numbers" }, h("summary", { "data-key": `${key}:table` }, tableWord));
  details.addEventListener("toggle", () => {
    if (details.childElementCount > 1) return;
    const values = Array.from(tensor.part(row).data);
    details.appendChild(h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": label }, h("table", null,
      h("thead", null, h("tr", null, h("th", { scope: "col" }, `${rowAxis} ↓  ${columnAxis} →`), values.map((_, place) => h("th", { scope: "col" }, place)))),
      h("tbody", null, h("tr", null, h("th", { scope: "row" }, rows[row]), values.map((value, place) => h("td", { class: place === column ? "chosen" : null }, fixed(value, 4))))))));
  });
  return details;
}

/** Scroll a chosen column into sight, where it is not. @param {HTMLElement} scroll @param {number} x */
function reveal(scroll, x) {
  const room = scroll.clientWidth - 150; // the names of the rows take some
  if (x > room) scroll.scrollLeft = x - room / 2;
}

const NO_NUMBER = 0xff8c8c8c; // grey, and its first byte, that of opacity, is the last one in memory

/** @param {Options} options @returns {HTMLCanvasElement} */
function picture(options) {
  const { tensor, scale = "signed", limit = largest(tensor.data) } = options;
  const [rows, columns] = tensor.shape;
  const canvas = /** @type {HTMLCanvasElement} */ (h("canvas", {
    class: "heat-picture", role: "img", tabindex: "0", width: Math.max(1, columns), height: Math.max(1, rows),
    "aria-label": options.label, "data-key": options.key, "data-name": tensor.name,
  }));
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const image = context.createImageData(Math.max(1, columns), Math.max(1, rows));
  const colors = pixels(limit, scale);
  const words = new Uint32Array(image.data.buffer);
  for (let place = 0; place < tensor.data.length; place += 1) {
    const value = tensor.data[place];
    words[place] = Number.isFinite(value) ? colors(value) : NO_NUMBER;
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

/**
 * Return how many cells there are from one label to the next.
 * @param {number} size   pixels of a cell
 * @param {number} room   pixels that a label takes
 */
function stride(size, room) {
  let every = 1;
  while (every * size < room) every *= 2;
  return every;
}

/** @param {number} columns @param {number} cell */
function ticks(columns, cell) {
  const every = stride(cell, 34);
  const places = Array.from({ length: Math.ceil(columns / every) }, (_, number) => number * every);
  return h("div", { class: "heat-ticks", "aria-hidden": "true", style: `width: ${columns * cell}px` },
    places.map((column) => h("span", { style: `left: ${(column + 0.5) * cell}px` }, column)));
}

/** @type {Record<string, [number, number]>} */
const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [0, -16], PageDown: [0, 16] };

/** @param {HTMLCanvasElement} canvas @param {Options} options @param {number} cell @param {number} high */
function listen(canvas, options, cell, high) {
  const { tensor } = options;
  const [rows, columns] = tensor.shape;
  let [row, column] = options.chosen ?? [0, 0];
  /** @param {number} x @param {number} y */
  const tell = (x, y) => {
    tooltip.show([fixed(tensor.value(row, column), 4), `${options.rows[row]}  ·  ${options.columnAxis} ${column}`, ...(options.describe?.(row, column) ?? [])], x, y);
    options.hover?.(row, column);
  };
  /** @param {MouseEvent} event */
  const find = (event) => {
    const box = canvas.getBoundingClientRect();
    column = Math.max(0, Math.min(columns - 1, Math.floor((event.clientX - box.left) / cell)));
    row = Math.max(0, Math.min(rows - 1, Math.floor((event.clientY - box.top) / high)));
  };
  canvas.addEventListener("pointermove", (event) => { find(event); tell(event.clientX, event.clientY); });
  canvas.addEventListener("pointerleave", tooltip.hide);
  canvas.addEventListener("blur", tooltip.hide);
  canvas.addEventListener("click", (event) => { find(event); options.choose?.(row, column); });
  canvas.addEventListener("keydown", (event) => {
    const move = MOVES[event.key];
    if (move) {
      row = Math.max(0, Math.min(rows - 1, row + move[0]));
      column = Math.max(0, Math.min(columns - 1, column + move[1]));
      const box = canvas.getBoundingClientRect();
      tell(box.left + (column + 0.5) * cell, box.top + (row + 0.5) * high);
    } else if (event.key === "Enter" || event.key === " ") options.choose?.(row, column);
    else return;
    event.preventDefault();
  });
}
