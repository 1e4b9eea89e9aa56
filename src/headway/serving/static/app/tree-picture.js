// @ts-check
/** The tree as a picture: a column for each step, an edge as thick as its piece is probable. */

import { h, s } from "app/dom.js";
import { fixed, percent } from "app/numbers.js";
import { lengthPenalty } from "app/record.js";
import { arrange } from "app/tree-layout.js";

/**
 * @typedef {import("app/explorer.js").Explorer} Explorer
 * @typedef {import("app/tree-layout.js").Vertex} Vertex
 * @typedef {object} View
 * @property {import("app/record.js").SearchRecord} record
 * @property {Vertex[]} all
 * @property {Vertex[]} shown
 * @property {import("app/tree-layout.js").Chain} root
 * @property {Vertex} chosen
 * @property {boolean} isNormal   whether sums are divided by the length penalty
 * @property {number[]} pair      two leaves to compare
 */

const WIDE = 110;
const HIGH = 40;
const ACROSS = 148;
const DOWN = 50;
const TOP = 30;
const EDGE = 10; // strip around the picture
const THICK = 9; // an edge of probability 1

/** Where the reader had scrolled to: the page is drawn anew, and the picture with it. */
const scrolled = { question: "", left: 0, top: 0 };

/** Return the number that stands on a node. @param {View} view @param {Vertex} vertex */
export function sumOf({ record, isNormal }, { total, step }) {
  return isNormal && step > 0 ? total / lengthPenalty(record.options, step) : total;
}

/** Return a vertex in words. @param {Explorer} explorer @param {View} view @param {Vertex} vertex */
export function labelOf(explorer, view, vertex) {
  if (vertex.parent === null) return explorer.t("tree.root");
  const { step, piece, logProb, total, fate, rank, score } = vertex;
  const words = explorer.t(`tree.label.${fate}`, { rank: rank ?? "–", beam: view.record.options.beam_size, score: fixed(score, 3) });
  return explorer.t("tree.label", { step, piece: piece ?? explorer.t("tree.nothing"), logProb: fixed(logProb, 3), total: fixed(total, 3), fate: words });
}

/** @param {Explorer} explorer @param {View} view @param {(vertex: Vertex, isShift: boolean) => void} choose */
export function picture(explorer, view, choose) {
  const { shown, root } = view;
  const { rows, height, width } = arrange(root);
  const x = (/** @type {Vertex} */ { step }) => EDGE + step * ACROSS;
  const y = (/** @type {Vertex} */ { id }) => TOP + (rows.get(id) ?? 0) * DOWN;
  const [full, tall] = [2 * EDGE + (width - 1) * ACROSS + WIDE, TOP + height * DOWN];
  const svg = s("svg", { class: "tree-picture", width: full, height: tall, viewBox: `0 0 ${full} ${tall}`, role: "group", "aria-label": explorer.t("tree.picture") },
    Array.from({ length: width }, (_, step) => s("text", { class: "tree-column", x: EDGE + step * ACROSS + (step ? WIDE / 2 : 32), y: 18, "text-anchor": "middle" },
      step ? explorer.t("tree.step", { step }) : explorer.t("tree.start"))),
    // Faint edges first: the way to the translation lies on top.
    [...shown].sort((a, b) => Number(a.isBest) - Number(b.isBest)).map((vertex) => vertex.parent !== null && edge(view, vertex, x, y)),
    shown.map((vertex) => node(explorer, view, vertex, x(vertex), y(vertex), choose)));
  svg.addEventListener("keydown", (event) => walkTree(/** @type {KeyboardEvent} */ (event), svg, view, rows));
  const box = h("div", { class: "tree-scroll", tabindex: "-1", "data-key": "tree-scroll" }, svg);
  keepScroll(box, JSON.stringify(explorer.request()));
  return box;
}

/** @param {HTMLElement} box @param {string} question */
function keepScroll(box, question) {
  if (scrolled.question !== question) Object.assign(scrolled, { question, left: 0, top: 0 });
  const { left, top } = scrolled;
  queueMicrotask(() => box.scrollTo({ left, top, behavior: "instant" })); // by then it is in the page
  box.addEventListener("scroll", () => Object.assign(scrolled, { left: box.scrollLeft, top: box.scrollTop }));
}

/** @param {View} view @param {Vertex} vertex @param {(vertex: Vertex) => number} x @param {(vertex: Vertex) => number} y */
function edge({ all }, vertex, x, y) {
  const parent = all[vertex.parent ?? 0];
  const start = x(parent) + (parent.parent === null ? 64 : WIDE);
  const [from, to] = [y(parent) + HIGH / 2, y(vertex) + HIGH / 2];
  const end = x(vertex);
  const middle = (x(parent) + WIDE + end) / 2;
  return s("path", {
    class: `tree-edge is-${vertex.fate}${vertex.isBest ? " is-best" : ""}`,
    d: `M${start} ${from}C${middle} ${from} ${middle} ${to} ${end} ${to}`,
    "stroke-width": (1 + (THICK - 1) * (vertex.probability ?? 0)).toFixed(2),
  });
}

