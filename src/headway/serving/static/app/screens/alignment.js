// @ts-check
/** Alignment: which word of the source a word of the translation is about, and what it is due to. */

import { METHODS, answers, methodOf, reading } from "app/alignment/answers.js";
import { attribution } from "app/alignment/attribution.js";
import { gold } from "app/alignment/gold.js";
import { where, wordAlignment } from "app/alignment/words.js";
import { h } from "app/dom.js";
import { choice, heading } from "app/parts.js";
import { quoted, spoken, tensorCode, traceLines } from "app/python.js";

/** @typedef {import("app/alignment/answers.js").Answers} Answers */

/** @type {import("app/explorer.js").Screen} */
export const alignment = {
  id: "alignment",
  load: answers,
  render: (explorer, /** @type {Answers} */ data) => {
    const method = methodOf(explorer);
    const methods = /** @type {[string, string][]} */ (METHODS.map((own) => [own, explorer.t(`alignment.method.${own}`)]));
    return h("section", { class: "alignment" },
      heading(explorer.t("screen.alignment"), explorer.t("alignment.sentence")),
      explorer.backend.has("attribute")
        ? h("div", null, choice(explorer.t("alignment.method"), methods, method, (own) => explorer.go({ method: own === "cross" ? "" : own }, { remember: true })))
        : null,
      data.aligned
        ? [where(explorer, data.aligned), wordAlignment(explorer, data), gold(explorer, data)]
        : attribution(explorer, data));
  },
  python: (explorer, /** @type {Answers} */ data) => pythonCode(explorer, data),
  subject: (explorer, /** @type {Answers} */ { aligned }) => (aligned ? weightsSubject(explorer, aligned.name) : { words: explorer.t(`alignment.formula.${methodOf(explorer)}`) }),
  figure: (_, /** @type {Answers} */ { aligned }) => aligned?.name ?? null,
};

/** @param {import("app/explorer.js").Explorer} explorer @param {string} name   of the weights */
function weightsSubject(explorer, name) {
  const { head } = reading(explorer);
  return { name: spoken(name, head ?? -1), place: head === null ? "" : `head=${head}` };
}

/** @param {import("app/explorer.js").Explorer} explorer @param {Answers} data */
function pythonCode(explorer, { trace, attributed }) {
  if (attributed) {
    const place = explorer.row(trace.rows.length);
    return [
      ...traceLines(explorer, trace, ["from headway.inspection.attribution import attribute"]),
      `why = attribute(translator, trace.sentence.source, trace.sentence.writes[:-1], place=${place}, method=${quoted(attributed.method)})`,
      "print(list(zip(why.source_pieces, why.source_scores)))", "print(list(zip(why.prefix_pieces, why.prefix_scores)))",
      "print(why.value, why.baseline, why.gap)",
    ].join("\n");
  }
  const { layer, head, reads, layers } = reading(explorer);
  const name = `decoder.layers.${layer ?? layers - 1}.cross_attention.weights`;
  const weights = tensorCode(spoken(name, head ?? -1), head === null ? "" : `head=${head}`);
  return [
    ...traceLines(explorer, trace, ["from headway.data.words import number_words", "from headway.decoding.alignment import word_alignment"]),
    `weights = ${weights}[${reads ? "1:" : ":-1"}, :-1]`,
    "bundle, sentence = translator.bundle, trace.sentence",
    "source_words = number_words(bundle.source_tokenizer, sentence.source)",
    "target_words = number_words(bundle.target_tokenizer, sentence.target_ids[1:])",
    "print(word_alignment(weights, source_words, target_words))",
  ].join("\n");
}
