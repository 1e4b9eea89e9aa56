// @ts-check
/**
 * The state as an address: `#/attention?src=나는 학생입니다&view=cross&l=1&h=3&t=1&lang=ko`.
 *
 * A link is what its reader sees, so all that can be chosen is here, under short names. A value that
 * is the default is left away.
 */

/**
 * @typedef {object} State
 * @property {string} screen
 * @property {string} model    name of the model; "" is the first one
 * @property {string} src      the source, a text of one or several sentences
 * @property {number} sent     the sentence of it that is looked at, zero-based
 * @property {string} target   a translation to look at instead of the model's own
 * @property {string} prefix   how the translation must begin
 * @property {number} beam     hypotheses kept
 * @property {number} lp       length penalty, alpha; -1 is the model's own
 * @property {number} max      longest output in pieces; 0 is the model's own limit
 * @property {number} temp     sampling temperature; 0 is no sampling
 * @property {number} topk     0 is all
 * @property {number} topp     1 is all
 * @property {number} seed
 * @property {string} view     which attention: encoder, decoder or cross
 * @property {number} l        layer, zero-based; -1 is the last
 * @property {number} h        head, zero-based; -1 is the mean of all
 * @property {number} t        row of the target
 * @property {number} q        row of the matrix, a query
 * @property {number} k        column of the matrix, a key; -1 is the one with the largest weight of the row
 * @property {string} name     a tensor
 * @property {string} at       places along its axes, `head:0,query:2`
 * @property {string} edits    a list of edits, JSON
 * @property {string} src2     a source sentence instead, of what is compared
 * @property {string} tab      a part of a screen
 * @property {string} show     what else a screen shows
 * @property {number} node     a node of the search
 * @property {string} method   of attribution or alignment
 * @property {string} links    an alignment as the reader has changed it, `0-0 1-2`; "none" is empty
 * @property {string} gold     an alignment by hand
 * @property {number} pos      a position
 * @property {number} dim      a dimension
 * @property {number} lesson   0 is the list
 * @property {string} qkv      numbers of one's own, `1,0;0,1|1,0;0,1|1,2;3,4`
 * @property {string} lang     en or ko
 * @property {string} theme    light, dark, or "" as the system has it
 * @property {string} bare     not "": without the header, as in a frame of another page
 */

/** @type {State} */
export const DEFAULTS = {
  screen: "translate", model: "", src: "", sent: 0, target: "", prefix: "", beam: 4, lp: -1, max: 0,
  temp: 0, topk: 0, topp: 1, seed: 0, view: "cross", l: -1, h: -1, t: 0, q: 0, k: -1, name: "",
  at: "", edits: "", tab: "", show: "", node: -1, method: "", pos: 1, dim: 0, lesson: 0, qkv: "",
  lang: "", theme: "", bare: "",
  src2: "", links: "", gold: "",
};

/** What is not a whole number among those, and between what the others of a search must be. */
const FRACTIONS = ["lp", "temp", "topp"];
/** @type {Record<string, [number, number]>} */
const BOUNDS = {
  sent: [0, 1e4], beam: [1, 8], lp: [-1, 10], max: [0, 10_000], temp: [0, 100], topk: [0, 1e9], topp: [0.01, 1], seed: [0, Number.MAX_SAFE_INTEGER],
};

/** What another translation has no use for: nodes of the old search, alignments of its words. */
export const ANEW = { node: -1, links: "", gold: "" };
/** What another model has no use for: the places, too. */
export const AFRESH = { ...ANEW, t: 0, q: 0, k: -1, edits: "" };
/** What another sentence has no use for: what was said of the one before, too. */
export const OTHER_SENTENCE = { ...AFRESH, target: "", prefix: "", src2: "" };

/**
 * Read an address; what it does not say, or says wrongly, has its default.
 * @param {string} hash
 * @returns {State}
 */
export function read(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  /** @type {any} */
  const state = { ...DEFAULTS, screen: path || DEFAULTS.screen };
  for (const [key, text] of new URLSearchParams(query)) {
    if (!Object.hasOwn(DEFAULTS, key) || key === "screen") continue;
    const number = Number(text);
    const isNumber = typeof (/** @type {any} */ (DEFAULTS)[key]) === "number";
    if (!isNumber) state[key] = text;
    else if (text.trim() !== "" && Number.isFinite(number)) state[key] = within(key, number);
  }
  return state;
}

/** Return the number that is nearest to one and can stand for a key. @param {string} key @param {number} number */
function within(key, number) {
  const [least, most] = BOUNDS[key] ?? [-Infinity, Infinity];
  const whole = FRACTIONS.includes(key) ? number : Math.trunc(number) || 0; // not -0
  return Math.min(most, Math.max(least, whole));
}

/**
 * Write a state as an address.
 * @param {Partial<State>} state
 * @returns {string}
 */
export function write(state) {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(state)) {
    const before = /** @type {any} */ (DEFAULTS)[key];
    if (key !== "screen" && value !== before) query.set(key, String(value));
  }
  const text = query.toString();
  return `#/${state.screen ?? DEFAULTS.screen}${text ? `?${text}` : ""}`;
}
