// @ts-check
/**
 * Equation 1 of the paper on lists of numbers, each intermediate kept: what "By hand" shows.
 *
 * Numbers here are float64; those of the model are float32, so both may differ by rounding, and
 * `allowance` says by how much.
 */

/** @typedef {number[]} Vector */
/** @typedef {number[][]} Grid  rows of numbers */

/**
 * @typedef {object} Softmax
 * @property {number} shift        what was taken from each score before exp; 0 unless exp would overflow
 * @property {Vector} exponentials
 * @property {number} sum
 * @property {Vector} weights
 */

/**
 * @typedef {object} Attention
 * @property {Grid} products    Q K^T
 * @property {number} divisor   the root of d_k, or 1
 * @property {Grid} scores
 * @property {Grid} masked
 * @property {Grid} exponentials
 * @property {Vector} sums
 * @property {Grid} weights
 * @property {Grid} output
 */

/**
 * @typedef {object} Ways  how attention is computed; the mistakes of beginners are ways, too
 * @property {boolean[][] | null} [mask]  where a row may look; everywhere without
 * @property {boolean} [scaled]           false: without the root of d_k
 * @property {number} [hidden]            what stands where a row may not look
 * @property {boolean} [maskLast]         masked after the softmax
 * @property {boolean} [downwards]        softmax over the queries, the wrong axis
 */

/** The largest score whose exponential is written as it is. */
const LARGEST_EXPONENT = 60;
/** Half the distance between 1 and the next float32. */
const ROUNDING = 2 ** -24;

/** @param {ArrayLike<number>} a @param {ArrayLike<number>} b @returns {Vector} */
export function products(a, b) {
  return Array.from(a, (value, place) => value * b[place]);
}

/** @param {ArrayLike<number>} values */
export function total(values) {
  let sum = 0;
  for (let place = 0; place < values.length; place += 1) sum += values[place];
  return sum;
}

/** @param {ArrayLike<number>} a @param {ArrayLike<number>} b */
export function dot(a, b) {
  return total(products(a, b));
}

/** @param {Grid} rows @returns {Grid} */
export function transpose(rows) {
  return rows.length === 0 ? [] : rows[0].map((_, column) => rows.map((row) => row[column]));
}

/** @param {Grid} a @param {Grid} b @returns {Grid} */
export function matmul(a, b) {
  const columns = transpose(b);
  return a.map((row) => columns.map((column) => dot(row, column)));
}

/** Return where each of so many rows may look: at itself and before. @param {number} rows @param {number} [columns] */
export function causal(rows, columns = rows) {
  return Array.from({ length: rows }, (_, row) => Array.from({ length: columns }, (_, column) => column <= row));
}

/**
 * Return the softmax of a row of scores; minus infinity has the weight 0, a row of nothing else has none.
 * @param {ArrayLike<number>} scores
 * @returns {Softmax}
 */
export function softmax(scores) {
  const largest = Array.from(scores).reduce((most, score) => Math.max(most, score), -Infinity);
  const shift = Math.abs(largest) > LARGEST_EXPONENT && Number.isFinite(largest) ? largest : 0;
  const exponentials = Array.from(scores, (score) => Math.exp(score - shift));
  const sum = total(exponentials);
  return { shift, exponentials, sum, weights: exponentials.map((value) => (sum > 0 ? value / sum : 0)) };
}

/**
 * Return the weighted sum of vectors.
 * @param {ArrayLike<number>} weights
 * @param {ArrayLike<number>[]} vectors
 * @returns {Vector}
 */
export function gather(weights, vectors) {
  return Array.from(vectors[0] ?? [], (_, place) => {
    let sum = 0;
    for (let key = 0; key < vectors.length; key += 1) sum += weights[key] * vectors[key][place];
    return sum;
  });
}

/**
 * Return attention with all that lies on its way.
 * @param {Grid} q
 * @param {Grid} k
 * @param {Grid} v
 * @param {Ways} [ways]
 * @returns {Attention}
 */
export function attend(q, k, v, ways = {}) {
  return attendProducts(matmul(q, transpose(k)), v, q[0].length, ways);
}

/**
 * Return attention of products that are given.
 * @param {Grid} dots   Q K^T
 * @param {Grid} v
 * @param {number} size   d_k
 * @param {Ways} [ways]
 * @returns {Attention}
 */
export function attendProducts(dots, v, size, { mask = null, scaled = true, hidden = -Infinity, maskLast = false, downwards = false } = {}) {
  const divisor = scaled ? Math.sqrt(size) : 1;
  const scores = dots.map((row) => row.map((value) => value / divisor));
  /** @param {Grid} grid @param {number} other */
  const where = (grid, other) => grid.map((row, i) => row.map((value, j) => (mask === null || mask[i][j] ? value : other)));
  const masked = maskLast ? scores : where(scores, hidden);
  const parts = (downwards ? transpose(masked) : masked).map(softmax);
  const turn = (/** @type {Grid} */ grid) => (downwards ? transpose(grid) : grid);
  const weights = turn(parts.map((part) => part.weights));
  const kept = maskLast ? where(weights, 0) : weights;
  return {
    products: dots,
    divisor,
    scores,
    masked,
    exponentials: turn(parts.map((part) => part.exponentials)),
    sums: parts.map((part) => part.sum),
    weights: kept,
    output: matmul(kept, v),
  };
}

/**
 * Return a vector brought to mean 0 and variance 1.
 * @param {ArrayLike<number>} z
 * @param {number} [epsilon]
 * @param {{unbiased?: boolean, outside?: boolean}} [ways]  divided by n − 1; epsilon added to the root, not under it
 * @returns {{mean: number, variance: number, divisor: number, result: Vector}}
 */
export function layerNorm(z, epsilon = 1e-5, { unbiased = false, outside = false } = {}) {
  const mean = total(z) / z.length;
  const squares = total(Array.from(z, (value) => (value - mean) ** 2));
  const variance = squares / (z.length - (unbiased && z.length > 1 ? 1 : 0));
  const divisor = outside ? Math.sqrt(variance) + epsilon : Math.sqrt(variance + epsilon);
  return { mean, variance, divisor, result: Array.from(z, (value) => (value - mean) / divisor) };
}

/** Return the entropy of a row of weights, in nats. @param {ArrayLike<number>} weights */
export function entropy(weights) {
  let sum = 0;
  for (let place = 0; place < weights.length; place += 1) {
    if (weights[place] > 0) sum -= weights[place] * Math.log(weights[place]);
  }
  return sum;
}

/**
 * Return how far a float32 sum of these terms may be from the exact one.
 * @param {ArrayLike<number>} terms
 */
export function allowance(terms) {
  let size = 0;
  for (let place = 0; place < terms.length; place += 1) size += Math.abs(terms[place]);
  return (terms.length + 2) * ROUNDING * size + 1e-12;
}

/**
 * Return how far a float32 weight may be off where the scores are off by so much.
 * @param {number} weight
 * @param {number} score   what a score may be off
 * @param {number} keys    how many there are in the row
 */
export function weightAllowance(weight, score, keys) {
  return weight * (2 * score + (keys + 8) * ROUNDING) + 1e-12;
}
