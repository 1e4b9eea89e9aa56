// @ts-check
/**
 * One attention as it is looked at: of a head or the mean of heads, pieces merged to words or not,
 * begin and end shown or not. Each row and column of the view knows the pieces that it stands for.
 */

import { Tensor } from "app/trace.js";

/** @typedef {"encoder" | "decoder" | "cross"} Kind */
/** @typedef {import("app/trace.js").Trace} Trace */

/** @type {Kind[]} */
const KINDS = ["encoder", "decoder", "cross"];

const PARTS = {
  encoder: ["encoder", "self_attention"],
  decoder: ["decoder", "self_attention"],
  cross: ["decoder", "cross_attention"],
};

/**
 * Return the name of an attention; `*` as its layer means all.
 * @param {Kind} kind
 * @param {number | string} layer
 */
export function attentionName(kind, layer) {
  const [stack, part] = PARTS[kind];
  return `${stack}.layers.${layer}.${part}`;
}

/** Return the kinds of attention that a model has: a decoder with SSRUs has no self-attention. @param {any} model @returns {Kind[]} */
export function kindsOf(model) {
  return KINDS.filter((kind) => model.attention.some((/** @type {any} */ own) => own.kind === kind));
}

/** Return the kind that the state means. @param {string} view @param {any} model @returns {Kind} */
export function kindOf(view, model) {
  return kindsOf(model).find((kind) => kind === view) ?? "cross";
}

/** Return how many layers a kind of attention has. @param {any} model @param {Kind} kind @returns {number} */
export function layersOf(model, kind) {
  return model.sizes[kind === "encoder" ? "num_encoder_layers" : "num_decoder_layers"];
}

/**
 * Return what stands along the rows of a kind of attention: what is read and, of the target, written.
 * @param {Trace} trace
 * @param {Kind} kind
 */
export function askers({ sentence }, kind) {
  return kind === "encoder"
    ? { reads: sentence.source_pieces, writes: null }
    : { reads: sentence.reads, writes: sentence.writes };
}

/** Return the pieces that are looked at. @param {Trace} trace @param {Kind} kind */
export function keysOf({ sentence }, kind) {
  return kind === "decoder" ? sentence.reads : sentence.source_pieces;
}

/** Return the labels of the rows; of the target, `reads → writes`. @param {Trace} trace @param {Kind} kind */
export function askerLabels(trace, kind) {
  const { reads, writes } = askers(trace, kind);
  return writes ? reads.map((piece, row) => `${piece} → ${writes[row]}`) : reads;
}

/**
 * Return whether each cell may not be looked at, from the masks of the trace.
 * @param {Kind} kind
 * @param {{source: Tensor | null, target: Tensor | null}} masks
 * @returns {(query: number, key: number) => boolean}
 */
export function maskOf(kind, { source, target }) {
  if (kind === "decoder") {
    return target === null
      ? (query, key) => key > query
      : (query, key) => !target.value(...(target.shape.length === 3 ? [0, query, key] : [query, key]));
  }
  if (source === null) return () => false;
  const allowed = source.data;
  return (_, key) => !allowed[key];
}

/** Tell whether a piece only begins or ends a sentence. @param {string} piece */
export function isEnd(piece) {
  return piece === "<s>" || piece === "</s>";
}

/**
 * Return the words that pieces make: lists of their places. `▁` begins a word, as SentencePiece
 * writes it; a sign of punctuation is one of its own.
 * @param {string[]} pieces
 * @returns {number[][]}
 */
export function wordsOf(pieces) {
  if (!pieces.some((piece) => piece.startsWith("▁"))) return pieces.map((_, place) => [place]);
  /** @type {number[][]} */
  const words = [];
  pieces.forEach((piece, place) => {
    const before = pieces[place - 1];
    const isNew = place === 0 || piece.startsWith("▁") || isEnd(piece) || isEnd(before) || isSign(piece) || isSign(before);
    if (isNew && before !== "▁") words.push([place]);
    else words[words.length - 1].push(place);
  });
  return words;
}

/** @param {string} piece */
function isSign(piece) {
  return /^[\p{P}\p{S}]+$/u.test(piece) && piece !== "▁";
}

/** @param {string[]} pieces @param {number[]} word */
const join = (pieces, word) => word.map((place, part) => (part ? pieces[place].replace(/^▁/, "") : pieces[place])).join("");

