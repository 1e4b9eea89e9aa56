// @ts-check
/**
 * A matrix as a picture: rows ask, columns are looked at, and every cell gives its number.
 *
 * The picture is a canvas; the keyboard walks over it with the arrow keys, and a table of the same
 * numbers opens beneath it for whoever reads rather than looks.
 */

import { colorOf, css, inkOn, isDark, pixels } from "app/colors.js";
import { h } from "app/dom.js";
import { fixed, range } from "app/numbers.js";
import * as tooltip from "app/tooltip.js";

/**
 * @typedef {object} Options
 * @property {import("app/trace.js").Tensor} tensor  two axes
 * @property {string} label        what it is, for screen readers
 * @property {string[]} rows       labels
 * @property {string[]} columns
 * @property {string} [rowAxis]    what the rows are
 * @property {string} [columnAxis]
 * @property {import("app/colors.js").Scale} [scale]
 * @property {number} [limit]      the number with the strongest colour; the largest one by default
 * @property {(row: number, column: number) => boolean} [masked]  cells that nobody may look at
 * @property {string} [maskWord]   what is said of these
 * @property {number} [cell]       pixels a side
 * @property {number} [places]     decimal places
 * @property {(value: number) => string} [write]   what stands in a cell; nothing by default
 * @property {[number, number] | null} [chosen]
 * @property {[number, number][]} [marked]   cells with an outline, such as links
 * @property {[number, number]} [start]      where the keyboard begins; the chosen cell by default
 * @property {(row: number, column: number) => string[]} [describe]  more lines for the tooltip
 * @property {(row: number, column: number) => void} [hover]
 * @property {(row: number, column: number) => void} [choose]
 * @property {string} [tableWord]  the words that open the table; none without
 * @property {string} [key]        keeps the focus when the page is drawn anew
 */

/**
 * Return the matrix as an element.
 * @param {Options} options
 * @returns {HTMLElement}
 */
export function matrix(options) {
  const [height, width] = options.tensor.shape;
  const cell = options.cell ?? 26;
  const canvas = /** @type {HTMLCanvasElement} */ (h("canvas", {
    class: "matrix-picture",
    role: "img",
    tabindex: "0",
    "aria-label": options.label,
    "data-key": options.key ?? options.label,
    "data-name": options.tensor.name,
    style: `width: ${width * cell}px; height: ${height * cell}px`,
  }));
  paint(canvas, options, cell);
  listen(canvas, options, cell, height, width);
  const sized = `--cell: ${cell}px`;
  return h("figure", { class: "matrix", style: sized },
    h("div", { class: "matrix-axis matrix-axis-columns" }, options.columnAxis),
    h("div", { class: "matrix-scroll", tabindex: height * cell > 400 || width * cell > 300 ? "0" : null, role: "group", "aria-label": options.label },
      h("div", { class: "matrix-grid" },
        h("div", { class: "matrix-axis matrix-axis-rows" }, options.rowAxis),
        h("div", { class: "matrix-columns", "aria-hidden": "true" },
          options.columns.map((label, column) =>
            h("span", { class: column === options.chosen?.[1] ? "chosen" : null, title: label }, h("span", null, label)))),
        h("div", { class: "matrix-rows", "aria-hidden": "true" },
          options.rows.map((label, row) =>
            h("span", { class: row === options.chosen?.[0] ? "chosen" : null, title: label }, label))),
        canvas)),
    options.tableWord ? numbers(options) : null);
}

/**
 * Return a small picture of a matrix, without labels.
 * @param {import("app/trace.js").Tensor} tensor   two axes
 * @param {{size?: number, limit?: number, scale?: import("app/colors.js").Scale}} [options]
 * @returns {HTMLCanvasElement}
 */
