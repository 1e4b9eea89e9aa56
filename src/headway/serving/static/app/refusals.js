// @ts-check
/** What the program says against a question: in the language of the page where that is known. */

import { h } from "app/dom.js";
import { Refusal } from "app/network.js";

/** The codes of errors that the page has words for; the others' sentences are the program's own. */
const TOLD = ["blank", "too-long", "sentences", "trace-gone", "prefix", "gold", "edit", "beam", "unreachable"];
/** Those of which the program's sentence says more: which one, and why. */
const DETAILED = ["prefix", "gold", "edit"];

/**
 * Return an error in sentences: what is wrong, and what to do.
 * @param {import("app/explorer.js").Explorer} explorer
 * @param {unknown} error
 * @returns {HTMLElement[]}
 */
export function refusalWords(explorer, error) {
  const line = (/** @type {string} */ words, /** @type {string} */ kind = "") => h("p", { class: kind || null }, words);
  const foreign = (/** @type {string} */ words, /** @type {string} */ kind = "") => h("p", { lang: "en", class: kind || null }, words);
  if (!(error instanceof Refusal)) {
    return [line(explorer.t("refusal.fault")), line(explorer.t("refusal.fault.remedy")), foreign(error instanceof Error ? error.message : String(error), "quiet small")];
  }
  const { code, message, remedy } = error;
  if (TOLD.includes(code)) {
    return [line(explorer.t(`refusal.${code}`)), line(explorer.t(`refusal.${code}.remedy`)),
      ...(DETAILED.includes(code) && message ? [foreign(message, "quiet small")] : [])];
  }
  // A page in one file has refused in the language of the page.
  const say = code === "file" ? line : foreign;
  return [message, remedy].filter(Boolean).map((words) => say(words));
}
