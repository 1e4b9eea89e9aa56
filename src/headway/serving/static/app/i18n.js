// @ts-check
/** Texts in Korean and English. A text that is missing shows as ⟦its key⟧, which the tests look for. */

import { markMath } from "app/mathematics.js";
import { withParticles } from "app/particles.js";
import alignment from "app/texts/alignment.js";
import attention from "app/texts/attention.js";
import common from "app/texts/common.js";
import hand from "app/texts/hand.js";
import lessons from "app/texts/lessons.js";
import position from "app/texts/position.js";
import tensors from "app/texts/tensors.js";
import translate from "app/texts/translate.js";
import tree from "app/texts/tree.js";
import whatIf from "app/texts/what-if.js";

/** @typedef {"en" | "ko"} Language */

const PARTS = [common, translate, attention, hand, tree, whatIf, tensors, position, alignment, lessons];

/** @type {Record<Language, Record<string, string>>} */
export const TEXTS = {
  en: Object.assign({}, ...PARTS.map((part) => part.en)),
  ko: Object.assign({}, ...PARTS.map((part) => part.ko)),
};

/**
 * Return the language to begin with: Korean for readers of Korean, else English.
 * @returns {Language}
 */
export function preferred() {
  return navigator.language?.toLowerCase().startsWith("ko") ? "ko" : "en";
}

/**
 * Return a text with its {values} filled in, and its mathematics marked.
 * @param {Language} language
 * @param {string} key
 * @param {Record<string, string | number>} [values]
 * @returns {string}
 */
export function text(language, key, values = {}) {
  const found = TEXTS[language][key];
  if (found === undefined) {
    console.error(`no text '${key}' in ${language}`);
    return `⟦${key}⟧`;
  }
  const filled = markMath(found).replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? `⟦${name}⟧`));
  return language === "ko" ? withParticles(filled) : filled;
}
