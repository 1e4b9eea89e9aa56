// @ts-check
/** A source of several sentences: its translation, and the choice of the sentence that is looked at. */

import { OTHER_SENTENCE } from "app/address.js";
import { h } from "app/dom.js";
import { walk } from "app/parts.js";

/**
 * @typedef {object} TextSentence
 * @property {string} source
 * @property {string} translation
 * @property {string} space   the characters between the translation before and this one
 * @property {boolean} [unfamiliar]   true if the sentence is beyond what a calibrated model knows
 *
 * @typedef {object} Paragraph
 * @property {string} text   the translation of the whole source
 * @property {TextSentence[]} sentences
 */

/**
 * Return the translation of the text, with a button for each of its sentences. While the program
 * translates, the buttons have the sources alone.
 * @param {import("app/explorer.js").Explorer} explorer
 */
export function sentenceChoice(explorer) {
  const { sentences, paragraph, place: chosen } = explorer;
  const about = h("p", { class: "quiet small", id: "text-about" }, explorer.t("text.about", { many: sentences.length }));
  const list = h("ol", { class: "text-sentences", "aria-labelledby": "text-about" });
  sentences.forEach((source, place) => {
    const isChosen = place === chosen;
    list.appendChild(h("li", null, h("button", {
      type: "button", "data-key": `sentence:${place}`, "aria-pressed": String(isChosen), class: isChosen ? "is-chosen" : "",
      onclick: () => !isChosen && explorer.go({ ...OTHER_SENTENCE, sent: place }, { remember: true }),
      onkeydown: (/** @type {KeyboardEvent} */ event) => walk(event, list),
    },
    h("span", { class: "text-number number", "aria-hidden": "true" }, place + 1),
    h("span", { class: "text-source" }, source),
    h("span", { class: "text-translation" }, paragraph?.sentences[place].translation ?? ""),
    paragraph?.sentences[place].unfamiliar ? h("span", { class: "text-unfamiliar" }, explorer.t("text.unfamiliar")) : null)));
  });
  queueMicrotask(() => { // by then the list is in the page
    const row = /** @type {HTMLElement} */ (list.children[chosen]);
    list.scrollTop = row.offsetTop - list.offsetTop - (list.clientHeight - row.offsetHeight) / 2;
  });
  return h("section", { class: "text", "aria-label": explorer.t("text.title") },
    h("p", { class: "text-whole" }, paragraph?.text ?? "…"), about, list);
}
