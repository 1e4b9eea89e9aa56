// @ts-check
/**
 * The answers in a page that is one file: the same questions as `app/network.js`, no program behind.
 *
 * Whoever wrote the file asked the questions beforehand. What it has not asked is refused with one
 * sentence; what numbers can answer, such as slices, is worked out here.
 */

import { text } from "app/i18n.js";
import { Refusal } from "app/network.js";
import { cut, matching, stack } from "app/slices.js";

/**
 * @typedef {{shape: number[], axes: string[], type: "float32" | "bool", data: string}} Packed
 * @typedef {object} Answers
 * @property {string} address          the state to open at
 * @property {any} model               of `GET /api/model`
 * @property {{body: any, manifest: any}} trace
 * @property {{body: any, answer: any}[]} searches
 * @property {Record<string, Packed>} tensors   by name
 * @property {Record<string, any>} others   by question, as `key` writes it
 * @property {Packed | null} position
 * @property {string[]} left_out       tensors that would have made the file too large
 * @property {number} limit            bytes of numbers that a file may hold
 */

export class Embedded {
  /** New questions cannot be asked. */
  interactive = false;

  /** Tell whether there are answers of a kind, such as `lens`. @param {string} kind */
  has(kind) {
    return Object.keys(this.answers.others).some((question) => question.startsWith(`["${kind}",`));
  }

  /** @param {Answers} answers */
  constructor(answers) {
    this.answers = answers;
    this.leftOut = answers.left_out;
    /** @type {Map<string, import("app/slices.js").Numbers>} */
    this.unpacked = new Map();
  }

  async models() {
    return { models: [{ name: this.answers.model.name, default: true }] };
  }

  async model() {
    return this.answers.model;
  }

  /** @param {any} asked */
  async trace(asked) {
    const { body, manifest } = this.answers.trace;
    const isIt = !asked.edits?.length && agrees(body, asked, ["source", "prefix"]) && writes(manifest.sentence, asked.target);
    return isIt ? manifest : refuse();
  }

  /** @param {any} body */
  async search(body) {
    const asked = ["source", "beam", "length_penalty", "prefix", "max_length", "edits", "sampling"];
    return this.answers.searches.find((own) => agrees(own.body, body, asked))?.answer ?? refuse();
  }

  /** @param {string} id @param {string} name @param {Record<string, number | string>} [where] */
  async tensor(id, name, where = {}) {
    const entries = /** @type {any[]} */ (this.manifest(id).tensors);
    const names = matching(entries, name);
    const parts = names.map((own) => this.numbers(own));
    const whole = name.includes("*") ? stack(parts) : parts[0] ?? refuse();
    const { shape, axes, data } = cut(whole, where, (axis, piece) => this.place(id, names[0], axis, piece));
    return { shape, axes, data };
  }

  /** @param {string} id */
  async lens(id) {
    return this.other("lens", [id]);
  }

  /** @param {string} id @param {string} method */
  async attribute(id, method) {
    return this.other("attribute", [id, method]);
  }

  /** @param {string} id @param {Record<string, any>} options */
  async align(id, options) {
    return this.other("align", [id, options]);
  }

  /** @param {number} length */
  async position(length) {
    const { position } = this.answers;
    if (position === null || length > position.shape[0]) return refuse();
    const { data } = this.unpack("position", position);
    return data.subarray(0, length * position.shape[1]);
  }

  /** @param {string} id */
  manifest(id) {
    const { manifest } = this.answers.trace;
    return manifest.id === id ? manifest : refuse();
  }

  /** @param {string} name */
  numbers(name) {
    const packed = this.answers.tensors[name];
    if (packed === undefined) {
      const megabytes = Math.round(this.answers.limit / 1e6);
      throw new Refusal(words("frame.left-out", { name, megabytes }), words("frame.static"), 404, "file");
    }
    return this.unpack(`tensor ${name}`, packed);
  }

  /** @param {string} label @param {Packed} packed */
  unpack(label, { shape, axes, type, data }) {
    let found = this.unpacked.get(label);
    if (found === undefined) {
      const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
      found = { shape, axes, data: type === "bool" ? bytes : new Float32Array(bytes.buffer) };
      this.unpacked.set(label, found);
    }
    return found;
  }

  /** Return the place of a piece along an axis. @param {string} id @param {string} name @param {string} axis @param {string} piece */
  place(id, name, axis, piece) {
    const { sentence, tensors } = this.manifest(id);
    const { axes } = tensors.find((/** @type {any} */ entry) => entry.name === name);
    const kind = axes.find((/** @type {any} */ own) => own.name === axis)?.pieces;
    const along = { source: sentence.source_pieces, target: sentence.writes, reads: sentence.reads };
    const found = (/** @type {any} */ (along)[kind] ?? []).indexOf(piece);
    return found < 0 ? refuse() : found;
  }

  /** @param {string} kind @param {any[]} question */
  other(kind, question) {
    return this.answers.others[key(kind, question)] ?? refuse();
  }
}

/**
 * Return a question as the file writes it: JSON with sorted names, without what is left open.
 * @param {string} kind
 * @param {any[]} question
 */
function key(kind, question) {
  return JSON.stringify([kind, ...question], (_, value) => {
    if (value === null || typeof value !== "object" || Array.isArray(value)) return value;
    const pairs = Object.entries(value).filter(([, own]) => own !== "" && own !== null && own !== undefined);
    return Object.fromEntries(pairs.sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

/** @param {any} one @param {any} other */
function same(one, other) {
  return key("", [one ?? null]) === key("", [other ?? null]);
}

/**
 * Tell whether a question is the one that was asked; what it leaves open is as it was.
 * @param {any} known
 * @param {any} asked
 * @param {string[]} names
 */
function agrees(known, asked, names) {
  return names.every((name) => isOpen(asked[name]) || same(known[name], asked[name])
    || (isOpen(known[name]) && isOpen(asked[name])));
}

/**
 * Tell whether a translation, a text or pieces, is that of a sentence; one that is left open is.
 * @param {any} sentence
 * @param {any} target
 */
function writes(sentence, target) {
  return isOpen(target) || target === sentence.target || same(target, sentence.writes.slice(0, -1));
}

/** @param {any} value */
function isOpen(value) {
  return value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0);
}

/** @param {string} name @param {Record<string, string | number>} [values] */
function words(name, values) {
  return text(document.documentElement.lang === "ko" ? "ko" : "en", name, values);
}

/** @returns {never} */
function refuse() {
  throw new Refusal(words("frame.not-in-file"), words("frame.static"), 501, "file");
}
