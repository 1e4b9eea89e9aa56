// @ts-check
/**
 * The flow of one row of the translation: in each decoder layer the source piece that it looks at
 * most, then, from the last of these, the strongest key of each encoder layer.
 */

import { attentionName } from "app/attention-view.js";
import { picturesOf } from "app/attention-grid.js";
import { colorOf, css, inkOn } from "app/colors.js";
import { h, s } from "app/dom.js";
import { largest } from "app/matrix.js";
import { fixed } from "app/numbers.js";
import { tensorCode } from "app/python.js";
import * as tooltip from "app/tooltip.js";

/**
 * @typedef {object} Step
 * @property {string} name       of the weights
 * @property {string} layer      in words
 * @property {number} asks       the row
 * @property {string} asking     its label
 * @property {Float32Array | Uint8Array} weights
 * @property {number} strongest
 */

const LEVEL = 52;
const LEFT = 128;

/**
 * Return the way from a row of the target down to the source.
 * @param {import("app/explorer.js").Explorer} explorer
 * @param {import("app/trace.js").Trace} trace
 * @param {import("app/trace.js").Tensor} cross    (layer, head, query, key)
 * @param {import("app/trace.js").Tensor} encoder
 * @param {number} row
 * @returns {Step[]}
 */
export function flowOf(explorer, trace, cross, encoder, row) {
  const { reads, writes, source_pieces: source } = trace.sentence;
  /** @type {Step[]} */
  const steps = [];
  const add = (/** @type {"cross" | "encoder"} */ kind, /** @type {import("app/trace.js").Tensor} */ stacked, /** @type {number} */ layer, /** @type {number} */ asks, /** @type {string} */ asking) => {
    const pictures = picturesOf(stacked)[layer];
    const weights = pictures[pictures.length - 1].weights.part(asks).data;
    const strongest = weights.indexOf(largest(weights));
    const of = stacked.shape[0];
    steps.push({ name: `${attentionName(kind, layer)}.weights.mean(0)`, layer: explorer.t(`attention.flow.${kind}`, { layer: layer + 1, of }), asks, asking, weights, strongest });
    return strongest;
  };
  let place = 0;
  for (let layer = cross.shape[0] - 1; layer >= 0; layer -= 1) {
    const found = add("cross", cross, layer, row, `${reads[row]} → ${writes[row]}`);
    if (layer === cross.shape[0] - 1) place = found;
  }
  for (let layer = encoder.shape[0] - 1; layer >= 0; layer -= 1) place = add("encoder", encoder, layer, place, source[place]);
  return steps;
}

/**
 * Return the flow as a picture and as a list.
 * @param {import("app/explorer.js").Explorer} explorer
 * @param {import("app/trace.js").Trace} trace
 * @param {Step[]} steps
 */
export function flowView(explorer, trace, steps) {
  const source = trace.sentence.source_pieces;
  const cell = Math.max(46, Math.min(110, 760 / source.length));
  const width = LEFT + source.length * cell;
  const height = 30 + steps.length * LEVEL + 10;
  const x = (/** @type {number} */ piece) => LEFT + (piece + 0.5) * cell;
  const y = (/** @type {number} */ level) => 30 + (level + 0.5) * LEVEL;
  const way = steps.slice(1).map((step, place) => s("line", {
    x1: x(steps[place].strongest), y1: y(place), x2: x(step.strongest), y2: y(place + 1), class: "flow-way", "stroke-width": (1.5 + 5 * step.weights[step.strongest]).toFixed(2),
  }));
  const nodes = steps.map((step, level) => s("g", null,
    s("text", { x: 0, y: y(level) + 4, "font-size": 13, class: "flow-layer" }, step.layer),
    Array.from(step.weights, (weight, piece) => node(explorer, step, piece, weight, x(piece), y(level), cell))));
  const titles = source.map((piece, place) => s("text", { x: x(place), y: 18, "text-anchor": "middle", "font-size": 13 }, short(piece, cell)));
  return h("section", { class: "panel flow" },
    h("h2", null, explorer.t("attention.flow.title", { piece: steps[0]?.asking ?? "" })),
    h("p", { class: "quiet" }, explorer.t("attention.flow.words")),
    h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": explorer.t("attention.flow.title", { piece: steps[0]?.asking ?? "" }) },
      s("svg", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" }, titles, way, nodes)),
    h("ol", { class: "flow-list" }, steps.map((step) => h("li", null,
      explorer.t("attention.flow.step", { layer: step.layer, asks: step.asking, piece: source[step.strongest], weight: fixed(step.weights[step.strongest]) }), " ",
      h("code", null, tensorCode(step.name, `query=${step.asks}, key=${step.strongest}`))))));
}

/**
 * @param {import("app/explorer.js").Explorer} explorer
 * @param {Step} step
 * @param {number} piece
 * @param {number} weight
 * @param {number} x
 * @param {number} y
 * @param {number} cell
 */
function node(explorer, step, piece, weight, x, y, cell) {
  const color = colorOf(weight, 1, "share");
  const wide = Math.min(cell - 8, 62);
  const show = (/** @type {PointerEvent} */ event) => {
    tooltip.show([fixed(weight), step.layer], event.clientX, event.clientY);
    explorer.about({ name: step.name, place: `query=${step.asks}, key=${piece}`, value: fixed(weight) });
  };
  return s("g", { onpointermove: show, onpointerleave: tooltip.hide },
    s("rect", { x: x - wide / 2, y: y - 13, width: wide, height: 26, rx: 6, fill: css(color), class: piece === step.strongest ? "flow-node chosen" : "flow-node" }),
    s("text", { x, y: y + 4, "text-anchor": "middle", "font-size": 12, fill: inkOn(color) }, fixed(weight, 2)));
}

/** @param {string} piece @param {number} cell */
function short(piece, cell) {
  const most = Math.max(3, Math.floor(cell / 11));
  return piece.length > most ? `${piece.slice(0, most - 1)}…` : piece;
}
