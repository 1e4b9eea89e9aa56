// @ts-check
/** "I am good": the numbers of a published example, worked out again, and where it is wrong. */

import { attendProducts, matmul, total } from "app/arithmetic.js";
import { h } from "app/dom.js";
import { grid } from "app/hand-parts.js";
import { mathText } from "app/mathematics.js";
import { fixed } from "app/numbers.js";

/** @typedef {import("app/explorer.js").Explorer} Explorer */

const WORDS = ["I", "am", "good"];
const SIZE = 64; // d_k
const PRODUCTS = [[110, 90, 80], [70, 99, 70], [90, 70, 100]];
/** The components of the value vectors that are printed: the first, the second and the last of 64. */
const VALUES = [[67.85, 91.2, 0.13], [13.13, 63.1, 0.025], [12.12, 96.1, 43.4]];
const COMPONENTS = ["0", "1", "63"];
/** The weights as they are printed, with as many digits. */
const PUBLISHED = [[".90", ".07", ".03"], [".025", ".95", ".025"], [".21", ".03", ".76"]];

/** Tell whether a printed weight is not the right one, rounded to as many digits. @param {string} printed @param {number} weight */
function isWrong(printed, weight) {
  return Number(printed) !== Number(weight.toFixed(printed.length - 1));
}

/** @param {Explorer} explorer */
export function goodTab(explorer) {
  const { scores, exponentials, weights, output } = attendProducts(PRODUCTS, VALUES, SIZE);
  const printed = PUBLISHED.map((row) => row.map(Number));
  const labels = { rows: WORDS, columns: WORDS };
  const sums = explorer.t("hand.table.sum");
  const shares = `${weights[0].map((weight) => fixed(weight)).join(" + ")} = ${fixed(total(weights[0]), 0)}`;
  return h("div", { class: "hand-tab" },
    h("p", null, explorer.t("hand.good.words")),
    h("h2", null, explorer.t("hand.given")),
    h("div", { class: "tables" }, grid(mathText("Q K^T"), PRODUCTS, labels), grid("V", VALUES, { rows: WORDS, columns: COMPONENTS, write: (row, column) => String(VALUES[row][column]) })),
    h("h2", null, explorer.t("hand.worked")),
    h("div", { class: "tables" },
      grid(`scores = ${mathText(`Q K^T / √${SIZE}`)}`, scores, labels), grid("exp(scores)", exponentials, { ...labels, sums })),
    h("div", { class: "beside" },
      h("div", { class: "panel" }, h("h3", null, explorer.t("hand.good.ours")), grid(explorer.t("hand.table.weights"), weights, { ...labels, sums }),
        grid(explorer.t("hand.table.output"), output, { rows: WORDS, columns: COMPONENTS, places: 2 })),
      h("div", { class: "panel" }, h("h3", null, explorer.t("hand.good.published")),
        grid(explorer.t("hand.table.weights"), printed, {
          ...labels, sums, places: 2, write: (row, column) => PUBLISHED[row][column], marked: (row, column) => isWrong(PUBLISHED[row][column], weights[row][column]),
        }),
        grid(explorer.t("hand.table.output"), matmul(printed, VALUES), { rows: WORDS, columns: COMPONENTS, places: 2 }))),
    h("p", { class: "quiet" }, explorer.t("hand.good.marked")),
    h("p", null, explorer.t("hand.good.percent", { shares })),
    h("p", null, explorer.t("hand.good.score-words")));
}

/** Return the same calculation in Python. */
export function goodCode() {
  const rows = (/** @type {number[][]} */ grid) => `[${grid.map((row) => `[${row.map((value) => (Number.isInteger(value) ? `${value}.` : value)).join(", ")}]`).join(", ")}]`;
  return ["import torch", "", `products = torch.tensor(${rows(PRODUCTS)})`, `values = torch.tensor(${rows(VALUES)})`,
    `weights = (products / ${SIZE} ** 0.5).softmax(-1)`, "print(weights)", "print(weights @ values)"].join("\n");
}
