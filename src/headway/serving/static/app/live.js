// @ts-check
/**
 * A search while it runs: the encoder is heard once, then every step of the decoder.
 *
 * The stream's last event is the record, which then is the answer to `explorer.search()` too, so that
 * nothing is searched for twice.
 */

import { h } from "app/dom.js";
import { heading } from "app/parts.js";
import { textOf } from "app/record.js";

/** @typedef {import("app/explorer.js").Explorer} Explorer */

/** What has been heard of one search. */
class Heard {
  constructor() {
    this.encoded = 0; // how often the encoder has run: 1, or something is wrong
    this.seconds = 0;
    this.steps = 0;
    this.best = "";
    this.worth = -Infinity; // of the best: its score where it has ended, else its sum
    this.step = 0;
    this.isOver = false;
    this.done = false;
    /** @type {Map<number, {parent: number | null, piece: string | null}>} */
    this.nodes = new Map();
    /** Those who show it. @type {(() => void)[]} */
    this.tell = [];
  }

  /** @param {string} event @param {any} data */
  hear(event, data) {
    if (event === "encoded") {
      this.encoded += 1;
      this.seconds = data.seconds;
    } else if (event === "step") {
      this.steps += 1;
      for (const node of data.nodes) this.nodes.set(node.number, node);
      this.follow(data.nodes);
    } else if (event === "done") {
      this.done = true;
      this.best = data.record.translation.text;
    }
    for (const tell of this.tell) tell();
  }

  /**
   * Follow the best hypothesis: of those that live until one has ended, then of those that ended.
   * @param {import("app/record.js").RecordNode[]} nodes   new ones
   */
  follow(nodes) {
    for (const { number, parent, step, fate, score, total } of nodes) {
      const isOver = fate === "finished";
      const worth = (isOver ? score : total) ?? total;
      if (parent === null || this.isOver && (!isOver || worth <= this.worth)) continue;
      if (isOver !== this.isOver || isOver || step > this.step || worth > this.worth) {
        Object.assign(this, { isOver, worth, step, best: this.text(number) });
      }
    }
  }

  /** @param {number} leaf */
  text(leaf) {
    /** @type {string[]} */
    const pieces = [];
    for (let node = this.nodes.get(leaf); node?.piece; node = this.nodes.get(node.parent ?? -1)) pieces.unshift(node.piece);
    return textOf(pieces);
  }
}

/** @type {Map<string, Heard>} */
const HEARD = new Map();
const MOST = 60;

/** Return the name of the search that the state asks for. @param {Explorer} explorer */
function keyOf(explorer) {
  return JSON.stringify(explorer.request());
}

/**
 * Start the search that the state asks for, unless it has been answered; return what shows it where
 * the sentence is a new one.
 * @param {Explorer} explorer
 * @returns {Node | null}
 */
export function begin(explorer) {
  const body = explorer.request();
  const key = keyOf(explorer);
  if (!explorer.backend.interactive || HEARD.has(key)) return null;
  const heard = new Heard();
  let isStarted = false;
  const ending = new AbortController();
  const found = explorer.ask("search", body, async () => {
    isStarted = true;
    return listen(explorer, body, heard, ending.signal);
  });
  const drop = () => {
    if (HEARD.get(key) === heard) HEARD.delete(key);
  };
  found.catch(drop); // whoever waits for the answer says what was wrong
  if (!isStarted) return null; // another screen has the answer already
  HEARD.set(key, heard);
  // Nobody waits for a search once the state asks for another one.
  const silence = explorer.store.listen(() => {
    if (keyOf(explorer) === key) return;
    explorer.forget("search", body);
    drop();
    ending.abort();
  });
  found.then(silence, silence);
  if (HEARD.size > MOST) HEARD.delete(HEARD.keys().next().value ?? "");
  const isNew = sentence !== `${body.model}:${body.source}`;
  sentence = `${body.model}:${body.source}`;
  return isNew ? h("section", null, heading(explorer.t("screen.translate"), explorer.t("translate.about")), strip(explorer), blocks(explorer, heard)) : null;
}

