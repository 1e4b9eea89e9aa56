// @ts-check
/** The paper's formula of section 3.5, in the three layouts that models have. */

/**
 * @typedef {object} Wave
 * @property {"sin" | "cos"} form
 * @property {number} exponent    of 10000, as a number
 * @property {string} written     the exponent as a fraction: `4/128`
 * @property {number} divisor     10000 ** exponent
 * @property {number} length      positions until it repeats
 */

/**
 * Return the wave of a dimension; null where the encoding is trained and follows none.
 * @param {string} layout   interleaved, halved, split or learned
 * @param {number} dim
 * @param {number} width    d_model
 * @returns {Wave | null}
 */
export function waveOf(layout, dim, width) {
  if (layout === "learned") return null;
  const half = width / 2;
  const isSine = layout === "interleaved" ? dim % 2 === 0 : dim < half;
  const [above, below] = layout === "interleaved"
    ? [dim - (dim % 2), width]
    : [isSine ? dim : dim - half, layout === "split" ? half : Math.max(half - 1, 1)];
  const exponent = above / below;
  const divisor = 10000 ** exponent;
  return { form: isSine ? "sin" : "cos", exponent, written: `${above}/${below}`, divisor, length: 2 * Math.PI * divisor };
}

/** @param {Wave} wave @param {number} position  that of the token plus the model's first */
export function valueOf(wave, position) {
  return Math[wave.form](position / wave.divisor);
}