export function thumbnail(tensor, { size = 64, limit, scale = "share" } = {}) {
  const [height, width] = tensor.shape;
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  canvas.className = "thumbnail";
  canvas.style.width = `${size}px`;
  canvas.style.height = `${size}px`;
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const image = context.createImageData(width, height);
  const strongest = limit ?? largest(tensor.data);
  const colors = pixels(strongest, scale);
  const words = new Uint32Array(image.data.buffer);
  for (let place = 0; place < tensor.data.length; place += 1) {
    const value = tensor.data[place];
    words[place] = colors(Number.isFinite(value) ? value : 0);
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

/** @param {ArrayLike<number>} values */
export function largest(values) {
  const [low, high] = range(values);
  return Math.max(Math.abs(low), Math.abs(high));
}

/** @param {HTMLCanvasElement} canvas @param {Options} options @param {number} cell */
function paint(canvas, options, cell) {
  const { tensor, scale = "share", masked, chosen } = options;
  const [height, width] = tensor.shape;
  // A canvas has limits; of a large matrix each cell then has fewer pixels than the screen.
  const density = Math.min(devicePixelRatio || 1, 8000 / (Math.max(height, width) * cell || 1));
  canvas.width = Math.max(1, Math.round(width * cell * density));
  canvas.height = Math.max(1, Math.round(height * cell * density));
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.scale(density, density);
  const limit = options.limit ?? largest(tensor.data);
  const gap = cell >= 8 ? 1 : 0;
  const dark = isDark();
  for (let row = 0; row < height; row += 1) {
    for (let column = 0; column < width; column += 1) {
      const value = tensor.value(row, column);
      const hidden = masked?.(row, column) ?? false;
      if (hidden || !Number.isFinite(value)) hatch(context, column * cell, row * cell, cell - gap);
      else {
        context.fillStyle = css(colorOf(value, limit, scale, dark));
        context.fillRect(column * cell, row * cell, cell - gap, cell - gap);
        if (options.write) inscribe(context, options.write(value), inkOn(colorOf(value, limit, scale, dark)), (column + 0.5) * cell, (row + 0.5) * cell);
      }
    }
  }
  for (const place of options.marked ?? []) outline(context, place, cell);
  if (chosen) outline(context, chosen, cell);
}

/** @param {CanvasRenderingContext2D} context @param {number} x @param {number} y @param {number} size */
function hatch(context, x, y, size) {
  context.save();
  context.beginPath();
  context.rect(x, y, size, size);
  context.clip();
  context.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--hatch") || "#999";
  context.lineWidth = 1;
  context.beginPath();
  for (let start = -size; start < size; start += Math.max(4, size / 4)) {
    context.moveTo(x + start, y + size);
    context.lineTo(x + start + size, y);
  }
  context.stroke();
  context.restore();
}

/** @param {CanvasRenderingContext2D} context @param {string} text @param {string} ink @param {number} x @param {number} y */
function inscribe(context, text, ink, x, y) {
  context.fillStyle = ink;
  context.font = "11px ui-sans-serif, system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(text, x, y);
}

/** @param {CanvasRenderingContext2D} context @param {[number, number]} place @param {number} cell */
function outline(context, [row, column], cell) {
  context.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--chosen") || "#d00";
  context.lineWidth = 2;
  context.strokeRect(column * cell + 1, row * cell + 1, cell - 3, cell - 3);
}

/** @param {HTMLCanvasElement} canvas @param {Options} options @param {number} cell @param {number} height @param {number} width */
function listen(canvas, options, cell, height, width) {
  let [row, column] = options.start ?? options.chosen ?? [0, 0];
  /** @param {number} x @param {number} y */
  const tell = (x, y) => {
    tooltip.show(lines(options, row, column), x, y);
    options.hover?.(row, column);
  };
  /** @param {MouseEvent} event */
  const find = (event) => {
    const box = canvas.getBoundingClientRect();
    column = Math.max(0, Math.min(width - 1, Math.floor((event.clientX - box.left) / cell)));
    row = Math.max(0, Math.min(height - 1, Math.floor((event.clientY - box.top) / cell)));
  };
  canvas.addEventListener("pointermove", (event) => {
    find(event);
    tell(event.clientX, event.clientY);
  });
  canvas.addEventListener("pointerleave", tooltip.hide);
  canvas.addEventListener("blur", tooltip.hide);
  canvas.addEventListener("click", (event) => {
    find(event);
    options.choose?.(row, column);
  });
  canvas.addEventListener("keydown", (event) => {
    const move = MOVES[event.key];
    if (move) {
      row = Math.max(0, Math.min(height - 1, row + move[0]));
      column = Math.max(0, Math.min(width - 1, column + move[1]));
      const box = canvas.getBoundingClientRect();
      tell(box.left + (column + 0.5) * cell, box.top + (row + 0.5) * cell);
    } else if (event.key === "Enter" || event.key === " ") options.choose?.(row, column);
    else return;
    event.preventDefault();
  });
}

/** @type {Record<string, [number, number]>} */
const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

/** @param {Options} options @param {number} row @param {number} column */
function lines(options, row, column) {
  const hidden = options.masked?.(row, column) ?? false;
  const value = fixed(options.tensor.value(row, column), options.places ?? 4);
  return [
    hidden && options.maskWord ? `${value} (${options.maskWord})` : value,
    `${options.rows[row]}  ·  ${options.columns[column]}`,
    ...(options.describe?.(row, column) ?? []),
  ];
}

/** @param {Options} options */
function numbers(options) {
  const details = h("details", { class: "matrix-numbers" }, h("summary", null, options.tableWord));
  details.addEventListener("toggle", () => {
    if (details.childElementCount > 1) return;
    const [height, width] = options.tensor.shape;
    const cells = (/** @type {number} */ row) => Array.from({ length: width }, (_, column) =>
      h("td", null, options.masked?.(row, column) ? options.maskWord ?? "" : fixed(options.tensor.value(row, column), options.places ?? 4)));
    details.appendChild(h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": options.label },
      h("table", null,
        h("thead", null, h("tr", null, h("th", null, ""), options.columns.map((label) => h("th", { scope: "col" }, label)))),
        h("tbody", null, Array.from({ length: height }, (_, row) =>
          h("tr", null, h("th", { scope: "row" }, options.rows[row]), cells(row)))))));
  });
  return details;
}
