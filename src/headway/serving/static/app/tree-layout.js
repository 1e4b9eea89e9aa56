// @ts-check
/** The tree of a search as something to draw: what was kept, what was dropped, and where it stands. */

import { candidateOf, pathOf } from "app/record.js";

/**
 * @typedef {import("app/record.js").SearchRecord} SearchRecord
 *
 * A hypothesis that lived or ended (a node of the record, with its number), or one that was looked at
 * and dropped (a ghost, numbered on from there).
 * @typedef {object} Vertex
 * @property {number} id
 * @property {number | null} parent
 * @property {number} step
 * @property {string | null} piece
 * @property {number | null} pieceId
 * @property {number | null} probability   of the piece after its prefix; null at the root
 * @property {number} logProb
 * @property {number} total
 * @property {"kept" | "finished" | "pruned"} fate
 * @property {number | null} rank
 * @property {number | null} score
 * @property {boolean} complete
 * @property {boolean} isBest   on the way to the translation
 * @property {string} name      of it in Python
 *
 * @typedef {{line: Vertex[], branches: Chain[]}} Chain   a straight line, and what leaves it
 */

/**
 * Return all vertices of a search: the record's nodes by their number, then the ghosts.
 * @param {SearchRecord} record
 * @returns {Vertex[]}
 */
export function vertices(record) {
  const best = new Set([0, ...pathOf(record, record.ranking[0]).map(({ number }) => number)]);
  const found = record.nodes.map((node) => {
    const candidate = candidateOf(record, node.number);
    return {
      id: node.number, parent: node.parent, step: node.step, piece: node.piece, pieceId: node.piece_id,
      probability: candidate?.probability ?? null, logProb: node.log_prob, total: node.total, fate: node.fate,
      rank: candidate?.rank ?? null, score: node.score, complete: node.complete, isBest: best.has(node.number),
      name: `found.nodes[${node.number}]`,
    };
  });
  return /** @type {Vertex[]} */ ([...found, ...ghosts(record)]);
}

/** @param {SearchRecord} record @returns {Vertex[]} */
function ghosts(record) {
  const dropped = record.steps.flatMap((step, number) => step.flatMap(({ node, candidates }, living) =>
    candidates.map((candidate, place) => ({ node, candidate, name: `found.steps[${number}][${living}].candidates[${place}]` }))
      .filter(({ candidate: { fate, rank } }) => fate === "pruned" && rank !== null)));
  return dropped.map(({ node, candidate, name }, place) => ({
    id: record.nodes.length + place, parent: node, step: record.nodes[node].step + 1, piece: candidate.piece, pieceId: candidate.piece_id,
    probability: candidate.probability, logProb: candidate.log_prob ?? 0, total: candidate.total ?? 0, fate: /** @type {const} */ ("pruned"),
    rank: candidate.rank, score: null, complete: false, isBest: false, name,
  }));
}

/**
 * Return the vertices to draw: all, or what lived and what was dropped beside the translation.
 * @param {Vertex[]} all
 * @param {boolean} isAll
 */
export function visible(all, isAll) {
  return all.filter(({ fate, parent }) => isAll || fate !== "pruned" || all[parent ?? 0].isBest);
}

/** Return a vertex and those before it, the root left away. @param {Vertex[]} all @param {Vertex} vertex */
export function lineage(all, vertex) {
  /** @type {Vertex[]} */
  const found = [];
  for (let own = vertex; own.parent !== null; own = all[own.parent]) found.unshift(own);
  return found;
}

/**
 * Return the tree as a straight line with branches: the way to the translation first, else the best
 * that lived.
 * @param {Vertex[]} shown
 * @returns {Chain}
 */
export function chains(shown) {
  /** @type {Map<number | null, Vertex[]>} */
  const below = new Map();
  for (const vertex of shown) below.set(vertex.parent, [...(below.get(vertex.parent) ?? []), vertex]);
  for (const list of below.values()) {
    list.sort((a, b) => Number(b.isBest) - Number(a.isBest) || Number(a.fate === "pruned") - Number(b.fate === "pruned") || b.total - a.total);
  }
  /** @param {Vertex} first @returns {Chain} */
  const chain = (first) => {
    const line = [first];
    for (let next = below.get(first.id)?.[0]; next; next = below.get(next.id)?.[0]) line.push(next);
    const branches = [...line].reverse().flatMap(({ id }) => (below.get(id) ?? []).slice(1).map(chain));
    return { line, branches };
  };
  return chain(shown[0]);
}

/**
 * Return the row of each vertex; its column is its step. A line stands as high as the columns that it
 * goes through leave it, so that no edges cross.
 * @param {Chain} root
 * @returns {{rows: Map<number, number>, height: number, width: number}}
 */
export function arrange(root) {
  /** @type {number[]} */
  const free = [];
  const rows = new Map();
  /** @param {Chain} chain @param {number} wanted */
  const lay = ({ line, branches }, wanted) => {
    const row = Math.max(wanted, ...line.map(({ step }) => free[step] ?? 0));
    for (const { id, step } of line) {
      rows.set(id, row);
      free[step] = row + 1;
    }
    for (const branch of branches) lay(branch, row + 1);
  };
  lay(root, 0);
  return { rows, height: Math.max(...rows.values()) + 1, width: free.length };
}
