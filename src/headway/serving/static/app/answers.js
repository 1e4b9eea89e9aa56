// @ts-check
/**
 * The answers of the ten lessons, computed from the model and never typed in.
 *
 * The sentence is the model's first example (`GET /api/model`, `examples[0]`); a model without
 * examples takes the sentence of the page. The trace is that of a search with the beam 4 and the
 * model's own length penalty: `trace`. H, d_k, d_v, d_model, N_d (decoder layers) are the model's
 * sizes, S the pieces of the source with `</s>`, T the rows of the target; all indices are
 * zero-based; `argmax` is the first of the largest.
 *
 *  1 `pieces`      S * d_model: how many numbers enter the first layer of the encoder.
 *  2 `embedding`   scaled[0, i] / sqrt(d_model) for i = argmax |scaled[0]|, scaled being
 *                  `source_embedding.scaled`; where the model does not scale (config
 *                  scale_embeddings false), scaled[0, i].
 *  3 `position`    `source_embedding.output`[p, 1] for p = min(2, S - 1).
 *  4 `cell`        `encoder.layers.0.self_attention.weights`[0, 0, k] for k = its argmax over keys.
 *  5 `mask`        `decoder.layers.0.self_attention.weights`[h, t, t] for t = min(1, T - 1) and
 *                  h the first head whose weight there is nearest to 0.5.
 *  6 `heads`       `encoder.layers.0.self_attention.concat`[0, h * d_v + i] for h = min(1, H - 1)
 *                  and i = argmax |`encoder.layers.0.self_attention.heads`[h, 0]|.
 *  7 `memory`      2 * N_d * H * S * d_k when d_k = d_v: how many numbers all
 *                  `decoder.layers.*.cross_attention.k` and `.v` have together.
 *  8 `shifted`     the product over t in {1, 2}, of those below T (t = 0 where T = 1), of
 *                  `probabilities`[t, id of the piece that row t writes].
 *  9 `cross`       the mean over heads of `decoder.layers.{N_d - 1}.cross_attention.weights`[:, t, s]
 *                  for t = min(2, T - 1) and s = argmax of that mean over the source.
 * 10 `beam`        of the search (beam 4, the model's own length penalty): the score of node
 *                  ranking[1], or of ranking[0] where only one finished: its total divided by
 *                  ((5 + step) / 6) ** length_penalty.
 */

import { mathText } from "app/mathematics.js";
import { fixed } from "app/numbers.js";

/** @typedef {import("app/explorer.js").Explorer} Explorer */
/** @typedef {import("app/trace.js").Trace} Trace */
/** @typedef {import("app/trace.js").Tensor} Tensor */

/**
 * @typedef {object} Answer
 * @property {number} value
 * @property {Record<string, string | number>} facts   what the question says
 * @property {[string, string][]} work                 name or nothing, and arithmetic, line by line
 * @property {{value: number, key: string}[]} mistakes what is answered by those who slip, with the text that says so
 * @property {Partial<import("app/address.js").State>} state  what `show me` opens
 * @property {{head: string[], rows: string[][]} | null} [table]  numbers that the question gives
 *
 * @typedef {object} Lesson
 * @property {string} id
 * @property {(explorer: Explorer) => Promise<Answer>} answer
 */

export const TOLERANCE = 0.005;

/** Return the sentence of the lessons; "" where there is none. @param {Explorer} explorer */
export function sentenceOf(explorer) {
  if (!explorer.backend.interactive) return explorer.state.src;
  return explorer.model.examples[0] ?? explorer.sentence;
}

/** Return the search of the lessons, as a body for the program. @param {Explorer} explorer */
export function request(explorer) {
  const { model } = explorer.state;
  return { source: sentenceOf(explorer), beam: 4, ...(model ? { model } : {}) };
}

/** Return the trace of the lessons. @param {Explorer} explorer @returns {Promise<Trace>} */
export function traceOf(explorer) {
  return explorer.backend.interactive ? explorer.traceFound(request(explorer)) : explorer.trace();
}

/** @param {Explorer} explorer */
async function recordOf(explorer) {
  if (!explorer.backend.interactive) return (await explorer.search()).record;
  return (await explorer.searchFor(request(explorer))).record;
}

/** @param {ArrayLike<number>} values @param {(value: number) => number} [key] */
function argmax(values, key = (value) => value) {
  let best = 0;
  for (let place = 1; place < values.length; place += 1) if (key(values[place]) > key(values[best])) best = place;
  return best;
}

/** @param {ArrayLike<number>} one @param {ArrayLike<number>} other */
function dot(one, other) {
  let sum = 0;
  for (let place = 0; place < one.length; place += 1) sum += one[place] * other[place];
  return sum;
}

