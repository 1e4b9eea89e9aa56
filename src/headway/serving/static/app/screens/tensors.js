// @ts-check
/** Every tensor of the pass: found on the map of Figure 1, seen as a heat map, worked out cell by cell. */

import { blocksOf, inLayer, namesOf } from "app/blocks.js";
import { h } from "app/dom.js";
import { figureOne } from "app/figure-one.js";
import { layersView, stagesOf } from "app/layers-view.js";
import { choice, heading, select } from "app/parts.js";
import { traceLines } from "app/python.js";
import { axesOf, maskOf, readPlaces, seenPart, statisticsOf, wholePlace } from "app/tensor-parts.js";
import { shapeOf, tensorView } from "app/tensor-view.js";

/** @typedef {import("app/explorer.js").Explorer} Explorer */
/** @typedef {import("app/blocks.js").Block} Block */
/** @typedef {import("app/trace.js").Trace} Trace */

const FIRST = "encoder.self_attention"; // the block that is open before one is chosen

/** @param {Explorer} explorer */
function blocks(explorer) {
  const isPre = explorer.model.norm_position === "pre";
  const past = explorer.model.config.decoder_past;
  return { encoder: blocksOf("encoder", isPre, past), decoder: blocksOf("decoder", isPre, past) };
}

/**
 * Return what is open: the block, its layer, and the tensor where one is chosen.
 * @param {Explorer} explorer @param {Trace} trace
 */
function opened(explorer, trace) {
  const { encoder, decoder } = blocks(explorer);
  const all = [...encoder, ...decoder];
  const { name, show } = explorer.state;
  const entry = trace.tensors.get(name) ?? null;
  const block = all.find((own) => own.id === show && (!entry || own.names.test(name)))
    ?? (entry && all.find((own) => own.names.test(name))) ?? all.find((own) => own.id === show) ?? all.find((own) => own.id === FIRST) ?? all[0];
  const number = /\.layers\.(\d+)\./.exec(entry?.name ?? "")?.[1];
  const stack = encoder.includes(block) ? "encoder" : "decoder";
  const layer = number === undefined ? explorer.layer(explorer.model.sizes[`num_${stack}_layers`]) : Number(number);
  return { block, entry, layer, encoder, decoder };
}

/** @param {Explorer} explorer */
async function load(explorer) {
  const trace = await explorer.trace();
  if (explorer.state.tab === "layers") {
    const { num_encoder_layers: below, num_decoder_layers: above } = explorer.model.sizes;
    const [encoder, decoder, lens] = await Promise.all([stagesOf(trace, "encoder", below), stagesOf(trace, "decoder", above),
      explorer.backend.has("lens") ? explorer.ask("lens", trace.id, () => trace.again(() => trace.backend.lens(trace.id))) : null]);
    return { trace, layers: { encoder, decoder, lens } };
  }
  const { entry } = opened(explorer, trace);
  return { trace, seen: entry ? await see(explorer, trace, entry) : null };
}

/**
 * Get what is seen of one tensor.
 * @param {Explorer} explorer @param {Trace} trace @param {import("app/network.js").TensorEntry} entry
 * @returns {Promise<import("app/tensor-view.js").Seen>}
 */
async function see(explorer, trace, entry) {
  const places = readPlaces(explorer.state.at, entry);
  const { backend } = explorer;
  const { name } = entry;
  const where = wholePlace(entry, places);
  const isVocabulary = axesOf(entry).columns === "vocabulary";
  const [part, masked, statistics, explanation, vocabulary] = await Promise.all([
    seenPart(trace, entry, places),
    maskOf(trace, entry, places),
    backend.has("statistics") ? explorer.ask("statistics", [trace.id, name], () => trace.again(() => trace.backend.statistics(trace.id, name))) : trace.tensor(name).then(statisticsOf),
    backend.has("explain") && where ? explorer.ask("explain", [trace.id, name, explorer.language, where], () => trace.again(() => trace.backend.explain(trace.id, name, explorer.language, where)))
      .catch((error) => ({ refusal: error })) : null,
    backend.has("vocabulary") && isVocabulary ? explorer.ask("vocabulary", explorer.model.name, () => trace.backend.vocabulary(explorer.model.name)).then((answer) => answer.target, () => null) : null,
  ]);
  return { entry, places, part, masked, statistics, explanation, vocabulary };
}

/** @param {Explorer} explorer @param {any} data */
function render(explorer, { trace, seen, layers }) {
  const tabs = choice(explorer.t("tensors.view"), [["", explorer.t("tensors.view.map")], ["layers", explorer.t("tensors.view.layers")]],
    explorer.state.tab === "layers" ? "layers" : "", (tab) => explorer.go({ tab }, { remember: true }));
  const open = opened(explorer, trace);
  return h("div", { class: "tensors" },
    heading(explorer.t("screen.tensors"), explorer.t("tensors.sentence", { count: trace.tensors.size })), tabs,
    layers ? layersView(explorer, trace, layers) : h("div", { class: "tensors-desk" },
      map(explorer, open),
      h("div", { class: "tensors-side" }, list(explorer, trace, open),
        seen ? tensorView(explorer, trace, seen) : h("p", { class: "quiet" }, explorer.t("tensors.choose-name")))));
}

