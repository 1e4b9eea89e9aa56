// @ts-check
/** What is around a head: all heads joined, W^O, the way around, LayerNorm — of this model. */

import { allowance, layerNorm, total } from "app/arithmetic.js";
import { reachable } from "app/attention-scroll.js";
import { h } from "app/dom.js";
import { FIRST, compared, farthest, nameOf, strip } from "app/hand-parts.js";
import { markRoots, mathText } from "app/mathematics.js";
import { fixed } from "app/numbers.js";
import { number } from "app/parts.js";

/** @typedef {import("app/explorer.js").Explorer} Explorer */
/** @typedef {import("app/trace.js").Trace} Trace */

/**
 * @typedef {object} Around   vectors of the row; null where the page lacks them
 * @property {string} name          of the attention
 * @property {"pre" | "post"} norm
 * @property {string} stream        name of what goes around the sub-layer
 * @property {Record<string, Float32Array | null>} vectors   concat, output, stream, sum, norm
 * @property {import("app/trace.js").Tensor | null} contributions  (head, d_model)
 * @property {{mean: number | null, variance: number | null}} moments
 * @property {{words: string, expression: string, value: number}[]} worked   the program's lines for one component of LayerNorm
 */

/**
 * Return the name of what goes around a sub-layer: its x in x + Sublayer(x).
 * @param {string} attention
 * @param {"pre" | "post"} norm
 * @param {"self_attention" | "ssru"} past   the first sub-layer of the decoder
 */
export function streamName(attention, norm, past) {
  const layer = attention.replace(/\.[^.]+$/, "");
  return attention.endsWith("cross_attention") ? `${layer}.${past}_residual.${norm === "post" ? "norm" : "sum"}` : `${layer}.input`;
}

/**
 * Get what is around a row of an attention.
 * @param {Explorer} explorer
 * @param {Trace} trace
 * @param {string} name
 * @param {number} query
 * @returns {Promise<Around>}
 */
export async function loadAround(explorer, trace, name, query) {
  const norm = explorer.model.norm_position;
  const side = name.startsWith("encoder") ? "source" : "target";
  const stream = streamName(name, norm, explorer.model.config.decoder_past);
  const maybe = (/** @type {string} */ tensor, /** @type {Record<string, number>} */ where) => trace.tensor(tensor, where).catch(() => null);
  const row = async (/** @type {string} */ tensor, axis = side) => {
    const found = await maybe(tensor, { [axis]: query });
    return found ? /** @type {Float32Array} */ (found.data) : null;
  };
  const dim = dimOf(explorer);
  const explained = explorer.backend.interactive
    ? explorer.ask("explain", [trace.id, name, query, dim, explorer.language], () => trace.again(() => explorer.backend.explain(trace.id, `${name}_residual.norm`, explorer.language, { [side]: query, d_model: dim }))).catch(() => null)
    : null;
  const [concat, output, around, sum, normed, mean, variance, contributions, worked] = await Promise.all([
    row(`${name}.concat`, "query"), row(`${name}.output`, "query"), row(stream), row(`${name}_residual.sum`), row(`${name}_residual.norm`),
    row(`${name}_residual.mean`), row(`${name}_residual.variance`), maybe(`${name}.contributions`, { query }), explained]);
  return {
    name, norm, stream, contributions, vectors: { concat, output, stream: around, sum, norm: normed },
    moments: { mean: mean?.[0] ?? null, variance: variance?.[0] ?? null }, worked: worked?.steps ?? [],
  };
}

/** Return the component that is written out. @param {Explorer} explorer */
export function dimOf(explorer) {
  return Math.max(0, Math.min(explorer.model.sizes.d_model - 1, Math.round(explorer.state.dim)));
}

/**
 * @param {Explorer} explorer
 * @param {Around} around
 * @param {{head: number, query: number, all: boolean}} options
 */
export function aroundView(explorer, around, { head, query, all }) {
  const dim = dimOf(explorer);
  const { norm } = around;
  const parts = [join(explorer, around, head, query, all), project(explorer, around, query, dim, all), add(explorer, around, query, dim)];
  const normed = normal(explorer, around, query, dim);
  return h("section", { class: "hand-around" },
    h("h2", null, explorer.t("hand.around")),
    h("p", { class: "quiet" }, explorer.t(`hand.around.${norm}`)),
    number(explorer.t("hand.dim"), dim, { min: 0, max: explorer.model.sizes.d_model - 1 }, (value) => explorer.go({ dim: value })),
    h("ol", { class: "hand-steps", start: 8 }, norm === "post" ? [...parts, normed] : [normed, ...parts]));
}

/** @param {Explorer} explorer @param {string} step @param {Record<string, string | number>} words @param {import("app/dom.js").Child} name @param {import("app/dom.js").Child[]} content */
function line(explorer, step, words, name, ...content) {
  return h("li", { class: "hand-step panel" }, h("div", { class: "hand-step-head" }, h("h3", null, explorer.t(`hand.${step}`, words)), name),
    h("p", { class: "quiet" }, explorer.t(`hand.${step}.words`, words)), content);
}

/** @param {Explorer} explorer */
const missing = (explorer) => h("p", { class: "quiet" }, explorer.t("hand.missing"));

/** @param {Explorer} explorer @param {Around} around @param {number} head @param {number} query @param {boolean} all */
function join(explorer, { name, vectors: { concat } }, head, query, all) {
  const { num_heads: heads, d_v: width } = explorer.model.sizes;
  if (concat === null) return line(explorer, "concat", { heads, width, head: explorer.headWords(head) }, null, missing(explorer));
  return line(explorer, "concat", { heads, width, head: explorer.headWords(head) }, nameOf(explorer, `${name}.concat`, `query=${query}`),
    h("div", { class: "joined" }, Array.from({ length: heads }, (_, place) => h("div", { class: place === head ? "chosen" : null },
      h("span", { class: "quiet" }, explorer.headWords(place)),
      strip(explorer, concat.subarray(place * width, (place + 1) * width), { label: `concat, ${explorer.headWords(place)}`, all: all && place === head })))));
}

