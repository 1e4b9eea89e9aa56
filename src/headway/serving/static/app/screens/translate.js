// @ts-check
/** The home: the encoder reads once, the decoder writes step by step. */

import { h } from "app/dom.js";
import { begin, strip } from "app/live.js";
import { fixed } from "app/numbers.js";
import { heading, select } from "app/parts.js";
import { stop, transport } from "app/player.js";
import { spoken, tensorCode, traceLines } from "app/python.js";
import { controls } from "app/translate-controls.js";
import { rowPanel } from "app/translate-row.js";
import { stage } from "app/translate-stage.js";

/**
 * @typedef {import("app/explorer.js").Explorer} Explorer
 * @typedef {import("app/translate-stage.js").Seen} Seen
 */

/** @type {import("app/explorer.js").Screen} */
export const translate = { id: "translate", begin, load, render, python, subject, figure: (_, seen) => seen.name };

/** @param {Explorer} explorer @returns {Promise<Seen>} */
async function load(explorer) {
  const [trace, { record }] = await Promise.all([explorer.trace(), explorer.search()]);
  const layers = explorer.model.sizes.num_decoder_layers;
  const name = `decoder.layers.${explorer.layer(layers)}.cross_attention.weights`;
  const all = await trace.tensor(name);
  const heads = all.shape[0];
  const head = explorer.head(heads);
  return { trace, record, name, weights: head < 0 ? all.mean() : all.part(head), layers, heads };
}

/** @param {Explorer} explorer @param {Seen} seen */
function render(explorer, seen) {
  const moving = h("div", { class: "moving" });
  const redraw = () => {
    const focus = /** @type {HTMLElement | null} */ (document.activeElement)?.dataset.key;
    moving.replaceChildren(transport(explorer, seen.trace, redraw), stage(explorer, seen));
    if (focus) /** @type {HTMLElement | null} */ (moving.querySelector(`[data-key="${CSS.escape(focus)}"]`))?.focus({ preventScroll: true });
  };
  if (seen.trace.rows.length < 2) stop();
  redraw();
  return h("section", null,
    heading(explorer.t("screen.translate"), explorer.t("translate.about")),
    strip(explorer, seen.record),
    moving,
    tintChoice(explorer, seen),
    h("div", { class: "columns translate-columns" },
      rowPanel(explorer, seen),
      explorer.backend.interactive ? controls(explorer) : null));
}

/** Return the choice of the weights that tint the source. @param {Explorer} explorer @param {Seen} seen */
function tintChoice(explorer, { name, layers, heads, trace }) {
  const t = explorer.row(trace.rows.length);
  const head = explorer.head(heads);
  const numbers = (/** @type {number} */ many) => Array.from({ length: many }, (_, place) => place);
  const words = (/** @type {number} */ layer) => explorer.t("layer.one", { layer: layer + 1, of: layers });
  return h("div", { class: "row tint-choice" },
    select(explorer.t("translate.layer"), numbers(layers).map((layer) => [layer, words(layer)]), explorer.layer(layers), (l) => explorer.go({ l: Number(l) })),
    select(explorer.t("translate.head"),
      [[-1, explorer.t("head.mean")], ...numbers(heads).map((own) => /** @type {[number, string]} */ ([own, explorer.headWords(own)]))],
      head, (own) => explorer.go({ h: Number(own) })),
    h("code", { class: "tint-name", tabindex: "0", "data-key": "tint-name", onpointerenter: () => explorer.about({ name }), onfocus: () => explorer.about({ name }) },
      weightsCode(name, head, t)));
}

/** Return the tint in Python. @param {string} name @param {number} head @param {number} t */
function weightsCode(name, head, t) {
  return tensorCode(spoken(name, head), head < 0 ? `query=${t}` : `head=${head}, query=${t}`);
}

/** @param {Explorer} explorer @param {Seen} seen */
function subject(explorer, { trace }) {
  const t = explorer.row(trace.rows.length);
  const { writes, probability } = trace.rows[t];
  return { name: "probabilities", place: `target=${t}`, value: `p(${writes}) = ${fixed(probability, 6)}` };
}

/** @param {Explorer} explorer @param {Seen} seen */
function python(explorer, { name, heads, trace }) {
  const t = explorer.row(trace.rows.length);
  return [
    ...traceLines(explorer, trace),
    `print(trace["probabilities"].at(target=${t}).topk(10))`,
    `print(${weightsCode(name, explorer.head(heads), t)})`,
  ].join("\n");
}
