// @ts-check
/** The Transformer of the paper's Figure 1, drawn so that each block is a link to its tensors. */

import { s } from "app/dom.js";

/** @typedef {import("app/blocks.js").Block} Block */

const WIDE = 176; // of a block
const HIGH = 32;
const GAP = 13;
const THIN = 24; // of a wire's label
const LEFT = 46; // of the encoder's blocks
const APART = 246; // from the encoder's blocks to the decoder's
const WIDTH = LEFT + APART + WIDE + 48;

/**
 * @typedef {object} Figure
 * @property {Block[]} encoder   from the bottom up
 * @property {Block[]} decoder
 * @property {string} chosen     the block that is open
 * @property {(block: Block) => string} address
 * @property {(block: Block) => string} words
 * @property {{label: string, inputs: string, outputs: string, probabilities: string, encoder: string, decoder: string}} texts
 */

/** @param {Figure} figure @returns {SVGElement} */
export function figureOne(figure) {
  const height = Math.max(tall(figure.encoder), tall(figure.decoder)) + 66;
  const encoder = placed(figure.encoder, LEFT, height - 34);
  const decoder = placed(figure.decoder, LEFT + APART, height - 34);
  const { texts } = figure;
  return s("svg", { class: "figure-one", viewBox: `0 0 ${WIDTH} ${height}`, role: "group", "aria-label": texts.label },
    s("defs", null, s("marker", { id: "arrow-head", viewBox: "0 0 6 6", refX: 5, refY: 3, markerWidth: 6, markerHeight: 6, orient: "auto-start-reverse" },
      s("path", { d: "M0 0L6 3L0 6Z", class: "arrow-head" }))),
    frame(encoder, texts.encoder, "start", LEFT - 34), frame(decoder, texts.decoder, "end", LEFT + APART + WIDE + 34),
    s("text", { class: "figure-note", x: LEFT + WIDE / 2, y: height - 8, "text-anchor": "middle" }, texts.inputs),
    s("text", { class: "figure-note", x: LEFT + APART + WIDE / 2, y: height - 8, "text-anchor": "middle" }, texts.outputs),
    wires(encoder, height - 22), wires(decoder, height - 22),
    s("path", { class: "wire", d: `M${LEFT + APART + WIDE / 2} ${decoder[decoder.length - 1].top}V24`, "marker-end": "url(#arrow-head)" }),
    s("text", { class: "figure-note", x: LEFT + APART + WIDE / 2, y: 16, "text-anchor": "middle" }, texts.probabilities),
    memory(encoder, decoder),
    [...encoder, ...decoder].map((place) => drawn(place, figure)));
}

/** @typedef {{block: Block, x: number, top: number, bottom: number}} Placed */

/** @param {Block} block */
const sizeOf = (block) => (block.kind === "wire" ? THIN : HIGH);

/** @param {Block[]} blocks */
function tall(blocks) {
  return blocks.reduce((sum, block) => sum + sizeOf(block) + GAP, 0);
}

/**
 * @param {Block[]} blocks
 * @param {number} x
 * @param {number} floor
 * @returns {Placed[]}
 */
function placed(blocks, x, floor) {
  let bottom = floor - 6;
  return blocks.map((block) => {
    const top = bottom - sizeOf(block);
    const place = { block, x, top, bottom };
    bottom = top - GAP;
    return place;
  });
}

/**
 * The frame around what is repeated N times.
 * @param {Placed[]} places
 * @param {string} words
 * @param {"start" | "end"} side
 * @param {number} x    of the words
 */
function frame(places, words, side, x) {
  const inside = places.filter(({ block }) => block.inLayer);
  const top = inside[inside.length - 1].top - 6;
  const bottom = inside[0].bottom + 6;
  const middle = (top + bottom) / 2;
  return [
    s("rect", { class: "figure-frame", x: inside[0].x - 22, y: top, width: WIDE + 44, height: bottom - top, rx: 12 }),
    s("text", { class: "figure-times", transform: `translate(${x} ${middle}) rotate(${side === "start" ? -90 : 90})`, "text-anchor": "middle" }, words),
  ];
}

/** @param {Placed[]} places @param {number} floor */
function wires(places, floor) {
  const x = places[0].x + WIDE / 2;
  const up = places.map((place, number) => {
    const from = number ? places[number - 1].top : floor;
    return s("path", { class: "wire", d: `M${x} ${from}V${place.bottom + 1}`, "marker-end": "url(#arrow-head)" });
  });
  const around = places.flatMap((place) => {
    const { around: begin } = place.block;
    const first = places.find(({ block }) => block.id === begin);
    if (first === undefined) return [];
    const side = first.x - 13;
    const low = first.bottom + GAP / 2;
    const high = (place.top + place.bottom) / 2;
    return [s("path", { class: "wire around", d: `M${x} ${low}H${side + 6}Q${side} ${low} ${side} ${low - 6}V${high + 6}Q${side} ${high} ${side + 6} ${high}H${first.x - 1}`, "marker-end": "url(#arrow-head)" })];
  });
  return [...up, ...around];
}

/** The encoder's result goes into every cross-attention. @param {Placed[]} encoder @param {Placed[]} decoder */
function memory(encoder, decoder) {
  const from = encoder[encoder.length - 1];
  const to = /** @type {Placed} */ (decoder.find(({ block }) => block.id === "decoder.cross_attention"));
  const middle = LEFT + WIDE + 31;
  const y = (to.top + to.bottom) / 2 - 7;
  const start = from.x + WIDE;
  const begin = (from.top + from.bottom) / 2;
  return s("path", { class: "wire memory", d: `M${start} ${begin}H${middle}V${y}H${to.x - 1}`, "marker-end": "url(#arrow-head)" });
}

/** @param {Placed} place @param {Figure} figure */
function drawn({ block, x, top, bottom }, figure) {
  const isChosen = block.id === figure.chosen;
  return s("a", {
    href: figure.address(block), class: `figure-block figure-${block.kind}${isChosen ? " chosen" : ""}`,
    "data-key": `block:${block.id}`, "aria-label": `${figure.words(block)} (${block.id})`, "aria-current": isChosen ? "true" : null,
  },
  s("rect", { x, y: top, width: WIDE, height: bottom - top, rx: block.kind === "wire" ? 11 : 6 }),
  s("text", { x: x + WIDE / 2, y: (top + bottom) / 2, "text-anchor": "middle", "dominant-baseline": "central" }, figure.words(block)));
}