/**
 * @param {Explorer} explorer
 * @param {View} view
 * @param {Vertex} vertex
 * @param {number} x
 * @param {number} y
 * @param {(vertex: Vertex, isShift: boolean) => void} choose
 */
function node(explorer, view, vertex, x, y, choose) {
  const { id, fate, total, rank, parent, pieceId } = vertex;
  const isRoot = parent === null;
  const tell = () => explorer.about({ name: `${vertex.name}.total`, value: fixed(total), words: labelOf(explorer, view, vertex) });
  const isChosen = view.chosen.id === id;
  return s("g", {
    class: `tree-node is-${fate}${vertex.isBest ? " is-best" : ""}${isChosen ? " is-chosen" : ""}${view.pair.includes(id) ? " is-compared" : ""}`,
    transform: `translate(${x} ${y})`, role: "button", tabindex: isChosen ? "0" : "-1",
    "aria-label": labelOf(explorer, view, vertex), "aria-pressed": String(isChosen), "data-key": `node:${id}`,
    // A ghost is no node of the record: it is named by its parent and its piece.
    "data-node": fate === "pruned" ? `${parent}:${pieceId}` : id, "data-id": id, "data-fate": fate, "data-total": total, "data-rank": rank,
    onclick: (/** @type {MouseEvent} */ event) => choose(vertex, event.shiftKey),
    onpointerenter: tell, onfocus: tell,
  },
  s("rect", { width: isRoot ? 64 : WIDE, height: HIGH, rx: 8 }),
  isRoot ? s("text", { class: "tree-piece", x: 32, y: 25, "text-anchor": "middle" }, "<s>") : lines(explorer, view, vertex));
}

/** @param {Explorer} explorer @param {View} view @param {Vertex} vertex */
function lines(explorer, view, vertex) {
  const { fate, rank, probability, score, piece } = vertex;
  const isOver = fate === "finished";
  const name = piece ?? "∅";
  const place = view.record.ranking.indexOf(vertex.id) + 1;
  const small = isOver ? `#${place}` : fate === "pruned" ? explorer.t("tree.rank", { rank: rank ?? "–" }) : percent(probability ?? 0);
  return [
    s("text", { class: "tree-piece", x: 8, y: 16 }, short(name, isOver ? 4 : 12)),
    isOver && s("text", { class: "tree-star", x: WIDE - 7, y: 16, "text-anchor": "end" }, `★ ${fixed(score, 3)}`),
    s("text", { class: "tree-sum", x: 8, y: 32 }, fixed(sumOf(view, vertex), 3)),
    s("text", { class: "tree-small", x: WIDE - 7, y: 32, "text-anchor": "end" }, small),
  ];
}

/** Return as much of a piece as fits: a character of Korean is two wide. @param {string} text @param {number} most */
function short(text, most) {
  let width = 0;
  let kept = "";
  for (const sign of text) {
    width += /[\u1100-\uffdc]/.test(sign) ? 1.8 : 1;
    if (width > most) return `${kept}…`;
    kept += sign;
  }
  return kept;
}

/**
 * Walk with the arrow keys: to the parent, the first child, the neighbours in the column.
 * @param {KeyboardEvent} event
 * @param {SVGElement} svg
 * @param {View} view
 * @param {Map<number, number>} rows
 */
function walkTree(event, svg, { all, shown }, rows) {
  const here = all[Number(/** @type {SVGElement} */ (event.target).dataset.id)];
  if (here === undefined) return;
  if (event.key === "Enter" || event.key === " ") {
    event.target?.dispatchEvent(new MouseEvent("click", { bubbles: true, shiftKey: event.shiftKey }));
    event.preventDefault();
    return;
  }
  const row = (/** @type {Vertex} */ { id }) => rows.get(id) ?? 0;
  const column = shown.filter(({ step }) => step === here.step).sort((a, b) => row(a) - row(b));
  const beside = (/** @type {number} */ by) => column[column.indexOf(here) + by];
  const next = {
    ArrowLeft: () => (here.parent === null ? undefined : all[here.parent]),
    ArrowRight: () => shown.filter(({ parent }) => parent === here.id).sort((a, b) => row(a) - row(b))[0],
    ArrowUp: () => beside(-1),
    ArrowDown: () => beside(1),
  }[event.key];
  if (next === undefined) return;
  event.preventDefault();
  const found = next();
  if (found) /** @type {SVGElement | null} */ (svg.querySelector(`[data-id="${found.id}"]`))?.focus();
}