/** @param {ArrayLike<number>} scores */
const powers = (scores) => Array.from(scores, (score) => Math.exp(score));
/** @param {number[]} values */
const total = (values) => values.reduce((sum, value) => sum + value, 0);

/** @param {Explorer} explorer @returns {Promise<Answer>} */
async function pieces(explorer) {
  const { d_model: width } = explorer.model.sizes;
  const { sentence } = await traceOf(explorer);
  const many = sentence.source_pieces.length;
  return {
    value: many * width, facts: { width }, state: { screen: "translate" },
    work: [["source_embedding.output", `(${many}, ${width})`], ["", `${many} × ${width} = ${many * width}`]],
    mistakes: [{ value: (many - 1) * width, key: "lessons.1.mistake" }],
  };
}

/** @param {Explorer} explorer @returns {Promise<Answer>} */
async function embedding(explorer) {
  const { d_model: width } = explorer.model.sizes;
  const root = explorer.model.config?.scale_embeddings === false ? 1 : Math.sqrt(width);
  const trace = await traceOf(explorer);
  const row = (await trace.tensor("source_embedding.scaled")).part(0).data;
  const dim = argmax(row, Math.abs);
  const value = row[dim] / root;
  return {
    value, facts: { piece: trace.sentence.source_pieces[0], dim, scaled: fixed(row[dim], 4), width },
    state: { screen: "tensors", name: "source_embedding.scaled", at: `source:0,d_model:${dim}` },
    work: [["source_embedding.scaled", fixed(row[dim], 4)], ["", root === 1 ? `${mathText("√1")} = 1` : `${mathText(`√${width}`)} = ${fixed(root, 4)}`], ["", `${fixed(row[dim], 4)} / ${fixed(root, 4)} = ${fixed(value, 4)}`]],
    mistakes: [{ value: row[dim] * root, key: "lessons.2.mistake" }, { value: row[dim] / width, key: "lessons.2.mistake-root" }],
  };
}

/** @param {Explorer} explorer @returns {Promise<Answer>} */
async function position(explorer) {
  const trace = await traceOf(explorer);
  const parts = await Promise.all(["scaled", "position", "output"].map((part) => trace.tensor(`source_embedding.${part}`)));
  const pos = Math.min(2, trace.sentence.source_pieces.length - 1);
  const [scaled, own, value] = parts.map((part) => part.value(pos, 1));
  return {
    value, facts: { piece: trace.sentence.source_pieces[pos], pos, scaled: fixed(scaled, 4) },
    state: { screen: "position", pos, dim: 1 },
    work: [["source_embedding.position", `[${pos}, 1] = ${fixed(own, 4)}`], ["source_embedding.output", `${fixed(scaled, 4)} + ${fixed(own, 4)} = ${fixed(value, 4)}`]],
    mistakes: [{ value: scaled + parts[1].value(Math.max(0, pos - 1), 1), key: "lessons.3.mistake" }, { value: own, key: "lessons.3.mistake-sum" }],
  };
}

/** @param {Explorer} explorer @returns {Promise<Answer>} */
async function cell(explorer) {
  const trace = await traceOf(explorer);
  const name = "encoder.layers.0.self_attention";
  const [q, k, scores, weights] = await Promise.all(["q", "k", "scores", "weights"].map((part) => trace.tensor(`${name}.${part}`)));
  const row = weights.part(0, 0).data;
  const key = argmax(row);
  const product = dot(q.part(0, 0).data, k.part(0, key).data);
  const exponentials = powers(scores.part(0, 0).data);
  const sum = total(exponentials);
  const { d_k: width } = explorer.model.sizes;
  const score = product / Math.sqrt(width);
  const { source_pieces: source } = trace.sentence;
  return {
    value: row[key], facts: { product: fixed(product, 4), width, sum: sum.toPrecision(7), asks: source[0], looked: source[key] },
    state: { screen: "hand", view: "encoder", l: 0, h: 0, q: 0, k: key },
    work: [[`${name}.scores`, `${fixed(product, 4)} / ${mathText(`√${width}`)} = ${fixed(score, 4)}`], ["", `exp(${fixed(score, 4)}) = ${Math.exp(score).toPrecision(7)}`], [`${name}.weights`, `${Math.exp(score).toPrecision(7)} / ${sum.toPrecision(7)} = ${fixed(row[key], 4)}`]],
    mistakes: [{ value: score, key: "lessons.4.mistake-score" }, { value: Math.exp(product) / sum, key: "lessons.4.mistake-root" }],
  };
}

