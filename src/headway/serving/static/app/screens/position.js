// @ts-check
/** Where in the sentence a piece stands: the encoding as a picture, its waves, and its sum with pieces. */

import { chart } from "app/chart.js";
import { rowOf } from "app/about.js";
import { formula, h } from "app/dom.js";
import { heatmap } from "app/heatmap.js";
import { mathText } from "app/mathematics.js";
import { largest } from "app/matrix.js";
import { count, fixed } from "app/numbers.js";
import { heading, slider } from "app/parts.js";
import { loadLine, traceLines } from "app/python.js";
import { scaleBar } from "app/scale.js";
import { valueOf, waveOf } from "app/sinusoid.js";
import { Tensor } from "app/trace.js";

/** @typedef {import("app/explorer.js").Explorer} Explorer */
/** @typedef {{encoding: Tensor, trace: import("app/trace.js").Trace | null, sum: {pieces: string[], scaled: Tensor, position: Tensor, output: Tensor} | null}} Data */

const POSITIONS = 64;
const NAME = "source_embedding.position";

/** @param {Explorer} explorer @returns {Promise<Data>} */
async function load(explorer) {
  const hasSentence = explorer.state.src !== "" || !explorer.backend.interactive;
  const trace = hasSentence ? await explorer.trace().catch(() => null) : null;
  const part = (/** @type {string} */ name) => /** @type {import("app/trace.js").Trace} */ (trace).tensor(`source_embedding.${name}`);
  const sum = trace && { pieces: trace.sentence.source_pieces, scaled: await part("scaled"), position: await part("position"), output: await part("output") };
  return { encoding: await encodingOf(explorer, sum?.position ?? null), trace, sum };
}

/** @param {Explorer} explorer @param {Tensor | null} fallback  that of the sentence, for a page without a program */
async function encodingOf(explorer, fallback) {
  const width = explorer.model.sizes.d_model;
  const longest = explorer.model.positional_encoding === "learned" ? explorer.model.config?.max_positions ?? POSITIONS : POSITIONS;
  try {
    const { model } = explorer.state;
    const length = Math.min(POSITIONS, longest);
    const data = await explorer.ask("position", [model, length], () => explorer.backend.position(length, model));
    return new Tensor(NAME, [data.length / width, width], ["pos", "dim"], data);
  } catch (error) {
    if (fallback === null) throw error;
    return new Tensor(NAME, fallback.shape, ["pos", "dim"], fallback.data);
  }
}

/** @param {Explorer} explorer @param {Data} data */
function placeOf(explorer, { encoding }) {
  const within = (/** @type {number} */ value, /** @type {number} */ many) => Math.max(0, Math.min(many - 1, Math.round(value)));
  return { pos: within(explorer.state.pos, encoding.shape[0]), dim: within(explorer.state.dim, encoding.shape[1]) };
}

/** @param {Explorer} explorer @param {Data} data */
function render(explorer, data) {
  const { encoding } = data;
  const [positions, width] = encoding.shape;
  const layout = explorer.model.positional_encoding;
  const place = placeOf(explorer, data);
  const panels = h("div", { class: "position-panels" });
  // While a slider moves only what depends on it is drawn; letting go writes the address.
  const draw = () => panels.replaceChildren(...[
    worked(explorer, data, place, layout), wavePanel(explorer, data, place, layout), products(explorer, data, place), pieceSum(explorer, data, place),
  ].filter((panel) => panel !== null));
  draw();
  const move = (/** @type {"pos" | "dim"} */ key, /** @type {number} */ most) => live(explorer, explorer.t(`position.${key}`), place[key], most - 1,
    (value) => { place[key] = value; draw(); }, (value) => explorer.go({ [key]: value }));
  const row = rowOf(explorer.model, NAME);
  return h("div", { class: "position" },
    heading(explorer.t("screen.position"), explorer.t(layout === "learned" ? "position.sentence-learned" : "position.sentence")),
    row ? h("div", { class: "scroll position-formula", tabindex: "0", role: "group", "aria-label": explorer.t("about.equation") }, formula(row.mathml)) : null,
    h("section", { class: "panel", "aria-labelledby": "position-picture" },
      h("h2", { id: "position-picture" }, explorer.t("position.picture", { positions, width })),
      h("p", { class: "quiet" }, explorer.t(`position.picture-help.${layout}`)),
      heatmap({
        tensor: encoding, label: explorer.t("position.picture", { positions, width }), key: "position-picture", limit: layout === "learned" ? undefined : 1,
        rows: Array.from({ length: positions }, (_, pos) => String(pos)), rowAxis: explorer.t("position.pos"), columnAxis: explorer.t("position.dim"),
        width: 1030, height: 7, tableWord: explorer.t("matrix.table-row"), chosen: [place.pos, place.dim],
        hover: (pos, dim) => explorer.about(subjectOf(encoding, pos, dim)),
        choose: (pos, dim) => explorer.go({ pos, dim }),
      }),
      scaleBar(layout === "learned" ? largest(encoding.data) : 1, layout === "learned" ? 3 : 0)),
    h("div", { class: "row position-sliders" }, move("pos", positions), move("dim", width)),
    panels);
}

