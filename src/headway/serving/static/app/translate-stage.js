// @ts-check
/** From the pieces of the source through encoder and decoder to the pieces of the translation. */

import { colorOf, css, inkOn } from "app/colors.js";
import { h, s } from "app/dom.js";
import { count, fixed, percent } from "app/numbers.js";
import { walk } from "app/parts.js";
import { isEncoding, stop } from "app/player.js";
import { spoken } from "app/python.js";

/**
 * @typedef {import("app/explorer.js").Explorer} Explorer
 * @typedef {object} Seen
 * @property {import("app/trace.js").Trace} trace
 * @property {import("app/record.js").SearchRecord} record
 * @property {string} name     of the weights that tint the source
 * @property {import("app/trace.js").Tensor} weights   (T, S), of one head or the mean
 * @property {number} layers   of the decoder
 * @property {number} heads
 */

/**
 * Bring one item of a long list into view, within the list.
 * @param {HTMLElement} list
 * @param {number} place
 */
function reveal(list, place) {
  queueMicrotask(() => { // by then it is in the page
    const item = /** @type {HTMLElement | undefined} */ (list.children[place]);
    if (item && list.scrollHeight > list.clientHeight) list.scrollTop = item.offsetTop - list.offsetTop - list.clientHeight / 2;
  });
}

/** Return the stage at the row that is chosen. @param {Explorer} explorer @param {Seen} seen */
export function stage(explorer, seen) {
  const t = explorer.row(seen.trace.rows.length);
  return h("div", { class: "stage", "data-step": t },
    source(explorer, seen, t), arrow(), encoder(explorer, seen, t), arrow(), decoder(explorer, seen, t), arrow(), target(explorer, seen, t));
}

const LONG = 8; // pieces, beyond which a list may have to scroll

function arrow() {
  return s("svg", { class: "stage-arrow", viewBox: "0 0 28 16", width: 28, height: 16, "aria-hidden": "true" },
    s("path", { d: "M1 8h22M17 2l7 6-7 6", fill: "none", stroke: "currentColor", "stroke-width": 2, "stroke-linecap": "round", "stroke-linejoin": "round" }));
}

/** @param {Explorer} explorer @param {Seen} seen @param {number} t */
function source(explorer, { trace, weights, name, heads }, t) {
  const head = explorer.head(heads);
  const own = Array.from(trace.sentence.source_pieces, (_, place) => weights.value(t, place));
  const list = h("ol", { class: "stage-pieces", tabindex: own.length > LONG ? "0" : null, "aria-label": explorer.t("translate.source"), "data-key": "stage-source" }, trace.sentence.source_pieces.map((piece, place) => {
      const weight = own[place];
      const color = colorOf(weight, 1, "share");
      const where = `${head < 0 ? "" : `head=${head}, `}query=${t}, key=${place}`;
      return h("li", {
        "data-weight": fixed(weight, 6),
        onpointerenter: () => explorer.about({ name: spoken(name, head), place: where, value: fixed(weight) }),
      },
      h("span", { class: "piece", style: `background: ${css(color)}; color: ${inkOn(color)}` }, piece),
      h("span", { class: "stage-weight number" }, fixed(weight, 2)));
    }));
  reveal(list, own.indexOf(Math.max(...own)));
  return h("section", { class: "stage-part stage-source" },
    h("h2", null, explorer.t("translate.source")), list,
    h("p", { class: "stage-note" }, explorer.t("translate.tint")));
}

/**
 * Return the layers of a stack, the last one on top as in the paper's figure.
 * @param {Explorer} explorer
 * @param {"encoder" | "decoder"} side
 * @param {number} many
 */
function stack(explorer, side, many) {
  const layers = Array.from({ length: many }, (_, layer) => many - 1 - layer);
  return h("ol", { class: "stack", reversed: true }, layers.map((layer) => h("li", {
    onpointerenter: () => explorer.about({ name: `${side}.layers.${layer}.output` }),
  }, explorer.t("layer.one", { layer: layer + 1, of: many }))));
}

/** @param {Explorer} explorer @param {Seen} seen @param {number} t */
function encoder(explorer, { trace }, t) {
  const isRunning = t === 0 || isEncoding();
  const { sizes } = explorer.model;
  return h("section", { class: `stage-part block block-encoder${isRunning ? " is-lit" : ""}`, "data-lit": String(isRunning) },
    h("h2", null, explorer.t("translate.encoder")),
    stack(explorer, "encoder", sizes.num_encoder_layers),
    h("p", { class: "runs" }, lamps(1, 1), explorer.t(isRunning ? "translate.encoder.runs" : "translate.encoder.rests")),
    h("p", { class: "stage-note" },
      h("code", { onpointerenter: () => explorer.about({ name: "encoder.output" }) }, "encoder.output"),
      ` ${trace.sentence.source_pieces.length} × ${sizes.d_model}`));
}

/** @param {Explorer} explorer @param {Seen} seen @param {number} t */
function decoder(explorer, { trace, layers }, t) {
  const isRunning = !isEncoding();
  const rows = trace.rows.length;
  const read = trace.sentence.reads.slice(0, t + 1);
  return h("section", { class: `stage-part block block-decoder${isRunning ? " is-lit" : ""}`, "data-lit": String(isRunning) },
    h("h2", null, explorer.t("translate.decoder")),
    stack(explorer, "decoder", layers),
    h("p", { class: "runs" }, lamps(isRunning ? t + 1 : 0, rows),
      explorer.t(isRunning ? "translate.decoder.runs" : "translate.decoder.waits", { step: t + 1, of: rows })),
    h("p", { class: "stage-note" }, explorer.t("translate.reads")),
    h("p", { class: "read" }, isRunning ? read.map((piece, place) => h("span", { class: `piece${place === t ? " is-newest" : ""}` }, piece)) : null),
    h("p", { class: "stage-note is-last" },
      h("code", { onpointerenter: () => explorer.about({ name: "probabilities" }) }, "probabilities"),
      ` ${rows} × ${count(explorer.model.sizes.target_vocab_size)}`));
}

/** @param {number} lit @param {number} all */
function lamps(lit, all) {
  return h("span", { class: "lamps", "aria-hidden": "true" },
    Array.from({ length: all }, (_, place) => h("span", { class: `lamp${place < lit ? " on" : ""}${place === lit - 1 ? " newest" : ""}` })));
}

/** @param {Explorer} explorer @param {Seen} seen @param {number} t */
function target(explorer, { trace }, t) {
  const list = h("ol", { class: "stage-pieces" });
  const shown = isEncoding() ? -1 : t;
  trace.rows.forEach(({ reads, writes, probability }, row) => {
    const state = row < shown ? "was" : row === shown ? "now" : "will";
    list.appendChild(h("li", { class: `is-${state}` },
      h("button", {
        type: "button", class: `piece${row === shown ? " chosen" : ""}`, "data-key": `stage:${row}`, "aria-pressed": String(row === t),
        "aria-label": explorer.t("frame.row-title", { step: row + 1, reads, writes, p: percent(probability) }),
        onclick: () => { stop(); explorer.go({ t: row }); },
        onkeydown: (/** @type {KeyboardEvent} */ event) => walk(event, list),
      }, writes),
      h("span", { class: "stage-weight number" }, percent(probability))));
  });
  reveal(list, t);
  return h("section", { class: "stage-part stage-target" },
    h("h2", null, explorer.t("translate.target")), list, h("p", { class: "stage-note" }, explorer.t("translate.target.note")));
}
