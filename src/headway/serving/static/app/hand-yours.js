// @ts-check
/** Attention of numbers that the reader types: q, k and v as small matrices. */

import { attend, causal } from "app/arithmetic.js";
import { reachable } from "app/attention-scroll.js";
import { h } from "app/dom.js";
import { steps } from "app/hand-steps.js";
import { EXAMPLE, tables } from "app/hand-words.js";
import { number, select, toggle } from "app/parts.js";

/** @typedef {import("app/explorer.js").Explorer} Explorer */
/** @typedef {string[][]} Typed   as it was typed, also what is no number */
/** @typedef {{q: Typed, k: Typed, v: Typed}} Matrices */
/** @typedef {"q" | "k" | "v"} Letter */

/** @type {Letter[]} */
const LETTERS = ["q", "k", "v"];
const MOST_ROWS = 6;
const MOST_COLUMNS = 8;
const LARGEST = 1000;

/**
 * Read the matrices from the address; what is missing there is a 0, what is no number stays as it is.
 * @param {string} text
 * @returns {Matrices}
 */
export function readMatrices(text) {
  const parts = text ? text.split("|").map((part) => part.split(";").map((row) => row.split(","))) : [];
  const given = LETTERS.map((letter, place) => parts[place] ?? EXAMPLE[letter].map((row) => row.map(String)));
  const size = (/** @type {Typed} */ typed, most = MOST_COLUMNS) => Math.min(most, Math.max(...typed.map((row) => row.length)));
  const [q, k, v] = given;
  const depth = size(q);
  const keys = Math.min(MOST_ROWS, k.length);
  return { q: cut(q, Math.min(MOST_ROWS, q.length), depth), k: cut(k, keys, depth), v: cut(v, keys, size(v)) };
}

/** @param {Typed} typed @param {number} rows @param {number} columns @returns {Typed} */
function cut(typed, rows, columns) {
  return Array.from({ length: rows }, (_, row) => Array.from({ length: columns }, (__, column) => typed[row]?.[column] ?? "0"));
}

/** @param {Matrices} matrices */
export const writeMatrices = (matrices) => LETTERS.map((letter) => matrices[letter].map((row) => row.join(",")).join(";")).join("|");

/** Return a number, or null where there is none. @param {string} typed */
function parse(typed) {
  const text = typed.trim().replace("−", "-");
  const value = Number(text);
  return text === "" || !/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text) || Math.abs(value) > LARGEST ? null : value;
}

/**
 * Return one sentence for each number that is none.
 * @param {Explorer} explorer
 * @param {Matrices} matrices
 */
function complaints(explorer, matrices) {
  return LETTERS.flatMap((letter) => matrices[letter].flatMap((row, i) => row.flatMap((typed, j) =>
    (parse(typed) === null ? [explorer.t("hand.bad", { letter: letter.toUpperCase(), row: i, column: j, typed: typed || " ", most: LARGEST })] : []))));
}

/** @param {Explorer} explorer */
export function yoursTab(explorer) {
  const { state } = explorer;
  const matrices = readMatrices(state.qkv);
  const isCausal = state.show.split(".").includes("causal");
  const all = state.show.split(".").includes("all");
  const wrong = complaints(explorer, matrices);
  const { q, k, v } = matrices;
  const keep = (/** @type {Matrices} */ changed) => explorer.go({ qkv: writeMatrices(changed) });
  const sized = (/** @type {number} */ rows, /** @type {number} */ keys, /** @type {number} */ depth, /** @type {number} */ width) => keep({ q: cut(q, rows, depth), k: cut(k, keys, depth), v: cut(v, keys, width) });
  return h("div", { class: "hand-tab" },
    h("p", null, explorer.t("hand.yours.words")),
    h("div", { class: "row" },
      number(explorer.t("hand.size.queries"), q.length, { min: 1, max: MOST_ROWS }, (n) => sized(n, k.length, q[0].length, v[0].length)),
      number(explorer.t("hand.size.keys"), k.length, { min: 1, max: MOST_ROWS }, (n) => sized(q.length, n, q[0].length, v[0].length)),
      number("d_k", q[0].length, { min: 1, max: MOST_COLUMNS }, (n) => sized(q.length, k.length, n, v[0].length)),
      number("d_v", v[0].length, { min: 1, max: MOST_COLUMNS }, (n) => sized(q.length, k.length, q[0].length, n)),
      toggle(explorer.t("hand.causal"), isCausal, (value) => explorer.go({ show: [value ? "causal" : "", all ? "all" : ""].filter(Boolean).join(".") })),
      h("button", { type: "button", "data-key": "reset", onclick: () => explorer.go({ qkv: "" }) }, explorer.t("hand.reset"))),
    h("div", { class: "tables" }, LETTERS.map((letter) => editor(explorer, letter, matrices, keep))),
    h("div", { role: "alert" }, wrong.length ? h("div", { class: "refusal" }, wrong.slice(0, 3).map((sentence) => h("p", null, sentence))) : null),
    wrong.length ? null : answer(explorer, matrices, isCausal, all));
}

