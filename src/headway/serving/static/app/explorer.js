// @ts-check
/** The explorer: the state, what the program answered to it, and the screen that shows both. */

import { OTHER_SENTENCE, read, write } from "app/address.js";
import { preferred, text } from "app/i18n.js";
import { written } from "app/record.js";
import { Store } from "app/store.js";
import { Trace, renewing } from "app/trace.js";

/**
 * @typedef {import("app/address.js").State} State
 *
 * @typedef {object} Screen
 * @property {string} id
 * @property {(explorer: Explorer) => Promise<any>} load   gets what the screen shows; all is cached
 * @property {(explorer: Explorer, data: any) => Node} render
 * @property {(explorer: Explorer, data: any) => string} [python]  code for what is seen
 * @property {(explorer: Explorer, data: any) => string | null} [figure]  the weights that are seen
 * @property {(explorer: Explorer, data: any) => import("app/about.js").Subject} [subject]  for "What is this?" until the reader points at something
 * @property {(explorer: Explorer) => Promise<Trace>} [trace]   whose pieces stand above the screen
 * @property {(explorer: Explorer) => boolean} [needsSource]   false for a screen without a sentence
 * @property {(explorer: Explorer) => Node | null} [begin]   what it shows while the program computes
 */

export class Explorer {
  /**
   * @param {any} backend
   * @param {{models: {name: string, default: boolean}[]}} models
   */
  constructor(backend, models) {
    this.backend = backend;
    this.models = models.models;
    /** @type {Store<State>} */
    this.store = new Store(read(location.hash));
    /** @type {any} */
    this.model = null;
    /** The sentences of a source, and which source that is. */
    this.split = { src: "", model: "", sentences: [""] };
    /** The translation of a text, and what it answers. @type {{asked: string, answer: import("app/sentences.js").Paragraph | null}} */
    this.translated = { asked: "", answer: null };
    /** @type {Map<string, Promise<any>>} */
    this.answers = new Map();
    /** Those whose numbers are kept, the latest first. @type {Trace[]} */
    this.traces = [];
    this.hasBegun = false;
    /** Fill the column "What is this?". @type {(subject: import("app/about.js").Subject | null) => void} */
    this.about = () => {};
    addEventListener("hashchange", () => this.store.set(read(location.hash)));
  }

  get state() {
    return this.store.value;
  }

  get language() {
    const { lang } = this.state;
    return lang === "ko" || lang === "en" ? lang : preferred();
  }

  /** Return a text in the language of the page. @param {string} key @param {Record<string, string | number>} [values] */
  t(key, values) {
    return text(this.language, key, values);
  }

  /**
   * Change the state, and the address with it. A step that a reader may want to take back is one of
   * the browser's history; a mere selection is not.
   * @param {Partial<State>} patch
   * @param {{remember?: boolean}} [options]
   */
  go(patch, { remember = false } = {}) {
    const state = { ...this.state, ...patch };
    const address = write(state);
    if (address === location.hash) return;
    if (remember) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
    this.store.set(patch);
  }

  /** Return the address of another state, for links. @param {Partial<State>} patch */
  address(patch) {
    return write({ ...this.state, ...patch });
  }

  /** Get the model that the state names. */
  async loadModel() {
    const asked = this.state.model;
    const found = await this.ask("model", asked, () => this.backend.model(asked));
    if (asked === this.state.model) this.model = found; // an answer that came late is not what is shown
  }

  /**
   * Begin with an example where no sentence is given; a field that is emptied later stays empty. A
   * lesson is about the first example: the page then has that sentence, too.
   */
  ensureSource() {
    const [example] = this.model.examples;
    const { src } = this.state;
    if (example && this.backend.interactive) {
      if (this.isInLesson ? src !== example : !src && !this.hasBegun) this.go({ ...(src ? { ...OTHER_SENTENCE, sent: 0 } : {}), src: example });
    }
    this.hasBegun = true;
  }

  /** Tell whether the page shows a lesson, or what it talks about. */
  get isInLesson() {
    return this.state.lesson > 0;
  }

  /** Get the sentences of the source that the state names. */
  async loadSentences() {
    const { src, model } = this.state;
    if (!src || !this.backend.interactive) return;
    const body = { source: src, ...(model ? { model } : {}) };
    const { sentences } = await this.ask("sentences", body, () => this.backend.sentences(body));
    this.split = { src, model, sentences };
  }

  /** Return the sentences of the source; until they are known, the source is one. */
  get sentences() {
    const { src, model } = this.state;
    return this.split.src === src && this.split.model === model ? this.split.sentences : [src];
  }

  /** Return the number of the sentence that is looked at. */
  get place() {
    return Math.max(0, Math.min(this.sentences.length - 1, this.state.sent));
  }

  /** Return the sentence that is looked at. */
  get sentence() {
    return this.sentences[this.place];
  }

  /** Return the request for the translation of the whole source. */
  paragraphBody() {
    const { split_sentences: _, ...body } = this.request();
    return { ...body, source: this.state.src, ...(body.prefix ? { chosen: this.place } : {}) };
  }

