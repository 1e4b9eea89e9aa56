// @ts-check
/** Numbers as the page writes them. */

/**
 * Return a number to so many places; minus infinity is written −∞, as a masked score is.
 * @param {number | null | undefined} value
 * @param {number} [places]
 * @returns {string}
 */
export function fixed(value, places = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (value === -Infinity) return "−∞";
  if (value === Infinity) return "∞";
  return value.toFixed(places).replace(/^-(?=0(\.0*)?$)/, "").replace("-", "−");
}

/**
 * Return a share as a percentage: 81.2 %, 0.04 %, < 0.01 %.
 * @param {number} share
 * @returns {string}
 */
export function percent(share) {
  if (share > 0 && share < 0.0001) return "< 0.01 %";
  const places = share >= 0.9995 || share < 0.01 ? 2 : 1;
  return `${(100 * share).toFixed(places)} %`;
}

/**
 * Return a count with separators: 7,990.
 * @param {number} value
 * @returns {string}
 */
export function count(value) {
  return value.toLocaleString("en-US");
}

/**
 * Return the smallest and the largest finite number; both 0 where there is none.
 * @param {ArrayLike<number>} values
 * @returns {[number, number]}
 */
export function range(values) {
  let low = Infinity;
  let high = -Infinity;
  for (let place = 0; place < values.length; place += 1) {
    const value = values[place];
    if (!Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low > high ? [0, 0] : [low, high];
}
