// @ts-check
/** All heads of one kind of attention as small pictures: a row for each layer, the mean beside them. */

import { entropy } from "app/arithmetic.js";
import { reachable } from "app/attention-scroll.js";
import { isDark } from "app/colors.js";
import { h } from "app/dom.js";
import { thumbnail } from "app/matrix.js";
import { fixed } from "app/numbers.js";

/** @typedef {import("app/trace.js").Tensor} Tensor */
/** @typedef {import("app/attention-view.js").Kind} Kind */

/**
 * @typedef {object} Picture
 * @property {number} head      -1 is the mean
 * @property {Tensor} weights
 * @property {number} entropy   mean of the rows', in nats
 */

/** @type {WeakMap<Tensor, Picture[][]>} */
const MADE = new WeakMap();
/** Pictures outlive a drawing of the page: a choice does not paint them again. @type {WeakMap<Tensor, HTMLCanvasElement>} */
const DARK = new WeakMap();
/** @type {WeakMap<Tensor, HTMLCanvasElement>} */
const LIGHT = new WeakMap();

/**
 * Return the heads of each layer, and their mean last.
 * @param {Tensor} stacked  (layer, head, query, key)
 * @returns {Picture[][]}
 */
export function picturesOf(stacked) {
  let found = MADE.get(stacked);
  if (found === undefined) {
    const [layers, heads] = stacked.shape;
    found = Array.from({ length: layers }, (_, layer) => {
      const all = stacked.part(layer);
      const each = Array.from({ length: heads }, (__, head) => ({ head, weights: all.part(head) }));
      return [...each, { head: -1, weights: all.mean() }].map((one) => ({ ...one, entropy: meanEntropy(one.weights) }));
    });
    MADE.set(stacked, found);
  }
  return found;
}

/** @param {Tensor} weights */
function meanEntropy(weights) {
  const [rows] = weights.shape;
  let sum = 0;
  for (let row = 0; row < rows; row += 1) sum += entropy(weights.part(row).data);
  return sum / Math.max(1, rows);
}

/** @param {Tensor} weights */
function pictureOf(weights) {
  const kept = isDark() ? DARK : LIGHT;
  let canvas = kept.get(weights);
  if (canvas === undefined) {
    canvas = thumbnail(weights);
    canvas.removeAttribute("style");
    canvas.setAttribute("aria-hidden", "true");
    kept.set(weights, canvas);
  }
  return canvas;
}

/**
 * Return the panel of one kind.
 * @param {import("app/explorer.js").Explorer} explorer
 * @param {Kind} kind
 * @param {Tensor} stacked
 * @param {{chosen: {layer: number, head: number} | null, sorted: boolean, choose: (layer: number, head: number) => void}} options
 */
export function panel(explorer, kind, stacked, { chosen, sorted, choose }) {
  const pictures = picturesOf(stacked);
  const grid = h("table", { class: "heads", onkeydown: (/** @type {KeyboardEvent} */ event) => walkGrid(event, grid) });
  const heads = pictures[0].length - 1;
  if (!sorted) {
    grid.appendChild(h("thead", null, h("tr", null, h("td", { class: "quiet" }, explorer.t("attention.head-short")),
      Array.from({ length: heads }, (_, head) => h("th", { scope: "col", title: explorer.headWords(head) }, String(head + 1))),
      h("th", { scope: "col", title: explorer.t("head.mean") }, explorer.t("attention.mean-short")))));
  }
  const row = (/** @type {Picture[]} */ line, /** @type {number} */ layer) => h("tr", null,
    h("th", { scope: "row", title: explorer.t("layer.one", { layer: layer + 1, of: pictures.length }) }, explorer.t("attention.layer-short", { layer: layer + 1 })),
    (sorted ? [...line.slice(0, -1)].sort((a, b) => a.entropy - b.entropy).concat(line.slice(-1)) : line).map((picture) => {
      const { head } = picture;
      const isChosen = chosen !== null && chosen.layer === layer && chosen.head === head;
      const isEntry = chosen === null ? layer === 0 && picture === line[0] : isChosen;
      const name = explorer.headWords(head);
      const where = `${explorer.t(`kind.${kind}`)}, ${explorer.t("layer.one", { layer: layer + 1, of: pictures.length })}, ${name}`;
      const sharp = explorer.t("attention.entropy-of", { entropy: fixed(picture.entropy, 2) });
      return h("td", { class: head < 0 ? "mean" : null }, h("button", {
        type: "button", class: "head", "aria-pressed": String(isChosen), "aria-label": `${where}. ${sharp}`, title: `${where}\n${sharp}`,
        tabindex: isEntry ? "0" : "-1", "data-key": `head:${kind}:${layer}:${head}`, onclick: () => choose(layer, head),
      }, pictureOf(picture.weights), sorted ? h("span", { class: "head-words" }, head < 0 ? explorer.t("attention.mean-short") : String(head + 1),
        h("br"), h("span", { class: "quiet" }, fixed(picture.entropy, 2))) : null));
    }));
  grid.appendChild(h("tbody", null, pictures.map(row)));
  return h("section", { class: `panel attention-panel kind-${kind}`, "aria-label": explorer.t(`kind.${kind}`) },
    h("h2", null, explorer.t(`kind.${kind}`)), h("p", { class: "quiet" }, explorer.t(`attention.kind.${kind}`)),
    reachable(h("div", { class: "scroll" }, grid), explorer.t(`kind.${kind}`)));
}

/** @param {KeyboardEvent} event @param {HTMLElement} grid */
function walkGrid(event, grid) {
  const step = /** @type {Record<string, [number, number]>} */ ({ ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] })[event.key];
  if (step === undefined) return;
  const rows = [...grid.querySelectorAll("tbody tr")].map((row) => [...row.querySelectorAll("button")]);
  const row = rows.findIndex((line) => line.includes(/** @type {HTMLButtonElement} */ (document.activeElement)));
  if (row < 0) return;
  const column = rows[row].indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
  rows[row + step[0]]?.[column + step[1]]?.focus();
  event.preventDefault();
}