  /** Get the translation of the whole source, if it has several sentences. */
  async loadParagraph() {
    if (this.sentences.length < 2) return;
    const body = this.paragraphBody();
    const answer = await this.ask("paragraph", body, () => this.backend.paragraph(body));
    this.translated = { asked: JSON.stringify(body), answer };
  }

  /** Return the translation of the whole source; null until it is known. */
  get paragraph() {
    const { asked, answer } = this.translated;
    return asked === JSON.stringify(this.paragraphBody()) ? answer : null;
  }

  /** Return the search that the state asks for, as a body for the program. */
  request() {
    const { model, prefix, beam, lp, max, temp, topk, topp, seed } = this.state;
    /** @type {Record<string, any>} */
    const body = { source: this.sentence, beam: temp > 0 ? 1 : beam };
    // Some sentences, such as items of a list, would be split again if they were the whole text.
    if (this.sentences.length > 1) body.split_sentences = false;
    if (model) body.model = model;
    if (prefix) body.prefix = prefix;
    if (lp >= 0) body.length_penalty = lp;
    if (max > 0) body.max_length = max;
    if (temp > 0) {
      body.sampling = { temperature: temp, top_k: topk || null, top_p: topp < 1 ? topp : null, seed };
    }
    return body;
  }

  /**
   * Return the trace of the sentence: over the reader's own target, or over what the search writes.
   * @returns {Promise<Trace>}
   */
  async trace() {
    const { sampling, ...body } = this.request();
    if (this.state.target) return this.traceOf({ ...body, target: this.state.target });
    if (!sampling && !this.backend.interactive) return this.traceOf(body);
    return this.traceFound({ ...body, sampling });
  }

  /**
   * Return the trace over what a search writes. The search is asked for first, so that there is one
   * search only, and one trace of the same pieces however they were found.
   * @param {Record<string, any>} body
   * @returns {Promise<Trace>}
   */
  async traceFound(body) {
    const { record } = await this.searchFor(body);
    const target = written(record);
    const { sampling: _, ...rest } = body;
    const { model, source } = rest;
    // What is too long to send, or nothing, the program finds anew.
    const isSent = target.length > 0 && target.join("").length <= this.model.limits.characters;
    return this.traceOf(!isSent ? rest : this.backend.interactive ? { model, source, target } : { ...rest, target });
  }

  /**
   * @param {object} body
   * @param {Trace[]} [others]   those that its edits take tensors from
   * @returns {Promise<Trace>}
   */
  async traceOf(body, others = []) {
    const again = () => renewing(others, () => this.backend.trace(body));
    const trace = await this.ask("trace", body, async () => new Trace(await again(), this.backend, again));
    this.traces = [trace, ...this.traces.filter((own) => own !== trace)];
    for (const old of this.traces.splice(MOST_TRACES)) old.held.clear();
    return trace;
  }

  /**
   * Return the record of the search that the state asks for: its tree, step by step.
   * @returns {Promise<{record: any, prefix_pieces?: string[]}>}
   */
  search() {
    return this.searchFor(this.request());
  }

  /**
   * @param {object} body
   * @param {Trace[]} [others]   those that its edits take tensors from
   * @returns {Promise<{record: any, prefix_pieces?: string[]}>}
   */
  searchFor(body, others = []) {
    return this.ask("search", body, () => renewing(others, () => this.backend.search(body)));
  }

  /**
   * Return an answer, asked for once.
   * @template T
   * @param {string} kind
   * @param {any} question
   * @param {() => Promise<T>} get
   * @returns {Promise<T>}
   */
  ask(kind, question, get) {
    const key = `${kind}:${JSON.stringify(question)}`;
    const held = this.answers.get(key);
    if (held !== undefined) {
      this.answers.delete(key); // to the end: what was used last stays longest
      this.answers.set(key, held);
      return held;
    }
    const found = get();
    found.catch(() => {
      if (this.answers.get(key) === found) this.answers.delete(key);
    });
    this.answers.set(key, found);
    if (this.answers.size > MOST_ANSWERS) this.answers.delete(this.answers.keys().next().value ?? "");
    return found;
  }

  /** Ask anew the next time. @param {string} kind @param {any} question */
  forget(kind, question) {
    this.answers.delete(`${kind}:${JSON.stringify(question)}`);
  }

  /** Return the layer that the state means, of so many. @param {number} layers */
  layer(layers) {
    const { l } = this.state;
    return l < 0 || l >= layers ? layers - 1 : l;
  }

  /** Return the head that the state means, of so many; -1 is the mean. @param {number} heads */
  head(heads) {
    const { h } = this.state;
    return h >= heads ? -1 : h;
  }

  /** Return a head in words, counted from 1 as layers are; -1 is the mean. @param {number} head */
  headWords(head) {
    return head < 0 ? this.t("head.mean") : this.t("head.one", { head: head + 1 });
  }

  /** Return the row of the target that the state means, of so many. @param {number} rows */
  row(rows) {
    return Math.max(0, Math.min(rows - 1, this.state.t));
  }
}

const MOST_ANSWERS = 60;
const MOST_TRACES = 8; // whose numbers are kept; those of one may be many megabytes
