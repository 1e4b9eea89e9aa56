// @ts-check
/** The column "What is this?": name, axes, equation and sentence of what one points at. */

import { reachable } from "app/attention-scroll.js";
import { formula, h } from "app/dom.js";
import { tensorCode } from "app/python.js";

/**
 * Return the catalog's row of a tensor's name, also of its mean or sum, `….weights.mean(0)`.
 * @param {any} model
 * @param {string} name
 */
export function rowOf(model, name) {
  const pattern = name.replace(/(\[.*\])?(\.(mean|sum)\(.*)?$/, "").replace(/\.\d+(?=\.|$)/g, ".*");
  return model.catalog.find((/** @type {any} */ row) => row.pattern === pattern);
}

/**
 * @typedef {object} Subject
 * @property {string} [name]   of a tensor
 * @property {string} [place]  where in it, as `head=3, query=0`
 * @property {string} [code]   Python of a number that is no part of that tensor; a bare name if none is
 * @property {string} [value]
 * @property {string} [words]  a sentence; that of the catalog by default
 */

export class About {
  /** @param {import("app/explorer.js").Explorer} explorer */
  constructor(explorer) {
    this.explorer = explorer;
    this.body = h("div", { class: "about-body" });
    this.element = h("aside", { class: "about", "aria-labelledby": "about-title" });
    /** @type {Subject | null} */
    this.subject = null;
    /** Whether it shows the subject of the screen, because the reader has pointed at nothing yet. */
    this.isAtRest = true;
    this.translate();
  }

  /** Write everything anew, after the language has changed. */
  translate() {
    this.element.replaceChildren(
      h("h2", { id: "about-title" }, this.explorer.t("about.title")), this.body);
    this.fill(this.subject);
  }

  /** Show what the reader points at. @param {Subject | null} subject */
  show(subject) {
    this.isAtRest = false;
    this.fill(subject);
  }

  /** Show the subject of a screen until the reader points at something. @param {Subject | null} subject @param {boolean} isNew */
  rest(subject, isNew) {
    this.isAtRest ||= isNew;
    if (this.isAtRest) this.fill(subject);
  }

  /** @param {Subject | null} subject */
  fill(subject) {
    const { explorer } = this;
    this.subject = subject;
    if (subject === null) {
      this.body.replaceChildren(h("p", { class: "quiet" }, explorer.t("about.nothing")));
      return;
    }
    const row = subject.name && explorer.model ? rowOf(explorer.model, subject.name) : null;
    const sentence = subject.words ?? (row && (explorer.language === "ko" ? row.korean : row.english));
    const layer = /^(encoder|decoder)\.layers\.(\d+)/.exec(subject.name ?? "");
    const of = layer && explorer.model.sizes[`num_${layer[1]}_layers`];
    this.body.replaceChildren(...[
      sentence ? h("p", null, sentence) : null,
      layer ? h("p", { class: "quiet" }, explorer.t("about.layer", { layer: Number(layer[2]) + 1, of })) : null,
      row ? reachable(h("div", { class: "about-formula" }, formula(row.mathml)), explorer.t("about.equation")) : null,
      subject.name ? h("dl", null,
        h("dt", null, explorer.t("about.name")),
        h("dd", null, h("code", { class: "about-name" }, subject.code ?? (row ? tensorCode(subject.name, subject.place) : subject.name))),
        subject.value ? h("dd", { class: "about-value" }, subject.value) : null,
        row?.axes.length ? [h("dt", null, explorer.t("about.axes")), h("dd", null, row.axes.join(" × "))] : null) : null,
    ].filter((part) => part !== null));
  }
}
