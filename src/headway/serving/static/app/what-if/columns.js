// @ts-check
/** A and B beside each other: what each translates, with the pieces that differ. */

import { h } from "app/dom.js";
import { fixed } from "app/numbers.js";
import { refusalWords } from "app/refusals.js";
import { diff, piecesOf } from "app/what-if/tokens.js";

/** @typedef {import("app/explorer.js").Explorer} Explorer */
/** @typedef {import("app/what-if/answers.js").Answers} Answers */

/** @param {Explorer} explorer @param {Answers} data */
export function columns(explorer, { a, before, after, changes }) {
  const left = before ? piecesOf(before) : a.sentence.writes;
  const right = after.value ? piecesOf(after.value) : null;
  const signed = diff(left, right ?? left);
  const isSame = right !== null && signed.a.every(({ sign }) => sign === "") && signed.b.every(({ sign }) => sign === "");
  return h("section", { class: "what-if-free", "aria-labelledby": "what-if-free" },
    h("h2", { id: "what-if-free" }, explorer.t("what-if.free")),
    h("p", { class: "quiet" }, explorer.t("what-if.free.words")),
    h("div", { class: "columns" },
      side(explorer, "A", explorer.t("what-if.a"), explorer.sentence, signed.a, before),
      right === null
        ? h("div", { class: "panel what-if-side" }, sideTitle("B", explorer.t("what-if.b")),
          after.error ? refusal(explorer, after.error) : h("p", null, explorer.t("what-if.no-search")))
        : side(explorer, "B", explorer.t("what-if.b"), changes.src2 || explorer.sentence, signed.b, after.value)),
    h("p", { role: "status", class: "what-if-verdict" }, right === null ? "" : isSame ? explorer.t("what-if.same") : explorer.t("what-if.differs", {
      gone: signed.a.filter(({ sign }) => sign).length, come: signed.b.filter(({ sign }) => sign).length,
    })));
}

/** @param {string} letter @param {string} words */
function sideTitle(letter, words) {
  return h("h3", { class: "what-if-side-title" }, h("span", { class: `what-if-letter what-if-letter-${letter}` }, letter), " ", words);
}

/**
 * @param {Explorer} explorer
 * @param {string} letter
 * @param {string} words
 * @param {string} source
 * @param {import("app/what-if/tokens.js").Signed[]} pieces
 * @param {any} record
 */
function side(explorer, letter, words, source, pieces, record) {
  const score = record?.nodes[record.ranking[0]].score;
  return h("div", { class: "panel what-if-side" },
    sideTitle(letter, words),
    h("p", { class: "quiet what-if-source" }, source),
    h("p", { class: "what-if-text" }, record?.translation.text ?? ""),
    h("div", { class: "pieces", role: "list", "aria-label": explorer.t("what-if.pieces", { letter }) }, pieces.map(({ piece, sign }) => signed(explorer, piece, sign))),
    score === undefined || score === null ? null : h("p", { class: "quiet number what-if-score" }, explorer.t("what-if.score", { score: fixed(score, 3) })));
}

/** @param {Explorer} explorer @param {string} piece @param {"" | "-" | "+"} sign */
function signed(explorer, piece, sign) {
  if (sign === "") return h("span", { class: "piece", role: "listitem" }, piece);
  const isGone = sign === "-";
  return h("span", {
    class: `piece ${isGone ? "piece-gone" : "piece-come"}`, role: "listitem",
    title: explorer.t(isGone ? "what-if.gone" : "what-if.come"),
  }, h("span", { class: "piece-sign" }, isGone ? "−" : "+"), h(isGone ? "del" : "ins", null, piece));
}

/** Return what the program says against a question. @param {Explorer} explorer @param {import("app/network.js").Refusal | undefined} error */
export function refusal(explorer, error) {
  return h("div", { class: "what-if-refusal", role: "status" }, error ? refusalWords(explorer, error) : null);
}