/** @param {Explorer} explorer @param {ReturnType<typeof opened>} open */
function map(explorer, { block, layer, encoder, decoder, entry }) {
  const { sizes } = explorer.model;
  const words = (/** @type {Block} */ own) => explorer.t(`tensors.block.${own.word}`);
  const most = Math.max(sizes.num_encoder_layers, sizes.num_decoder_layers);
  const layers = /** @type {[number, string][]} */ (Array.from({ length: most }, (_, number) => [number, explorer.t("layer.one", { layer: number + 1, of: most })]));
  const times = (/** @type {"encoder" | "decoder"} */ stack) => {
    const of = sizes[`num_${stack}_layers`];
    return explorer.t(`tensors.times.${stack}`, { of, layer: Math.min(layer, of - 1) + 1 });
  };
  return h("div", { class: "tensors-map panel" },
    select(explorer.t("tensors.layer"), layers, layer, (value) => {
      const chosen = Number(value);
      const name = entry ? inLayer(entry.name, Math.min(chosen, stackSize(explorer, entry.name) - 1)) : "";
      explorer.go({ l: chosen, name });
    }),
    h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": explorer.t("tensors.map"), "data-key": "tensors-map" }, figureOne({
      encoder, decoder, chosen: block.id, words,
      address: (own) => explorer.address({ show: own.id, name: "", at: "", l: layer }),
      texts: {
        label: explorer.t("tensors.map"), inputs: explorer.t("tensors.inputs"), outputs: explorer.t("tensors.outputs"),
        probabilities: explorer.t("tensors.output-probabilities"), encoder: times("encoder"), decoder: times("decoder"),
      },
    })));
}

/** @param {Explorer} explorer @param {string} name */
function stackSize(explorer, name) {
  return explorer.model.sizes[name.startsWith("encoder") ? "num_encoder_layers" : "num_decoder_layers"];
}

/** The names of the open block. @param {Explorer} explorer @param {Trace} trace @param {ReturnType<typeof opened>} open */
function list(explorer, trace, { block, layer, entry }) {
  const names = namesOf(block, trace.tensors.keys(), layer);
  return h("section", { class: "panel", "aria-labelledby": "block-title" },
    h("h2", { id: "block-title" }, explorer.t(`tensors.block.${block.word}`), block.inLayer ? h("span", { class: "quiet" }, ` · ${explorer.t("layer.one", { layer: layer + 1, of: stackSize(explorer, block.id) })}`) : null),
    h("p", { class: "quiet" }, explorer.t(`tensors.about.${block.word}`)),
    h("ul", { class: "tensors-names" }, names.map((name) => {
      const own = /** @type {import("app/network.js").TensorEntry} */ (trace.tensors.get(name));
      const tell = () => explorer.about({ name });
      return h("li", null, h("a", {
        href: explorer.address({ name, show: block.id, at: "", l: layer }), "data-key": `name:${name}`, "aria-current": entry?.name === name ? "true" : null,
        onmouseenter: tell, onfocus: tell,
      }, h("code", null, name)), h("span", { class: "quiet number" }, shapeOf(own), own.derived ? ` · ${explorer.t("tensors.derived")}` : ""));
    })));
}

/** @param {Explorer} explorer @param {any} data */
function python(explorer, { trace, seen }) {
  const lines = traceLines(explorer, trace);
  if (!seen) return [...lines, `print(trace)`].join("\n");
  const { entry, places } = seen;
  const name = JSON.stringify(entry.name);
  const slice = pairs(axesOf(entry).fixed.map((axis) => [axis, places[axis] ?? 0]));
  lines.push(`print(trace[${name}]${slice ? `.at(${slice})` : ""})`);
  const where = wholePlace(entry, places);
  if (where) lines.push(`print(trace.explain(${name}, ${pairs(Object.entries(where))}))`);
  return lines.join("\n");
}

/** @param {Explorer} explorer @param {any} data @returns {import("app/about.js").Subject} */
function subject(explorer, { trace, seen, layers }) {
  if (layers) return { name: "decoder.layers.*.output" };
  if (!seen) {
    const { block, layer } = opened(explorer, trace);
    return { name: namesOf(block, trace.tensors.keys(), layer)[0] };
  }
  const where = wholePlace(seen.entry, seen.places);
  return { name: seen.entry.name, place: where ? pairs(Object.entries(where)) : undefined };
}

/** Return places as Python writes them. @param {[string, number][]} places */
const pairs = (places) => places.map(([axis, place]) => `${axis}=${place}`).join(", ");

/** @param {Explorer} explorer @param {any} data */
function figure(explorer, { seen }) {
  return seen && seen.entry.name.endsWith(".weights") ? seen.entry.name : null;
}

/** @type {import("app/explorer.js").Screen} */
export const tensors = { id: "tensors", load, render, python, subject, figure };
