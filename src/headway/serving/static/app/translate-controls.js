// @ts-check
/** How pieces are chosen: the longest output, and drawing instead of searching. */

import { ANEW } from "app/address.js";
import { h } from "app/dom.js";
import { number, toggle } from "app/parts.js";

/** @typedef {import("app/explorer.js").Explorer} Explorer */

/** @param {Explorer} explorer */
export function controls(explorer) {
  const { state, model } = explorer;
  const { temp, topk, topp, seed, max } = state;
  const isDrawn = temp > 0;
  const change = (/** @type {Partial<import("app/address.js").State>} */ patch) => explorer.go({ ...ANEW, ...patch });
  const longest = model.limits.pieces + (model.decoding?.max_extra_pieces ?? 50);
  return h("section", { class: "panel controls", "aria-labelledby": "controls-title" },
    h("h2", { id: "controls-title" }, explorer.t("translate.controls")),
    h("div", { class: "row" },
      number(explorer.t("translate.max"), max, { min: 0, max: longest }, (value) => change({ max: Math.round(value) })),
      h("span", { class: "quiet small" }, explorer.t("translate.max.note"))),
    toggle(explorer.t("translate.sample"), isDrawn, (on) => change({ temp: on ? 1 : 0 })),
    isDrawn
      ? [h("p", { class: "small" }, explorer.t("translate.sample.note")),
        h("div", { class: "row" },
          number(explorer.t("translate.temperature"), temp, { min: 0.05, max: 10, step: 0.05 }, (value) => change({ temp: value })),
          number("top-k", topk, { min: 0, max: model.sizes.target_vocab_size }, (value) => change({ topk: Math.round(value) })),
          number("top-p", topp, { min: 0.01, max: 1, step: 0.01 }, (value) => change({ topp: value })),
          number(explorer.t("translate.seed"), seed, { min: 0, max: 999999999 }, (value) => change({ seed: Math.round(value) }))),
        h("button", { type: "button", "data-key": "draw-again", onclick: () => change({ seed: seed + 1 }) }, explorer.t("translate.again"))]
      : h("p", { class: "quiet small" }, explorer.t("translate.search.note", { beam: state.beam })));
}
