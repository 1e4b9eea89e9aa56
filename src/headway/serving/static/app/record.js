// @ts-check
/** The record of a search: paths, texts and fates. All numbers in it are the search's own. */

/**
 * @typedef {object} Candidate
 * @property {string} piece
 * @property {number} piece_id
 * @property {number} probability
 * @property {"kept" | "finished" | "pruned" | "forbidden"} fate
 * @property {number | null} log_prob
 * @property {number | null} total
 * @property {number | null} rank
 * @property {number | null} node
 *
 * @typedef {{node: number, candidates: Candidate[], other_pieces: number, other_probability: number}} Expansion
 *
 * @typedef {object} RecordNode
 * @property {number} number
 * @property {number | null} parent
 * @property {number} step
 * @property {string | null} piece
 * @property {number | null} piece_id
 * @property {number} log_prob
 * @property {number} total
 * @property {"kept" | "finished"} fate
 * @property {number | null} score
 * @property {boolean} complete
 *
 * @typedef {object} SearchRecord
 * @property {string[]} source_pieces
 * @property {number} vocabulary_size
 * @property {any} options
 * @property {RecordNode[]} nodes
 * @property {Expansion[][]} steps
 * @property {number[]} ranking
 * @property {{text: string, score: number, complete: boolean}} translation
 */

const SPECIAL = /^<(?!0x)[^<>]+>$/;
const BYTE = /^<0x([0-9A-F]{2})>$/;

/** Tell whether a piece stands for no text, as `</s>` does. @param {string} piece */
export function isSpecial(piece) {
  return SPECIAL.test(piece);
}

/**
 * Return the text that pieces make: ▁ is the space before a word, <0xEC> one byte of a character.
 * @param {string[]} pieces
 * @returns {string}
 */
export function textOf(pieces) {
  let text = "";
  /** @type {number[]} */
  let bytes = [];
  const flush = () => {
    if (bytes.length) text += new TextDecoder().decode(new Uint8Array(bytes));
    bytes = [];
  };
  for (const piece of pieces) {
    const byte = BYTE.exec(piece);
    if (byte) bytes.push(parseInt(byte[1], 16));
    else {
      flush();
      if (!isSpecial(piece)) text += piece;
    }
  }
  flush();
  return text.replace(/▁/g, " ").trim();
}

/** Return the nodes from the first piece to this one. @param {SearchRecord} record @param {number} node */
export function pathOf(record, node) {
  /** @type {RecordNode[]} */
  const found = [];
  for (let place = node; place > 0; place = record.nodes[place].parent ?? 0) found.push(record.nodes[place]);
  return found.reverse();
}

/** Return the pieces of a hypothesis, an end symbol included. @param {SearchRecord} record @param {number} node */
export function piecesOf(record, node) {
  return pathOf(record, node).flatMap(({ piece }) => (piece === null ? [] : [piece]));
}

/** Return the pieces that the search wrote, without the end symbol. @param {SearchRecord} record */
export function written(record) {
  const path = pathOf(record, record.ranking[0]);
  return path.flatMap(({ piece, fate }) => (piece === null || fate === "finished" && isSpecial(piece) ? [] : [piece]));
}

/**
 * Return what the search considered after a hypothesis; null after one that ended.
 * @param {SearchRecord} record
 * @param {number} node
 */
export function expansionOf(record, node) {
  const step = record.steps[record.nodes[node].step] ?? [];
  return step.find((expansion) => expansion.node === node) ?? null;
}

/** Return the candidate that became a node. @param {SearchRecord} record @param {number} node */
export function candidateOf(record, node) {
  const { parent } = record.nodes[node];
  if (parent === null) return null;
  return expansionOf(record, parent)?.candidates.find((own) => own.node === node) ?? null;
}

/**
 * Return the length penalty of so many pieces, as `headway.decoding.options` has it.
 * @param {any} options   of the search
 * @param {number} length   the end symbol counts
 */
export function lengthPenalty(options, length) {
  return (options.length_form === "plain" ? length : (5 + length) / 6) ** options.length_penalty;
}

/** Return the best score of what ended beneath a node; null where nothing did. @param {SearchRecord} record @param {number} node */
export function bestBelow(record, node) {
  return record.ranking.find((leaf) => leaf === node || pathOf(record, leaf).some(({ number }) => number === node)) ?? null;
}