/**
 * A slider that moves without the page being drawn anew under the pointer.
 * @param {Explorer} explorer @param {string} label @param {number} value @param {number} max
 * @param {(value: number) => void} move @param {(value: number) => void} done
 */
function live(explorer, label, value, max, move, done) {
  const field = slider(label, value, { min: 0, max }, (now) => {
    /** @type {HTMLElement} */ (field.querySelector("span")).textContent = `${label}: ${now}`;
    move(now);
  });
  field.querySelector("input")?.addEventListener("change", (event) => done(Number(/** @type {HTMLInputElement} */ (event.target).value)));
  return field;
}

/** @param {Explorer} explorer @param {Data} data @param {{pos: number, dim: number}} place @param {string} layout */
function worked(explorer, { encoding }, { pos, dim }, layout) {
  const value = encoding.value(pos, dim);
  const wave = waveOf(layout, dim, encoding.shape[1]);
  const title = h("h2", null, explorer.t("position.worked", { pos, dim }));
  const name = h("code", null, `${NAME}[${pos}, ${dim}]`);
  if (wave === null) return h("section", { class: "panel position-worked" }, title, h("p", null, name, " = ", h("strong", { class: "number" }, fixed(value, 6))), h("p", { class: "quiet" }, explorer.t("position.learned")));
  const at = pos + explorer.model.first_position;
  const worth = valueOf(wave, at);
  const line = (/** @type {string} */ text) => h("li", { class: "number" }, mathText(text));
  return h("section", { class: "panel position-worked" }, title,
    h("ol", { class: "position-steps" },
      line(`PE(${pos}, ${dim}) = ${wave.form}(${at} / 10000^(${wave.written}))`),
      line(`10000^(${wave.written}) = ${fixed(wave.divisor, 4)}`),
      line(`${at} / ${fixed(wave.divisor, 4)} = ${fixed(at / wave.divisor, 6)}`),
      line(`${wave.form}(${fixed(at / wave.divisor, 6)}) = ${fixed(worth, 6)}`)),
    h("p", null, explorer.t("position.model-has"), " ", name, " = ", h("strong", { class: "number" }, fixed(value, 6)), " ",
      Math.abs(worth - value) < 1e-4 ? h("span", { class: "position-equal" }, `✓ ${explorer.t("position.equal")}`) : h("span", { class: "position-unequal" }, explorer.t("position.unequal"))));
}

/** @param {Explorer} explorer @param {Data} data @param {{pos: number, dim: number}} place @param {string} layout */
function wavePanel(explorer, { encoding }, { pos, dim }, layout) {
  const [positions, width] = encoding.shape;
  const wave = waveOf(layout, dim, width);
  const own = /** @type {[number, number][]} */ (Array.from({ length: positions }, (_, at) => [at, encoding.value(at, dim)]));
  /** @type {import("app/chart.js").Series[]} */
  const series = [{ points: own, form: wave ? "dots" : "both" }];
  if (wave) series.unshift({ points: Array.from({ length: (positions - 1) * 8 + 1 }, (_, step) => [step / 8, valueOf(wave, step / 8 + explorer.model.first_position)]), kind: "faint" });
  const title = explorer.t("position.wave", { dim });
  return h("section", { class: "panel" }, h("h2", null, title),
    wave ? h("p", null, lengthInWords(explorer, wave.length, positions)) : null,
    chart({ label: title, series, xAxis: explorer.t("position.pos"), yAxis: `PE(pos, ${dim})`, y: wave ? [-1, 1] : undefined, mark: [pos, encoding.value(pos, dim)] }));
}

/** @param {Explorer} explorer @param {number} length @param {number} positions */
function lengthInWords(explorer, length, positions) {
  const words = { length: length < 100 ? fixed(length, 2) : count(Math.round(length)), times: fixed(positions / length, 1), positions };
  if (length <= positions) return explorer.t("position.short", words);
  return explorer.t(length < 8 * positions ? "position.middle" : "position.long", words);
}