/** @param {Explorer} explorer @param {Letter} letter @param {Matrices} matrices @param {(changed: Matrices) => void} keep */
function editor(explorer, letter, matrices, keep) {
  const own = matrices[letter];
  const change = (/** @type {number} */ i, /** @type {number} */ j, /** @type {string} */ text) => {
    const typed = text.replace(/[,;|]/g, " ").trim(); // these part the numbers in the address
    const changed = own.map((row, place) => row.map((value, column) => (place === i && column === j ? typed : value)));
    setTimeout(() => keep({ ...matrices, [letter]: changed })); // the focus has moved on by then, and stays there
  };
  return reachable(h("div", { class: "scroll small-table" }, h("table", { class: "editor" }, h("caption", null, letter.toUpperCase()),
    h("tbody", null, own.map((row, i) => h("tr", null, h("th", { scope: "row" }, `${letter}${i}`), row.map((value, j) => h("td", null, h("input", {
      type: "text", inputmode: "decimal", value, "data-key": `cell:${letter}:${i}:${j}`, "aria-invalid": parse(value) === null ? "true" : null,
      "aria-label": explorer.t("hand.cell", { letter: letter.toUpperCase(), row: i, column: j }), autocomplete: "off",
      onchange: (/** @type {Event} */ event) => change(i, j, /** @type {HTMLInputElement} */ (event.target).value),
    })))))))), letter.toUpperCase());
}

/** @param {Explorer} explorer @param {Matrices} matrices @param {boolean} isCausal @param {boolean} all */
function answer(explorer, matrices, isCausal, all) {
  const [q, k, v] = LETTERS.map((letter) => matrices[letter].map((row) => row.map((typed) => parse(typed) ?? 0)));
  const mask = isCausal ? causal(q.length, k.length) : null;
  const found = attend(q, k, v, { mask });
  const [rows, columns] = [q.map((_, place) => `q${place}`), k.map((_, place) => `k${place}`)];
  const i = Math.max(0, Math.min(q.length - 1, explorer.state.q));
  const j = Math.max(0, Math.min(k.length - 1, explorer.state.k));
  const options = (/** @type {string[]} */ labels) => /** @type {[string, string][]} */ (labels.map((label, place) => [String(place), label]));
  return h("div", { class: "hand-tab" },
    h("h2", null, explorer.t("hand.worked")), tables(explorer, found, { rows, columns, size: q[0].length, chosen: [i, j], masked: isCausal }),
    h("h2", null, explorer.t("hand.one-cell")),
    h("div", { class: "row" }, select(explorer.t("hand.query"), options(rows), i, (value) => explorer.go({ q: Number(value) })), select(explorer.t("hand.key"), options(columns), j, (value) => explorer.go({ k: Number(value) }))),
    steps(explorer, { q: q[i], keys: k, values: v, allowed: mask ? mask[i] : columns.map(() => true), i, j, head: -1, asking: rows[i], labels: columns, name: null, model: null, all, dim: 0 }));
}