/**
 * @typedef {object} View
 * @property {Tensor} tensor         what is seen: rows ask, columns are looked at
 * @property {number[][]} rows       the queries of each row
 * @property {number[][]} columns    the keys of each column
 * @property {string[]} rowLabels
 * @property {string[]} columnLabels
 * @property {(row: number, column: number) => boolean} masked
 */

/**
 * Return a view of weights of one head, (query, key).
 * @param {Trace} trace
 * @param {Kind} kind
 * @param {Tensor} weights
 * @param {(query: number, key: number) => boolean} hidden   cells behind the mask
 * @param {{merge?: boolean, ends?: boolean}} [options]
 * @returns {View}
 */
export function viewOf(trace, kind, weights, hidden, { merge = false, ends = true } = {}) {
  const { reads, writes } = askers(trace, kind);
  const named = writes ?? reads;
  const keys = keysOf(trace, kind);
  const each = (/** @type {string[]} */ pieces) => (merge ? wordsOf(pieces) : pieces.map((_, place) => [place]));
  const isShown = (/** @type {string[]} */ pieces) => (/** @type {number[]} */ word) => ends || !isEnd(pieces[word[0]]);
  const words = each(named);
  // A merged row reads the whole word before it: its last piece alone would tell nobody much.
  const before = (/** @type {number[]} */ word) => {
    const place = words.indexOf(word);
    return merge && place > 0 ? join(named, words[place - 1]) : reads[word[0]];
  };
  const rows = words.filter(isShown(named));
  const columns = each(keys).filter(isShown(keys));
  const data = new Float32Array(rows.length * columns.length);
  rows.forEach((queries, row) => columns.forEach((group, column) => {
    let sum = 0;
    for (const query of queries) for (const key of group) sum += weights.data[query * keys.length + key];
    data[row * columns.length + column] = sum / queries.length;
  }));
  return {
    tensor: new Tensor(weights.name, [rows.length, columns.length], ["query", "key"], data),
    rows,
    columns,
    rowLabels: rows.map((word) => (writes ? `${before(word)} → ${join(writes, word)}` : join(reads, word))),
    columnLabels: columns.map((word) => join(keys, word)),
    masked: (row, column) => rows[row].every((query) => columns[column].every((key) => hidden(query, key))),
  };
}

/**
 * Return where a query or a key is among rows or columns; where it is not shown, the nearest one.
 * @param {number[][]} groups
 * @param {number} place
 */
export function groupAt(groups, place) {
  const found = groups.findIndex((group) => group.includes(place));
  return found >= 0 ? found : Math.max(0, groups.findIndex((group) => group[0] >= place));
}

/**
 * Return the place of a cell as Python writes it: plain indices where nothing is merged.
 * @param {View} view
 * @param {number} row
 * @param {number} column
 * @param {number} head   -1 is the mean
 */
export function placeOf(view, row, column, head) {
  const index = (/** @type {number[]} */ group) => (group.length === 1 ? String(group[0]) : `[${group.join(", ")}]`);
  const parts = [`query=${index(view.rows[row])}`, `key=${index(view.columns[column])}`];
  return (head >= 0 ? [`head=${head}`, ...parts] : parts).join(", ");
}

/**
 * Return the key that is chosen, of so many: the one of the address, or that with the largest weight.
 * @param {import("app/explorer.js").Explorer} explorer
 * @param {ArrayLike<number>} row   weights of the chosen query
 */
export function chosenKey(explorer, row) {
  const { k } = explorer.state;
  if (k >= 0) return Math.min(row.length - 1, k);
  return Array.from(row).reduce((best, weight, key) => (weight > row[best] ? key : best), 0);
}

/** @type {WeakSet<import("app/explorer.js").Explorer>} */
const FOLLOWED = new WeakSet();

/**
 * Let the row of the matrix follow the step that is chosen in the strip of the translation: in both
 * attentions of the decoder they are the same.
 * @param {import("app/explorer.js").Explorer} explorer
 */
export function followRow(explorer) {
  if (FOLLOWED.has(explorer)) return;
  FOLLOWED.add(explorer);
  const own = ["attention", "hand"];
  explorer.store.listen((state, before) => {
    if (!own.includes(state.screen) || state.screen === "hand" && state.tab !== "" || kindOf(state.view, explorer.model) === "encoder" || state.t === state.q) return;
    if (state.q !== before.q) return;
    const isNew = !own.includes(before.screen) || before.view !== state.view;
    if (state.t !== before.t || isNew) explorer.go({ q: state.t });
  });
}
