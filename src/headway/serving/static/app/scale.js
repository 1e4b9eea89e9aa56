// @ts-check
/** What the colours of the signed scale mean, from −limit to +limit. */

import { h } from "app/dom.js";
import { fixed } from "app/numbers.js";

/**
 * @param {number} limit
 * @param {number} places
 * @param {string} less   words for what is below zero
 * @param {string} more
 */
export function scaleBar(limit, places, less, more) {
  return h("p", { class: "signed-scale" },
    h("span", { class: "number" }, `−${fixed(limit, places)} ${less}`),
    h("span", { class: "signed-scale-bar", "aria-hidden": "true" }),
    h("span", { class: "number" }, `+${fixed(limit, places)} ${more}`));
}