/** @param {Explorer} explorer @param {Data} data @param {{pos: number, dim: number}} place */
function products(explorer, { encoding }, { pos }) {
  const [positions, width] = encoding.shape;
  const own = encoding.part(pos).data;
  const points = /** @type {[number, number][]} */ (Array.from({ length: positions }, (_, other) => {
    const vector = encoding.part(other).data;
    let sum = 0;
    for (let place = 0; place < width; place += 1) sum += own[place] * vector[place];
    return [other - pos, sum];
  }));
  const title = explorer.t("position.products", { pos });
  const isWave = explorer.model.positional_encoding !== "learned";
  return h("section", { class: "panel" }, h("h2", null, title),
    h("p", null, isWave ? explorer.t("position.products-help", { self: fixed(points[pos][1], 2), next: fixed(points[pos + 1]?.[1] ?? points[pos - 1]?.[1], 2) }) : explorer.t("position.products-learned")),
    chart({ label: title, series: [{ points, form: "both" }], xAxis: explorer.t("position.distance"), yAxis: `PE(${pos})·PE(${pos}+k)`, mark: points[pos], xText: (k) => (k > 0 ? `+${k}` : fixed(k, 0)) }));
}

/** @param {Explorer} explorer @param {Data} data @param {{pos: number, dim: number}} place */
function pieceSum(explorer, { sum }, { pos, dim }) {
  if (sum === null) return null;
  const row = Math.min(pos, sum.pieces.length - 1);
  const limit = Math.max(largest(sum.scaled.data), largest(sum.output.data));
  const parts = /** @type {const} */ (["scaled", "position", "output"]);
  const values = parts.map((part) => sum[part].value(row, dim));
  return h("section", { class: "panel position-sum" }, h("h2", null, explorer.t("position.sum")),
    h("p", null, explorer.t(row === pos ? "position.sum-help" : "position.sum-beyond", { piece: sum.pieces[row], row, dim })),
    h("p", { class: "position-line number" }, ...parts.flatMap((part, place) => [
      place ? h("span", { class: "sign" }, place === 1 ? "+" : "=") : "",
      h("span", { class: "term" }, h("strong", null, fixed(values[place], 4)), h("span", { class: "quiet" }, explorer.t(`position.part.${part}`))),
    ])),
    parts.map((part) => h("div", null, h("h3", null, explorer.t(`position.part.${part}`), " ", h("code", { class: "quiet" }, `source_embedding.${part}`)),
      heatmap({
        tensor: sum[part], label: `source_embedding.${part}`, key: `sum:${part}`, limit, rows: sum.pieces, rowAxis: explorer.t("position.piece"), columnAxis: explorer.t("position.dim"),
        width: 920, height: 18, tableWord: explorer.t("matrix.table-row"), chosen: [row, dim],
        hover: (at, column) => explorer.about({ name: `source_embedding.${part}`, place: `source=${at}, d_model=${column}`, value: fixed(sum[part].value(at, column), 6) }),
        choose: (at, column) => explorer.go({ pos: at, dim: column }),
      }))),
    scaleBar(limit, 2));
}

/** Return a number of the encoding. @param {Tensor} encoding @param {number} pos @param {number} dim */
function subjectOf(encoding, pos, dim) {
  return { name: NAME, code: `positions(${encoding.shape[0]})[${pos}, ${dim}]`, value: fixed(encoding.value(pos, dim), 6) };
}

/** @param {Explorer} explorer @param {Data} data */
function subject(explorer, data) {
  const { pos, dim } = placeOf(explorer, data);
  return subjectOf(data.encoding, pos, dim);
}

/** @param {Explorer} explorer @param {Data} data */
function python(explorer, data) {
  const { pos, dim } = placeOf(explorer, data);
  const lines = data.trace ? traceLines(explorer, data.trace) : ["import headway", "", loadLine(explorer)];
  return [...lines,
    "positions = translator.bundle.model.source_embedding.positions", `print(positions(${data.encoding.shape[0]})[${pos}, ${dim}])`,
    ...(data.trace ? ["print(trace[\"source_embedding.scaled\"] + trace[\"source_embedding.position\"])"] : [])].join("\n");
}

/** @type {import("app/explorer.js").Screen} */
export const position = { id: "position", load, render, python, subject, needsSource: () => false };
