// @ts-check
/** Files of a trace: asked for with a click, so that what is wrong can be said. */

import { h } from "app/dom.js";
import { refusalWords } from "app/refusals.js";

/**
 * Return a link to a file of a trace; if the program has let the trace go, it is made once more.
 * @param {import("app/explorer.js").Explorer} explorer
 * @param {import("app/trace.js").Trace} trace
 * @param {string} address
 * @param {string} key    keeps the focus when the page is drawn anew
 * @param {string} words
 */
export function download(explorer, trace, address, key, words) {
  const said = h("div", { class: "download-said", role: "status" });
  const get = async (/** @type {Event} */ event) => {
    event.preventDefault();
    said.replaceChildren();
    try {
      const { name, blob } = await trace.again(() => explorer.backend.file(address));
      const place = URL.createObjectURL(blob);
      h("a", { href: place, download: name }).click();
      setTimeout(() => URL.revokeObjectURL(place), 60_000);
    } catch (error) {
      said.replaceChildren(...refusalWords(explorer, error));
    }
  };
  return [h("a", { href: address, download: true, "data-key": key, onclick: get }, words), said];
}
