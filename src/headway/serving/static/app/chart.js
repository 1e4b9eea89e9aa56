// @ts-check
/** Lines over numbers, drawn in SVG: axes with ticks, a few series, a marked place. */

import { h, s } from "app/dom.js";
import { fixed } from "app/numbers.js";

/**
 * @typedef {object} Series
 * @property {[number, number][]} points
 * @property {"line" | "dots" | "both"} [form]
 * @property {string} [kind]    a class, which gives the colour
 * @property {string} [label]
 *
 * @typedef {object} Chart
 * @property {string} label     what it shows, for screen readers
 * @property {Series[]} series
 * @property {string} xAxis
 * @property {string} yAxis
 * @property {[number, number]} [y]          bounds; those of the numbers by default
 * @property {[number, number] | null} [mark]  a point to make out
 * @property {(x: number) => string} [xText]
 * @property {number} [height]
 */

const LEFT = 46;
const RIGHT = 12;
const TOP = 12;
const BOTTOM = 42;
const WIDTH = 480;

/** @param {Chart} options @returns {HTMLElement} */
export function chart(options) {
  const { series, mark, height = 200, xText = String } = options;
  const points = series.flatMap((own) => own.points);
  const [left, right] = bounds(points.map(([x]) => x));
  const [low, high] = options.y ?? bounds([0, ...points.map(([, y]) => y)]);
  const x = (/** @type {number} */ value) => LEFT + ((value - left) / (right - left || 1)) * (WIDTH - LEFT - RIGHT);
  const y = (/** @type {number} */ value) => height - BOTTOM - ((value - low) / (high - low || 1)) * (height - TOP - BOTTOM);
  const across = steps(low, high, 4);
  return h("div", { class: "chart" }, s("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "img", "aria-label": options.label },
    across.map((value) => [
      s("line", { class: value === 0 ? "chart-zero" : "chart-grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value) }),
      s("text", { class: "chart-tick", x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, fixed(value, places(high - low))),
    ]),
    steps(left, right, 8).map((value) => s("text", { class: "chart-tick", x: x(value), y: height - BOTTOM + 16, "text-anchor": "middle" }, xText(value))),
    s("text", { class: "chart-axis", x: WIDTH - RIGHT, y: height - 5, "text-anchor": "end" }, `${options.xAxis} →`),
    s("text", { class: "chart-axis", x: 2, y: height - 5 }, `↑ ${options.yAxis}`),
    series.map((own) => drawn(own, x, y)),
    mark ? s("circle", { class: "chart-mark", cx: x(mark[0]), cy: y(mark[1]), r: 6 }) : null));
}

/**
 * @param {Series} series
 * @param {(value: number) => number} x
 * @param {(value: number) => number} y
 */
function drawn({ points, form = "line", kind = "" }, x, y) {
  const path = points.map(([across, up], place) => `${place ? "L" : "M"}${x(across).toFixed(1)} ${y(up).toFixed(1)}`).join("");
  return s("g", { class: `chart-series ${kind}` },
    form === "dots" ? null : s("path", { d: path }),
    form === "line" ? null : points.map(([across, up]) => s("circle", { cx: x(across).toFixed(1), cy: y(up).toFixed(1), r: 2.2 })));
}

/** @param {number[]} values @returns {[number, number]} */
function bounds(values) {
  return values.length ? [Math.min(...values), Math.max(...values)] : [0, 1];
}

/**
 * Return round numbers from low to high, about so many.
 * @param {number} low
 * @param {number} high
 * @param {number} many
 */
function steps(low, high, many) {
  const rough = (high - low || 1) / many;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * (rough / power > 5 ? 10 : rough / power > 2 ? 5 : rough / power > 1 ? 2 : 1);
  const found = [];
  for (let number = Math.ceil(low / step - 1e-9); number * step <= high + 1e-9 * step; number += 1) found.push(number * step);
  return found;
}

/** @param {number} span */
function places(span) {
  if (span > 8) return 0;
  return span > 0.8 ? 1 : 2;
}
