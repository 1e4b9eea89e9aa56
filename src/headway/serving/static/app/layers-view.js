// @ts-check
/** Layer by layer: how long the vectors are, and what each decoder layer would write. */

import { chart } from "app/chart.js";
import { h } from "app/dom.js";
import { fixed, percent } from "app/numbers.js";

/** @typedef {import("app/explorer.js").Explorer} Explorer */
/** @typedef {import("app/trace.js").Trace} Trace */
/** @typedef {{name: string, norms: number[]}} Stage  a tensor, and the length of its vector at each piece */

/**
 * Return the lengths of what runs through a stack, from the embedding to the last layer.
 * @param {Trace} trace
 * @param {"encoder" | "decoder"} stack
 * @param {number} layers
 * @returns {Promise<Stage[]>}
 */
export async function stagesOf(trace, stack, layers) {
  const sublayers = stack === "encoder" ? ["self_attention", "feed_forward"] : ["self_attention", "ssru", "cross_attention", "feed_forward"];
  const names = [`${stack === "encoder" ? "source" : "target"}_embedding.output`];
  for (let layer = 0; layer < layers; layer += 1) {
    names.push(...sublayers.map((sublayer) => `${stack}.layers.${layer}.${sublayer}_residual.sum`), `${stack}.layers.${layer}.output`);
  }
  const known = names.filter((name) => trace.tensors.has(name));
  const tensors = await Promise.all(known.map((name) => trace.tensor(name)));
  return tensors.map((tensor, place) => ({ name: known[place], norms: Array.from({ length: tensor.shape[0] }, (_, row) => length(tensor.part(row).data)) }));
}

/** @param {ArrayLike<number>} vector */
function length(vector) {
  let sum = 0;
  for (let place = 0; place < vector.length; place += 1) sum += vector[place] * vector[place];
  return Math.sqrt(sum);
}

/**
 * @param {Explorer} explorer
 * @param {Trace} trace
 * @param {{encoder: Stage[], decoder: Stage[], lens: any}} data
 */
export function layersView(explorer, trace, data) {
  return h("div", { class: "layers-view" },
    h("section", { class: "panel" }, h("h2", null, explorer.t("tensors.norms")), h("p", { class: "quiet" }, explorer.t("tensors.norms-help"), " ", explorer.t(explorer.model.norm_position === "pre" ? "tensors.norms-pre" : "tensors.norms-post")),
      h("div", { class: "columns" }, norms(explorer, trace, "encoder", data.encoder), norms(explorer, trace, "decoder", data.decoder))),
    h("section", { class: "panel" }, h("h2", null, explorer.t("tensors.lens")), h("p", { class: "quiet" }, explorer.t("tensors.lens-help")),
      data.lens ? lens(explorer, trace, data.lens) : h("p", null, explorer.t("tensors.lens-missing"))));
}

/** @param {number[]} values */
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / (values.length || 1);

/** @param {Explorer} explorer @param {Trace} trace @param {"encoder" | "decoder"} stack @param {Stage[]} stages */
function norms(explorer, trace, stack, stages) {
  const isDecoder = stack === "decoder";
  const row = explorer.row(trace.rows.length);
  const series = [{ points: /** @type {[number, number][]} */ (stages.map(({ norms: own }, place) => [place, mean(own)])), form: /** @type {"both"} */ ("both"), kind: "main" }];
  if (isDecoder) series.push({ points: stages.map(({ norms: own }, place) => [place, own[row]]), form: "both", kind: "second" });
  const { reads, writes } = trace.sentence;
  return h("div", null,
    h("h3", null, explorer.t(`tensors.norms.${stack}`)),
    chart({ label: explorer.t(`tensors.norms.${stack}`), series, xAxis: explorer.t("tensors.stage"), yAxis: explorer.t("tensors.length"), xText: (place) => String(place) }),
    h("p", { class: "chart-key" }, h("span", { class: "key main" }), ` ${explorer.t("tensors.norms.mean")}`,
      isDecoder ? [" ", h("span", { class: "key second" }), ` ${reads[row]} → ${writes[row]}`] : null),
    h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": explorer.t(`tensors.norms.${stack}`) }, h("table", { class: "norms-table" },
      h("thead", null, h("tr", null, h("th", { scope: "col" }, "#"), h("th", { scope: "col" }, explorer.t("tensors.norms.mean")),
        isDecoder ? h("th", { scope: "col" }, `${reads[row]} → ${writes[row]}`) : null, h("th", { scope: "col" }, explorer.t("tensors.name")))),
      h("tbody", null, stages.map(({ name, norms: own }, place) => h("tr", null, h("td", { class: "quiet" }, place),
        h("td", null, fixed(mean(own), 3)), isDecoder ? h("td", null, fixed(own[row], 3)) : null,
        h("th", { scope: "row" }, h("a", { href: explorer.address({ tab: "", name, at: "", show: "" }), "data-key": `stage:${name}` }, h("code", null, name)))))))));
}

/** @param {Explorer} explorer @param {Trace} trace @param {any} found */
function lens(explorer, trace, found) {
  const row = explorer.row(trace.rows.length);
  const { writes } = trace.sentence;
  return h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": explorer.t("tensors.lens") }, h("table", { class: "lens" },
    h("thead", null, h("tr", null, h("th", { scope: "col" }, explorer.t("tensors.lens.row")),
      found.layers.map((/** @type {any} */ layer, /** @type {number} */ number) => h("th", { scope: "col" },
        explorer.t("layer.one", { layer: number + 1, of: found.layers.length }), h("br"), h("code", null, layer.name))))),
    h("tbody", null, trace.rows.map((own, place) => h("tr", { class: place === row ? "chosen" : null },
      h("th", { scope: "row" }, `${own.reads} → ${own.writes}`),
      found.layers.map((/** @type {any} */ layer) => h("td", null,
        h("ol", { class: "lens-pieces" }, layer.rows[place].map((/** @type {[string, number]} */ [piece, share]) => h("li", { class: piece === writes[place] ? "hit" : null, style: `--share: ${(100 * share).toFixed(1)}%` },
          h("span", { class: "lens-piece" }, piece === writes[place] ? `✓ ${piece}` : piece), h("span", { class: "number" }, percent(share))))))))))));
}

