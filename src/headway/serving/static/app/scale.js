// @ts-check
/** What the colours of a picture mean: the numbers at the ends of its scale. */

import { h } from "app/dom.js";
import { fixed } from "app/numbers.js";

/** @param {"signed" | "share"} kind @param {string} low @param {string} high */
function bar(kind, low, high) {
  return h("p", { class: "scale" },
    h("span", { class: "number" }, low), h("span", { class: `scale-bar ${kind}`, "aria-hidden": "true" }), h("span", { class: "number" }, high));
}

/**
 * Return the signed scale, from −limit to +limit.
 * @param {number} limit
 * @param {number} places
 * @param {string} [less]   words for what is below zero
 * @param {string} [more]
 */
export function scaleBar(limit, places, less = "", more = "") {
  return bar("signed", `−${fixed(limit, places)} ${less}`.trim(), `+${fixed(limit, places)} ${more}`.trim());
}

/** Return the scale of one hue, from 0 to limit. @param {number} limit @param {number} places */
export function shareBar(limit, places) {
  return bar("share", "0", fixed(limit, places));
}
