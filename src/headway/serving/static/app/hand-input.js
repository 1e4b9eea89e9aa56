// @ts-check
/** What is before the query: the input of the attention, and W^Q, which makes the query of it. */

import { rowOf } from "app/about.js";
import { h } from "app/dom.js";
import { nameOf, strip } from "app/hand-parts.js";
import { markRoots, mathText } from "app/mathematics.js";
import { fixed } from "app/numbers.js";

/** @typedef {import("app/explorer.js").Explorer} Explorer */

/**
 * @typedef {object} Input
 * @property {string} attention
 * @property {string} equation   of the projection, as `x W^Q + b^Q`
 * @property {string} name       of x
 * @property {string} place      of its row
 * @property {ArrayLike<number> | null} x   null where the page lacks it
 * @property {number} column     of the projection: the first number of the head's query
 * @property {{expression: string, value: number} | null} worked   the program's line for that number
 */

/**
 * Get the input of a row of an attention.
 * @param {Explorer} explorer
 * @param {import("app/trace.js").Trace} trace
 * @param {{name: string, layer: number, head: number, i: number}} chosen
 * @returns {Promise<Input>}
 */
export async function loadInput(explorer, trace, { name, layer, head, i }) {
  const projected = `${name}.projected_q`;
  const [equation, source] = rowOf(explorer.model, projected).equation.split(", x = ");
  const side = name.startsWith("encoder") ? "source" : "target";
  const x = source.replace("*", String(layer));
  const column = head * explorer.model.sizes.d_k;
  const where = { query: i, projected: column };
  const [found, explained] = await Promise.all([
    trace.tensor(x, { [side]: i }).catch(() => null),
    explorer.backend.interactive
      ? explorer.ask("explain", [trace.id, projected, explorer.language, where], () => trace.again(() => explorer.backend.explain(trace.id, projected, explorer.language, where))).catch(() => null)
      : null,
  ]);
  return {
    attention: name, equation, name: x, place: `${side}=${i}`, column,
    x: found && /** @type {Float32Array} */ (found.data), worked: explained?.steps.at(-1) ?? null,
  };
}

/**
 * Return the step from the input to the query.
 * @param {Explorer} explorer
 * @param {Input} input
 * @param {{piece: string, i: number, head: number, all: boolean}} options
 */
export function inputView(explorer, { attention, equation, name, place, x, column, worked }, { piece, i, head, all }) {
  const { d_model: size, d_k: width } = explorer.model.sizes;
  const words = { piece, size, width, head: explorer.headWords(head) };
  const projected = `${attention}.projected_q`;
  return h("ol", { class: "hand-steps hand-input" }, h("li", { class: "hand-step panel" },
    h("div", { class: "hand-step-head" }, h("h3", null, explorer.t("hand.input"), " ", mathText(`q = ${equation}`)), nameOf(explorer, name, place, "input")),
    h("p", { class: "quiet" }, explorer.t("hand.input.words", words)),
    x ? strip(explorer, x, { label: "x", all, name, place, axis: "d_model" }) : h("p", { class: "quiet" }, explorer.t("hand.missing")),
    worked ? h("div", null, h("p", { class: "sum number" }, `q${i}[0] = ${markRoots(worked.expression.replace(/-/g, "−"))} = `, h("strong", null, fixed(worked.value))),
      h("p", { class: "quiet" }, explorer.t("hand.input.largest"), " ", nameOf(explorer, projected, `query=${i}, projected=${column}`))) : null));
}