/** @param {Explorer} explorer @returns {Promise<Answer>} */
async function mask(explorer) {
  const trace = await traceOf(explorer);
  const name = "decoder.layers.0.self_attention";
  const [scores, weights] = await Promise.all(["scores", "weights"].map((part) => trace.tensor(`${name}.${part}`)));
  const t = Math.min(1, trace.rows.length - 1);
  const own = Array.from({ length: weights.shape[0] }, (_, head) => weights.value(head, t, t));
  const head = argmax(own, (weight) => -Math.abs(weight - 0.5));
  const row = Array.from(scores.part(head, t).data);
  const seen = powers(row.slice(0, t + 1));
  const { reads } = trace.sentence;
  return {
    value: own[head], facts: { row: t + 1, reads: reads[t], head: head + 1 },
    state: { screen: "attention", view: "decoder", l: 0, h: head, t, q: t, k: t },
    table: { head: reads, rows: [row.map((score) => fixed(score, 4))] },
    work: [["target_mask", `key ≤ ${t}`], ["", `exp(${fixed(row[t], 4)}) = ${seen[t].toPrecision(6)}`], ["", `${seen.map((value) => value.toPrecision(6)).join(" + ")} = ${total(seen).toPrecision(6)}`], [`${name}.weights`, `${seen[t].toPrecision(6)} / ${total(seen).toPrecision(6)} = ${fixed(own[head], 4)}`]],
    mistakes: [{ value: powers(row)[t] / total(powers(row)), key: "lessons.5.mistake" }],
  };
}

/** @param {Explorer} explorer @returns {Promise<Answer>} */
async function heads(explorer) {
  const trace = await traceOf(explorer);
  const name = "encoder.layers.0.self_attention";
  const [weights, v, found, concat] = await Promise.all(["weights", "v", "heads", "concat"].map((part) => trace.tensor(`${name}.${part}`)));
  const head = Math.min(1, weights.shape[0] - 1);
  const width = v.shape[2];
  const place = argmax(found.part(head, 0).data, Math.abs);
  const column = head * width + place;
  const row = Array.from(weights.part(head, 0).data);
  const values = row.map((_, key) => v.value(head, key, place));
  const value = concat.value(0, column);
  const { source_pieces: source } = trace.sentence;
  return {
    value, facts: { column, head: head + 1, width, place, piece: source[0] },
    state: { screen: "tensors", name: `${name}.heads`, at: `head:${head},query:0,d_v:${place}` },
    table: { head: source, rows: [row.map((own) => fixed(own, 4)), values.map((own) => fixed(own, 4))] },
    work: [["", `${column} = ${head} × ${width} + ${place}`], [`${name}.heads`, row.map((own, key) => `${fixed(own, 4)} × ${values[key] < 0 ? `(${fixed(values[key], 4)})` : fixed(values[key], 4)}`).join(" + ") + ` = ${fixed(value, 4)}`], [`${name}.concat`, `[0, ${column}] = ${fixed(value, 4)}`]],
    mistakes: [{ value: total(values) / values.length, key: "lessons.6.mistake" }, { value: total(values), key: "lessons.6.mistake-sum" }],
  };
}

/** @param {Explorer} explorer @returns {Promise<Answer>} */
async function memory(explorer) {
  const { num_decoder_layers: layers, num_heads: many, d_k: keys, d_v: values } = explorer.model.sizes;
  const trace = await traceOf(explorer);
  const length = trace.sentence.source_pieces.length;
  const entries = [...trace.tensors.values()].filter((entry) => /^decoder\.layers\.\d+\.cross_attention\.[kv]$/.test(entry.name));
  const value = total(entries.map((entry) => entry.shape.reduce((product, own) => product * own, 1)));
  return {
    value, facts: { layers, heads: many, length, keys, values, rows: trace.rows.length },
    state: { screen: "translate" },
    work: [["decoder.layers.*.cross_attention.k", `${layers} × ${many} × ${length} × ${keys}`], ["decoder.layers.*.cross_attention.v", `${layers} × ${many} × ${length} × ${values}`], ["", `${layers} × ${many} × ${length} × (${keys} + ${values}) = ${value}`]],
    mistakes: [{ value: value * trace.rows.length, key: "lessons.7.mistake" }, { value: value / 2, key: "lessons.7.mistake-half" }, { value: value / layers, key: "lessons.7.mistake-layers" }],
  };
}

/** @param {Explorer} explorer @returns {Promise<Answer>} */
async function shifted(explorer) {
  const { rows } = await traceOf(explorer);
  const chosen = rows.length === 1 ? [0] : [1, 2].filter((t) => t < rows.length);
  const shares = chosen.map((t) => rows[t].probability);
  const value = shares.reduce((product, share) => product * share, 1);
  const one = Math.max(0, chosen[0] - 1);
  return {
    value, facts: { before: rows[chosen[0]].reads, pieces: chosen.map((t) => rows[t].writes).join(" ") },
    state: { screen: "translate", t: chosen[0] },
    work: [...chosen.map((t) => /** @type {[string, string]} */ (["", `p(${rows[t].reads} → ${rows[t].writes}) = ${fixed(rows[t].probability, 4)}`])), ["probabilities", `${shares.map((share) => fixed(share, 4)).join(" × ")} = ${fixed(value, 4)}`]],
    mistakes: [{ value: chosen.reduce((product, t) => product * rows[t - 1 < 0 ? 0 : t - 1].probability, 1), key: "lessons.8.mistake" }, { value: value * rows[one].probability, key: "lessons.8.mistake-given" }, { value: total(shares), key: "lessons.8.mistake-sum" }],
  };
}

