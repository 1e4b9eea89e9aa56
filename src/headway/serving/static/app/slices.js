// @ts-check
/** Parts of tensors, as the program makes them, for a page without the program. */

/** @typedef {{shape: number[], axes: string[], data: Float32Array | Uint8Array}} Numbers */

/**
 * Return the names that a pattern means; `*` stands for any characters, and for what was recorded
 * rather than for what is derived from it.
 * @param {{name: string, derived: boolean}[]} entries
 * @param {string} pattern
 * @returns {string[]}
 */
export function matching(entries, pattern) {
  const form = new RegExp(`^${pattern.split("*").map((part) => part.replace(/[.[\]]/g, "\\$&")).join(".*")}$`);
  const found = entries.filter(({ name }) => form.test(name));
  const recorded = found.filter(({ derived }) => !derived);
  return (recorded.length ? recorded : found).map(({ name }) => name);
}

/**
 * Return tensors of one shape as one, with an axis `layer` in front.
 * @param {Numbers[]} parts
 * @returns {Numbers}
 */
export function stack(parts) {
  const [{ shape, axes, data }] = parts;
  const all = data instanceof Uint8Array
    ? new Uint8Array(data.length * parts.length) : new Float32Array(data.length * parts.length);
  parts.forEach((part, place) => all.set(part.data, place * data.length));
  return { shape: [parts.length, ...shape], axes: ["layer", ...axes], data: all };
}

/**
 * Return the part at some places, numbers or pieces; the axes of these are gone.
 * @param {Numbers} whole
 * @param {Record<string, number | string>} where
 * @param {(axis: string, piece: string) => number} find   the place of a piece
 * @returns {Numbers}
 */
export function cut(whole, where, find) {
  return Object.entries(where).reduce((numbers, [axis, place]) => {
    const at = numbers.axes.indexOf(axis);
    if (at < 0) throw new Error(`There is no axis '${axis}'; there are ${numbers.axes.join(", ")}.`);
    const isNumber = typeof place === "number" || /^-?\d+$/.test(place);
    return slice(numbers, at, isNumber ? Number(place) : find(axis, place));
  }, whole);
}

/**
 * @param {Numbers} numbers
 * @param {number} axis
 * @param {number} place
 * @returns {Numbers}
 */
function slice({ shape, axes, data }, axis, place) {
  const length = shape[axis];
  if (place < -length || place >= length) throw new Error(`The axis '${axes[axis]}' has ${length} places, but not ${place}.`);
  const inner = size(shape.slice(axis + 1));
  const outer = size(shape.slice(0, axis));
  const part = data instanceof Uint8Array ? new Uint8Array(outer * inner) : new Float32Array(outer * inner);
  const at = (place + length) % length;
  for (let row = 0; row < outer; row += 1) {
    const first = (row * length + at) * inner;
    part.set(data.subarray(first, first + inner), row * inner);
  }
  const rest = (/** @type {any[]} */ list) => list.filter((_, own) => own !== axis);
  return { shape: rest(shape), axes: rest(axes), data: part };
}

/** @param {number[]} shape */
function size(shape) {
  return shape.reduce((product, length) => product * length, 1);
}
