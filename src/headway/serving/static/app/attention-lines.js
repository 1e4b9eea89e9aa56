// @ts-check
/** The line view: who is looked at above, who asks below, lines as strong as the weights. */

import { keepScroll } from "app/attention-scroll.js";
import { h, s } from "app/dom.js";
import { fixed } from "app/numbers.js";

/** @typedef {import("app/attention-view.js").View} View */

const HEIGHT = 190;
const EDGE = 30;
const FONT = 14;
const MOST_LINES = 700;

/**
 * @typedef {object} Lines
 * @property {HTMLElement} element
 * @property {(row: number) => void} show   the lines of a row
 */

/**
 * Return the lines of a view.
 * @param {import("app/explorer.js").Explorer} explorer
 * @param {View} view
 * @param {{row: number, column: number, all: boolean, isTarget: boolean, chooseRow: (row: number) => void, chooseColumn: (column: number) => void}} options
 * @returns {Lines}
 */
export function lineView(explorer, view, { row: chosen, column, all, isTarget, chooseRow, chooseColumn }) {
  const above = spread(view.columnLabels);
  const below = spread(view.rowLabels);
  const width = Math.max(above.width, below.width);
  const [shiftAbove, shiftBelow] = [(width - above.width) / 2, (width - below.width) / 2];
  const paths = s("g", { class: "lines", fill: "none" });
  const said = h("p", { class: "quiet", role: "status" });
  const label = (/** @type {string} */ text, /** @type {number} */ x, /** @type {number} */ y, /** @type {boolean} */ isChosen, /** @type {string} */ key, /** @type {() => void} */ choose, /** @type {string} */ words) =>
    s("g", {
      role: "button", tabindex: isChosen ? "0" : "-1", "data-key": key, class: `line-label${isChosen ? " chosen" : ""}`,
      "aria-pressed": String(isChosen), "aria-label": words, onclick: choose,
      onkeydown: (/** @type {KeyboardEvent} */ event) => keys(event, choose),
    }, s("text", { x, y, "text-anchor": "middle", "font-size": FONT }, text));
  const keyLabels = s("g", null, view.columnLabels.map((text, place) =>
    label(text, above.centres[place] + shiftAbove, 18, place === column, `line-key:${place}`, () => chooseColumn(place), explorer.t("attention.pin-key", { piece: text }))));
  const queryLabels = s("g", null, view.rowLabels.map((text, place) =>
    label(text, below.centres[place] + shiftBelow, HEIGHT - 8, place === chosen, `line-query:${place}`, () => chooseRow(place), explorer.t("attention.pin-query", { piece: text }))));

  /** @param {number | null} row */
  const draw = (row) => {
    const { found, least } = strongest(view, row);
    paths.replaceChildren(...found.map(({ from, to, weight }) => s("path", {
      d: curve(below.centres[from] + shiftBelow, above.centres[to] + shiftAbove),
      "stroke-width": (0.75 + 6 * weight).toFixed(2), "stroke-opacity": Math.min(1, 0.12 + weight).toFixed(3),
      class: to === column && from === chosen ? "chosen" : null,
    })));
    said.textContent = least > 0 ? explorer.t("attention.lines-from", { least: fixed(least, 3) }) : "";
  };
  draw(all ? null : chosen);
  const picture = s("svg", { class: "line-view", width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, role: "group", "aria-label": explorer.t("attention.lines") },
    paths, keyLabels, queryLabels);
  const frame = h("div", { class: "scroll" }, picture);
  keepScroll(frame, `lines:${view.tensor.name}:${view.rowLabels.join(" ")}`, [below.centres[chosen] + shiftBelow, 0]);
  return {
    element: h("div", { class: "line-panel" },
      h("div", { class: "line-axis quiet" }, explorer.t("attention.above")),
      frame,
      h("div", { class: "line-axis quiet" }, explorer.t(isTarget ? "attention.below" : "attention.below-source")), said),
    show: (row) => draw(all ? null : row),
  };
}

/** @param {KeyboardEvent} event @param {() => void} choose */
function keys(event, choose) {
  const own = /** @type {SVGElement} */ (event.currentTarget);
  const step = /** @type {Record<string, string>} */ ({ ArrowLeft: "previousElementSibling", ArrowRight: "nextElementSibling" })[event.key];
  if (step) /** @type {any} */ (own)[step]?.focus();
  else if (event.key === "Enter" || event.key === " ") choose();
  else return;
  event.preventDefault();
}

/** Return where labels stand side by side. @param {string[]} labels */
function spread(labels) {
  const pen = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
  pen.font = `${FONT}px ${getComputedStyle(document.documentElement).fontFamily}`;
  let x = 6;
  const centres = labels.map((label) => {
    const width = pen.measureText(label).width + 22;
    x += width;
    return x - width / 2;
  });
  return { centres, width: Math.ceil(x + 6) };
}

/** @param {number} below @param {number} above */
function curve(below, above) {
  const [low, high] = [HEIGHT - EDGE, EDGE];
  const middle = (low + high) / 2;
  return `M${below.toFixed(1)} ${low} C${below.toFixed(1)} ${middle} ${above.toFixed(1)} ${middle} ${above.toFixed(1)} ${high}`;
}

/**
 * Return the lines to draw, of a row or all; of very many the strongest.
 * @param {View} view
 * @param {number | null} only
 */
function strongest(view, only) {
  const [rows, columns] = view.tensor.shape;
  const found = [];
  for (let from = only ?? 0; from < (only === null ? rows : only + 1); from += 1) {
    for (let to = 0; to < columns; to += 1) {
      const weight = view.tensor.data[from * columns + to];
      if (weight >= 0.005) found.push({ from, to, weight });
    }
  }
  found.sort((a, b) => b.weight - a.weight);
  const kept = found.slice(0, MOST_LINES);
  return { found: kept.reverse(), least: found.length > MOST_LINES ? kept[0].weight : 0.005 };
}
