// @ts-check
/** A trace as the page sees it: what there is by name, and numbers that come when they are asked for. */

import { Refusal } from "app/network.js";

/** Numbers with a shape, row by row, and the names of their axes. */
export class Tensor {
  /**
   * @param {string} name
   * @param {number[]} shape
   * @param {string[]} axes
   * @param {Float32Array | Uint8Array} data
   */
  constructor(name, shape, axes, data) {
    this.name = name;
    this.shape = shape;
    this.axes = axes;
    this.data = data;
  }

  /**
   * Return what stands at a place, one index for each axis.
   * @param {...number} index
   * @returns {number}
   */
  value(...index) {
    return this.data[index.reduce((place, part, axis) => place * this.shape[axis] + part, 0)];
  }

  /**
   * Return the part at the first indices, without copying it.
   * @param {...number} index
   * @returns {Tensor}
   */
  part(...index) {
    const shape = this.shape.slice(index.length);
    const size = shape.reduce((product, length) => product * length, 1);
    const first = index.reduce((place, part, axis) => place * this.shape[axis] + part, 0) * size;
    return new Tensor(this.name, shape, this.axes.slice(index.length), this.data.subarray(first, first + size));
  }

  /**
   * Return the mean over the first axis.
   * @returns {Tensor}
   */
  mean() {
    const [many, ...shape] = this.shape;
    const size = shape.reduce((product, length) => product * length, 1);
    const data = new Float32Array(size);
    for (let place = 0; place < size; place += 1) {
      let sum = 0;
      for (let one = 0; one < many; one += 1) sum += this.data[one * size + place];
      data[place] = sum / many;
    }
    return new Tensor(this.name, shape, this.axes.slice(1), data);
  }
}

/**
 * Ask a question that needs traces; if the program has let one go, have them made once more.
 * @template T
 * @param {Pick<Trace, "renew">[]} traces
 * @param {() => Promise<T>} question
 * @returns {Promise<T>}
 */
export async function renewing(traces, question) {
  try {
    return await question();
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 404 || traces.length === 0) throw error;
    for (const trace of traces) await trace.renew();
    return question();
  }
}

export class Trace {
  /**
   * @param {any} manifest           what `POST /api/trace` answers
   * @param {any} backend
   * @param {() => Promise<any>} renew   asks for the trace again when the program has let it go
   */
  constructor(manifest, backend, renew) {
    this.id = /** @type {string} */ (manifest.id);
    /** @type {{source: string, target: string, source_pieces: string[], reads: string[], writes: string[], source_ids: number[], target_ids: number[]}} */
    this.sentence = manifest.sentence;
    /** @type {{reads: string, writes: string, probability: number, best: [string, number][], others: number, other_pieces: number, entropy: number}[]} */
    this.rows = manifest.rows;
    /** @type {Record<string, string>} */
    this.edits = manifest.edits;
    /** True if the sentence is beyond what a calibrated model knows. */
    this.unfamiliar = manifest.unfamiliar === true;
    /** @type {Map<string, import("app/network.js").TensorEntry>} */
    this.tensors = new Map(manifest.tensors.map((/** @type {any} */ entry) => [entry.name, entry]));
    this.backend = backend;
    this.renew = renew;
    /** @type {Map<string, Promise<Tensor>>} */
    this.held = new Map();
  }

  /**
   * Return a tensor, or its part at some places; `*` stacks layers. Numbers are asked for once.
   * @param {string} name
   * @param {Record<string, number | string>} [where]
   * @returns {Promise<Tensor>}
   */
  tensor(name, where = {}) {
    const key = `${name}?${new URLSearchParams(/** @type {any} */ (where))}`;
    let found = this.held.get(key);
    if (found === undefined) {
      found = this.again(() => this.backend.tensor(this.id, name, where)).then(
        (answer) => new Tensor(name, answer.shape, answer.axes, answer.data),
      );
      found.catch(() => this.held.delete(key));
      this.held.set(key, found);
    }
    return found;
  }

  /**
   * Ask the program about this trace; if it has let it go, have it made once more.
   * @template T
   * @param {() => Promise<T>} question
   * @returns {Promise<T>}
   */
  again(question) {
    return renewing(this.backend.interactive ? [this] : [], question);
  }

  /**
   * Return the labels along an axis; of a row of the target, `reads → writes`.
   * @param {string} name   of the tensor
   * @param {string} axis
   * @returns {string[]}
   */
  labels(name, axis) {
    const entry = this.tensors.get(name);
    const place = entry?.axes.findIndex((own) => own.name === axis) ?? -1;
    if (entry === undefined || place < 0) return [];
    const { reads, writes, source_pieces: source } = this.sentence;
    switch (entry.axes[place].pieces) {
      case "source": return source;
      case "reads": return reads;
      case "target": return reads.map((piece, row) => `${piece} → ${writes[row]}`);
      default: return Array.from({ length: entry.shape[place] }, (_, number) => String(number));
    }
  }
}
