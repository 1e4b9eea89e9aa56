// @ts-check
/** What a tensor's places are called, and what of it is seen: slices, cells, masked cells. */

import { Tensor } from "app/trace.js";

/** @typedef {import("app/trace.js").Trace} Trace */
/** @typedef {import("app/network.js").TensorEntry} Entry */
/** @typedef {Record<string, number>} Places */

/**
 * Read places as the address has them: `head:0,query:2`; what fits no axis is left out.
 * @param {string} text
 * @param {Entry} entry
 * @returns {Places}
 */
export function readPlaces(text, entry) {
  /** @type {Places} */
  const places = {};
  for (const part of text.split(",")) {
    const [axis, number] = part.split(":");
    const at = entry.axes.findIndex((own) => own.name === axis);
    const place = Number(number);
    if (at >= 0 && Number.isInteger(place) && place >= 0 && place < entry.shape[at]) places[axis] = place;
  }
  return places;
}

/** @param {Places} places */
export function writePlaces(places) {
  return Object.entries(places).map(([axis, place]) => `${axis}:${place}`).join(",");
}

/**
 * Return the axes that are seen as rows and columns, and those that are fixed to one place.
 * @param {Entry} entry
 */
export function axesOf(entry) {
  const names = entry.axes.map(({ name }) => name);
  // Of the vocabulary one row is seen at a time: its best columns.
  if (names[names.length - 1] === "vocabulary") return { fixed: names.slice(0, -1), rows: null, columns: "vocabulary" };
  return { fixed: names.slice(0, -2), rows: names.length > 1 ? names[names.length - 2] : null, columns: names[names.length - 1] };
}

/**
 * Return the part of a tensor that is seen, always with two axes.
 * @param {Trace} trace
 * @param {Entry} entry
 * @param {Places} places
 * @returns {Promise<Tensor>}
 */
export async function seenPart(trace, entry, places) {
  const { fixed } = axesOf(entry);
  const where = Object.fromEntries(fixed.map((axis) => [axis, places[axis] ?? 0]));
  const part = await trace.tensor(entry.name, where);
  if (part.shape.length === 2) return part;
  // One number for each place, such as a mean: a row under each other reads better than one line.
  return part.axes[0] === "vocabulary"
    ? new Tensor(part.name, [1, part.shape[0]], ["", part.axes[0]], part.data)
    : new Tensor(part.name, [part.shape[0], 1], [part.axes[0], ""], part.data);
}

/**
 * Return which cells of weights nobody may look at, by the scores behind the mask.
 * @param {Trace} trace
 * @param {Entry} entry
 * @param {Places} places
 * @returns {Promise<((row: number, column: number) => boolean) | null>}
 */
export async function maskOf(trace, entry, places) {
  if (!/_attention\.(weights|masked_scores)$/.test(entry.name)) return null;
  const scores = trace.tensors.get(entry.name.replace(/weights$/, "masked_scores"));
  if (scores === undefined) return null;
  const part = await seenPart(trace, scores, places);
  return (row, column) => part.value(row, column) === -Infinity;
}

/**
 * Return the place that `explain` takes, when one along each axis is chosen.
 * @param {Entry} entry
 * @param {Places} places
 * @returns {Places | null}
 */
export function wholePlace(entry, places) {
  const { fixed } = axesOf(entry);
  /** @type {Places} */
  const whole = {};
  for (const { name } of entry.axes) {
    const place = places[name] ?? (fixed.includes(name) ? 0 : undefined);
    if (place === undefined) return null;
    whole[name] = place;
  }
  return whole;
}

/**
 * Return what the program says of a tensor as a whole, where it cannot be asked: of the finite
 * numbers the smallest, the largest and so on, null where there are none.
 * @param {Tensor} tensor
 */
export function statisticsOf(tensor) {
  const numbers = Array.from(tensor.data);
  const finite = numbers.filter(Number.isFinite);
  const some = finite.length > 0;
  const mean = finite.reduce((sum, value) => sum + value, 0) / finite.length;
  const squares = finite.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  /** @type {Record<string, number>} */
  const strange = {};
  for (const value of numbers) {
    if (Number.isFinite(value)) continue;
    const kind = Number.isNaN(value) ? "nan" : value < 0 ? "-inf" : "inf";
    strange[kind] = (strange[kind] ?? 0) + 1;
  }
  return {
    min: some ? finite.reduce((low, value) => Math.min(low, value)) : null,
    max: some ? finite.reduce((high, value) => Math.max(high, value)) : null,
    mean: some ? mean : null,
    std: some ? Math.sqrt(squares / finite.length) : null,
    norm: Math.sqrt(finite.reduce((sum, value) => sum + value * value, 0)),
    zeros: numbers.filter((value) => value === 0).length / (numbers.length || 1),
    not_finite: strange,
    shape: tensor.shape,
  };
}