/** @param {Explorer} explorer @returns {Promise<Answer>} */
async function cross(explorer) {
  const layer = explorer.model.sizes.num_decoder_layers - 1;
  const trace = await traceOf(explorer);
  const name = `decoder.layers.${layer}.cross_attention.weights`;
  const weights = await trace.tensor(name);
  const t = Math.min(2, trace.rows.length - 1);
  const mean = weights.mean().part(t).data;
  const source = argmax(mean);
  const own = Array.from({ length: weights.shape[0] }, (_, head) => weights.value(head, t, source));
  return {
    value: mean[source],
    facts: { reads: trace.rows[t].reads, writes: trace.rows[t].writes, layer: layer + 1, heads: own.length, row: t + 1 },
    state: { screen: "attention", view: "cross", l: layer, h: 0, t, q: t, k: source },
    work: [["", trace.sentence.source_pieces[source]], [name, own.map((weight) => fixed(weight, 4)).join(", ")], ["", `(${own.map((weight) => fixed(weight, 4)).join(" + ")}) / ${own.length} = ${fixed(mean[source], 4)}`]],
    mistakes: [{ value: Math.max(...own), key: "lessons.9.mistake" }, { value: total(own), key: "lessons.9.mistake-sum" }],
  };
}

/** @param {Explorer} explorer @returns {Promise<Answer>} */
async function beam(explorer) {
  const record = await recordOf(explorer);
  const number = record.ranking[Math.min(1, record.ranking.length - 1)];
  const node = record.nodes[number];
  const { length_penalty: alpha } = record.options;
  const divisor = (/** @type {number} */ length) => ((5 + length) / 6) ** alpha;
  const written = [];
  for (let at = node; at.parent !== null && at.parent !== undefined; at = record.nodes[at.parent]) written.unshift(at.piece ?? "");
  return {
    value: node.score, facts: { text: written.join(" "), total: fixed(node.total, 4), length: node.step, alpha, rank: Math.min(2, record.ranking.length) },
    state: { screen: "tree", node: number },
    work: [["", `${mathText(`((5 + ${node.step}) / 6)^${alpha}`)} = ${fixed(divisor(node.step), 4)}`], [`record.nodes[${number}].score`, `${fixed(node.total, 4)} / ${fixed(divisor(node.step), 4)} = ${fixed(node.score, 4)}`]],
    mistakes: [{ value: node.total / divisor(node.step - 1), key: "lessons.10.mistake" }, { value: node.total * divisor(node.step), key: "lessons.10.mistake-times" }, { value: node.total / node.step, key: "lessons.10.mistake-plain" }],
  };
}

/** @type {Lesson[]} */
export const LESSONS = [
  { id: "pieces", answer: pieces }, { id: "embedding", answer: embedding }, { id: "position", answer: position },
  { id: "cell", answer: cell }, { id: "mask", answer: mask }, { id: "heads", answer: heads }, { id: "memory", answer: memory },
  { id: "shifted", answer: shifted }, { id: "cross", answer: cross }, { id: "beam", answer: beam },
];

/**
 * Read a number as people type it: 4,608 and 0.93, 93 % and −0.5.
 * @param {string} typed
 */
export function readNumber(typed) {
  const text = typed.trim().replace(/[−–]/g, "-").replace(/\s/g, "");
  const share = text.endsWith("%");
  const plain = share ? text.slice(0, -1) : text;
  if (plain === "") return NaN;
  const number = Number(/^-?\d{1,3}(,\d{3})+$/.test(plain) ? plain.replace(/,/g, "") : plain.replace(",", "."));
  return share ? number / 100 : number;
}

/**
 * Judge what was typed: right, or the text that says what went wrong where that is known.
 * @param {Answer} answer
 * @param {number} typed
 * @returns {{right: boolean, key: string | null}}
 */
export function judge(answer, typed) {
  const near = (/** @type {number} */ value) => Math.abs(typed - value) <= TOLERANCE + 1e-9;
  if (near(answer.value)) return { right: true, key: null };
  const slips = [...answer.mistakes, { value: -answer.value, key: "lessons.mistake-sign" }, { value: 100 * answer.value, key: "lessons.mistake-percent" }];
  return { right: false, key: slips.find((slip) => near(slip.value))?.key ?? null };
}