/** @param {Explorer} explorer @param {Around} around @param {number} query @param {number} dim @param {boolean} all */
function project(explorer, { name, vectors: { output }, contributions }, query, dim, all) {
  if (output === null) return line(explorer, "project", { dim }, null, missing(explorer));
  const content = [strip(explorer, output, { label: "output", all, name: `${name}.output`, place: `query=${query}`, axis: "d_model" })];
  if (contributions) {
    const shares = Array.from({ length: contributions.shape[0] }, (_, head) => contributions.value(head, dim));
    const bias = output[dim] - total(shares);
    content.push(h("p", { class: "sum number" }, `${explorer.t("hand.component", { dim })}: `,
      shares.map((share, head) => [head ? " + " : "", share < 0 ? `(${fixed(share)})` : fixed(share), h("span", { class: "quiet" }, ` (${explorer.headWords(head)})`)]),
      ` + ${bias < 0 ? `(${fixed(bias)})` : fixed(bias)}`, h("span", { class: "quiet" }, ` (${mathText("b^O")})`), " = ", h("strong", null, fixed(output[dim]))),
    h("p", { class: "quiet" }, explorer.t("hand.project.bias"), " ", nameOf(explorer, `${name}.contributions`, `query=${query}, d_model=${dim}`)));
  }
  return line(explorer, "project", { dim }, nameOf(explorer, `${name}.output`, `query=${query}`), content);
}

/** @param {Explorer} explorer @param {Around} around @param {number} query @param {number} dim */
function add(explorer, { name, stream, vectors }, query, dim) {
  const { output, stream: x, sum } = vectors;
  const side = name.startsWith("encoder") ? "source" : "target";
  if (output === null || x === null || sum === null) return line(explorer, "residual", {}, null, missing(explorer));
  const here = Array.from(x, (value, place) => value + output[place]);
  const far = farthest(here, sum);
  const shown = dims(dim, x.length);
  return line(explorer, "residual", {}, nameOf(explorer, `${name}_residual.sum`, `${side}=${query}`),
    h("p", null, h("span", { class: "quiet" }, "x = "), nameOf(explorer, stream, `${side}=${query}`)),
    componentTable([["x", x], ["+ output", output], ["= sum", here]], shown, dim),
    compared(explorer, here[far], sum[far], allowance([x[far], output[far]]), explorer.t("hand.worst", { dim: far, size: here.length })));
}

/**
 * Return some components of vectors, below each other.
 * @param {[string, ArrayLike<number>][]} rows
 * @param {number[]} shown
 * @param {number} dim   the chosen one
 */
function componentTable(rows, shown, dim) {
  return reachable(h("div", { class: "scroll small-table" }, h("table", null,
    h("thead", null, h("tr", null, h("td", null, "d_model"), shown.map((place) => h("th", { scope: "col", class: place === dim ? "chosen" : null }, place)))),
    h("tbody", null, rows.map(([label, values]) => h("tr", null, h("th", { scope: "row" }, label), shown.map((place) => h("td", null, fixed(values[place])))))))), "d_model");
}

/** Return the first components and the chosen one. @param {number} dim @param {number} size */
function dims(dim, size) {
  const first = Array.from({ length: Math.min(FIRST, size) }, (_, place) => place);
  return first.includes(dim) ? first : [...first, dim];
}

/** @param {Explorer} explorer @param {Around} around @param {number} query @param {number} dim */
function normal(explorer, around, query, dim) {
  const { name, norm, stream, vectors, moments, worked } = around;
  const side = name.startsWith("encoder") ? "source" : "target";
  const z = norm === "post" ? vectors.sum : vectors.stream;
  const reads = norm === "post" ? `${name}_residual.sum` : stream;
  const epsilon = explorer.model.config.norm_epsilon ?? 1e-5;
  if (z === null) return line(explorer, "norm", { size: explorer.model.sizes.d_model }, null, missing(explorer));
  const found = layerNorm(z, epsilon);
  const normed = vectors.norm;
  const shown = dims(dim, z.length);
  const rows = /** @type {[string, ArrayLike<number>][]} */ ([["z", z], [mathText("(z − mean) / √(variance + ε)"), found.result], ...(normed ? [["× γ + β = norm", normed]] : [])]);
  return line(explorer, "norm", { size: z.length }, nameOf(explorer, `${name}_residual.norm`, `${side}=${query}`),
    h("p", null, h("span", { class: "quiet" }, "z = "), nameOf(explorer, reads, `${side}=${query}`, "norm-reads")),
    compared(explorer, found.mean, moments.mean, allowance(z) / z.length, "mean"),
    compared(explorer, found.variance, moments.variance, allowance(Array.from(z, (value) => (value - found.mean) ** 2)) / z.length + 1e-6 * found.variance, "variance"),
    h("p", { class: "sum number" }, `${mathText(`√(${fixed(found.variance, 6)} + ${epsilon})`)} = `, h("strong", null, fixed(found.divisor, 6))),
    componentTable(rows, shown, dim),
    worked.length ? h("div", null, h("h4", null, explorer.t("hand.component", { dim })), h("p", { class: "sum number worked" }, `${markRoots(worked[worked.length - 1].expression.replace(/-/g, "−"))} = ${fixed(worked[worked.length - 1].value)}`),
      h("p", { class: "quiet" }, explorer.t("hand.norm.gamma"))) : null);
}