/** The sentence that was heard last. */
let sentence = "";

/** @param {Explorer} explorer @param {object} body @param {Heard} heard @param {AbortSignal} signal */
async function listen(explorer, body, heard, signal) {
  /** @type {any} */
  let answer = null;
  await explorer.backend.translate(body, (/** @type {string} */ event, /** @type {any} */ data) => {
    if (event === "done") answer = data;
    heard.hear(event, data);
  }, signal);
  return answer ?? explorer.backend.search(body);
}

/**
 * Return the line that tells how the search went, or goes on while it is looked at.
 * @param {Explorer} explorer
 * @param {import("app/record.js").SearchRecord} [record]   where nobody listened
 * @returns {HTMLElement}
 */
export function strip(explorer, record) {
  const heard = HEARD.get(keyOf(explorer)) ?? answered(record);
  const part = (/** @type {string} */ name) => h("span", { class: `live-${name}` });
  const [encoder, decoder, text, more] = ["encoder", "decoder", "text", "more"].map(part);
  const element = h("p", { class: "live", role: "status" }, encoder, " ", decoder, " ", text, " ", more);
  const tell = () => {
    Object.assign(element.dataset, { encoded: heard.encoded, steps: heard.steps, done: heard.done });
    element.classList.toggle("is-running", !heard.done);
    encoder.textContent = encoderWords(explorer, heard);
    decoder.textContent = explorer.t(heard.done ? "translate.live.done" : "translate.live.step", { steps: heard.steps });
    text.textContent = heard.best;
    more.textContent = heard.done && record && isLonger(record) ? explorer.t("translate.live.longer") : "";
  };
  heard.tell = [tell];
  tell();
  return element;
}

/**
 * Return encoder and decoder as they run: a lamp for each run.
 * @param {Explorer} explorer
 * @param {Heard} heard
 */
function blocks(explorer, heard) {
  const block = (/** @type {string} */ name) => {
    const [lamps, title] = [h("span", { class: "lamps", "aria-hidden": "true" }), h("h2", null, explorer.t(`translate.${name}`))];
    return { lamps, element: h("div", { class: `stage-part block block-${name}` }, title, h("p", { class: "runs" }, lamps)) };
  };
  const [encoder, decoder] = [block("encoder"), block("decoder")];
  const text = h("p", { class: "live-written" });
  heard.tell.push(() => {
    encoder.element.classList.toggle("is-lit", heard.steps === 0);
    decoder.element.classList.toggle("is-lit", heard.steps > 0);
    for (const [{ lamps }, runs] of /** @type {[typeof encoder, number][]} */ ([[encoder, heard.encoded], [decoder, heard.steps]])) {
      lamps.replaceChildren(...Array.from({ length: runs }, (_, run) => h("span", { class: `lamp on${run === runs - 1 ? " newest" : ""}` })));
    }
    text.textContent = heard.best;
  });
  heard.tell[heard.tell.length - 1]();
  return h("div", { class: "live-blocks" }, encoder.element, decoder.element, text);
}

/** Tell whether the search went on after the translation had ended. @param {import("app/record.js").SearchRecord} record */
function isLonger({ nodes, ranking, steps }) {
  return steps.length > nodes[ranking[0]].step;
}

/** @param {Explorer} explorer @param {Heard} heard */
function encoderWords(explorer, { encoded, seconds }) {
  if (encoded === 0) return explorer.t("translate.live.encoding");
  if (seconds === 0) return explorer.t("translate.live.encoded");
  return explorer.t("translate.live.encoded-in", { milliseconds: (1000 * seconds).toFixed(seconds < 0.0095 ? 1 : 0) });
}

/** @param {import("app/record.js").SearchRecord} [record] */
function answered(record) {
  const heard = new Heard();
  if (record) Object.assign(heard, { encoded: 1, steps: record.steps.length, best: record.translation.text, done: true });
  return heard;
}
