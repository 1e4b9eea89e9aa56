// @ts-check
/** What all screens stand in: the model, the tabs, the sentence, its translation, export. */

import { AFRESH, ANEW, OTHER_SENTENCE } from "app/address.js";
import { h } from "app/dom.js";
import { download } from "app/downloads.js";
import { count, percent } from "app/numbers.js";
import { number, pieces, select } from "app/parts.js";
import { SCREENS } from "app/screens.js";

/** @typedef {import("app/explorer.js").Explorer} Explorer */

/** @param {Explorer} explorer */
export function header(explorer) {
  const { state, model } = explorer;
  const themes = /** @type {[string, string][]} */ ([["", "system"], ["light", "light"], ["dark", "dark"]]).map(
    ([value, word]) => /** @type {[string, string]} */ ([value, explorer.t(`frame.theme.${word}`)]));
  return h("header", { class: "top" },
    h("a", { class: "brand", href: explorer.address({ screen: "translate", tab: "", show: "" }) }, "Headway"),
    explorer.models.length > 1
      ? select(explorer.t("frame.model"), explorer.models.map(({ name }) => [name, name]), model.name, (name) => explorer.go({ ...AFRESH, model: name }, { remember: true }))
      : h("span", { class: "model-name" }, model.name),
    h("span", { class: "quiet model-facts" },
      [explorer.t("frame.parameters", { count: count(model.parameters) }), model.checksum.slice(0, 8)].filter(Boolean).join(" · ")),
    h("span", { class: "grow" }),
    select(explorer.t("frame.language"), [["en", "English"], ["ko", "한국어"]], explorer.language, (lang) => explorer.go({ lang })),
    select(explorer.t("frame.theme"), themes, state.theme, (theme) => explorer.go({ theme })));
}

/** @param {Explorer} explorer */
export function tabs(explorer) {
  return h("nav", { class: "tabs", "aria-label": explorer.t("frame.screens") },
    SCREENS.map(({ id }) => h("a", {
      href: explorer.address({ screen: id, tab: "", show: "", lesson: id === "lessons" ? explorer.state.lesson : 0 }),
      "aria-current": id === explorer.state.screen ? "page" : null,
      "data-key": `tab:${id}`,
    }, explorer.t(`screen.${id}`))));
}

/** Return the sentence with what the search is told. @param {Explorer} explorer */
export function question(explorer) {
  const { state, model } = explorer;
  if (!explorer.backend.interactive) {
    const { leftOut } = explorer.backend;
    return h("section", { class: "question", "aria-label": explorer.t("frame.source") }, h("p", { class: "quiet" }, explorer.t("frame.static")),
      leftOut.length ? h("details", null, h("summary", { "data-key": "left-out" }, explorer.t("frame.left-out-count", { count: leftOut.length })),
        h("p", null, h("code", null, leftOut.join(", ")))) : null);
  }
  const field = /** @type {HTMLInputElement} */ (h("input", {
    type: "text", class: "source", value: state.src, "data-key": "source", autocomplete: "off",
    spellcheck: "false", "aria-label": explorer.t("frame.source"), placeholder: explorer.t("frame.placeholder"),
  }));
  // A lesson keeps to its own sentence: another one leaves it.
  const leave = explorer.isInLesson && model.examples.length ? { lesson: 0, screen: state.screen === "lessons" ? "translate" : state.screen } : {};
  const ask = (/** @type {string} */ src) => explorer.go({ ...OTHER_SENTENCE, ...leave, src, sent: 0 }, { remember: true });
  const examples = [["", explorer.t("frame.example")], ...model.examples.map((/** @type {string} */ text) => [text, text])];
  return h("form", {
    class: "question", "aria-label": explorer.t("frame.source"),
    onsubmit: (/** @type {Event} */ event) => {
      event.preventDefault();
      // Enter in another field sends the form, too: the place that was chosen stays.
      if (field.value.trim() !== state.src) ask(field.value.trim());
    },
  },
  h("div", { class: "question-line" }, field,
    h("button", { type: "submit", class: "primary", "data-key": "go" }, explorer.t("frame.go"))),
  h("div", { class: "question-line" },
    model.examples.length ? select(explorer.t("frame.examples"), /** @type {any} */ (examples), state.src, (src) => src && ask(src)) : null,
    number(explorer.t("frame.beam"), state.beam, { min: 1, max: model.max_beam }, (beam) => explorer.go({ ...ANEW, beam })),
    number(explorer.t("frame.alpha"), state.lp < 0 ? model.decoding.length_penalty : state.lp, { min: 0, max: 5, step: 0.1 }, (lp) => explorer.go({ ...ANEW, lp })),
    state.prefix
      ? h("button", { type: "button", class: "chip", "data-key": "drop-prefix", onclick: () => explorer.go({ ...ANEW, prefix: "" }, { remember: true }) },
        `${explorer.t("frame.drop-prefix", { prefix: state.prefix })} ×`)
      : null));
}

/**
 * Return the source and the translation in pieces; a piece of the translation chooses its step.
 * @param {Explorer} explorer
 * @param {import("app/trace.js").Trace} trace
 */
export function strips(explorer, trace) {
  const { rows, sentence } = trace;
  const row = explorer.row(rows.length);
  return h("section", { class: "strips", "aria-label": explorer.t("frame.translation") },
    pieces(explorer.t("frame.source-strip"), sentence.source_pieces, {
      key: "source-piece",
      title: (place) => explorer.t("frame.piece-title", { place, number: sentence.source_ids?.[place] ?? "–" }),
    }),
    h("span", { class: "arrow", "aria-hidden": "true" }, "→"),
    pieces(explorer.t("frame.target-strip"), sentence.writes, {
      key: "target-piece",
      chosen: row,
      choose: (t) => explorer.go({ t }),
      title: (t) => explorer.t("frame.row-title", { step: t + 1, reads: rows[t].reads, writes: rows[t].writes, p: percent(rows[t].probability) }),
    }), unfamiliar(explorer, trace), unknown(explorer, sentence.source_pieces));
}

/**
 * Say that the model does not know such a sentence. The verdict is on translations of its own search.
 * @param {Explorer} explorer
 * @param {import("app/trace.js").Trace} trace
 */
function unfamiliar(explorer, trace) {
  if (!trace.unfamiliar || explorer.state.target) return null;
  return h("p", { class: "unknown", role: "note" }, explorer.t("frame.unfamiliar"));
}

/** Say what a source has lost: the model cannot see which characters these were. @param {Explorer} explorer @param {string[]} source */
function unknown(explorer, source) {
  const many = source.filter((piece) => piece === "<unk>").length;
  return many ? h("p", { class: "unknown", role: "note" }, explorer.t("frame.unknown", { many })) : null;
}

/**
 * Return what takes the page along: Python code and files.
 * @param {Explorer} explorer
 * @param {import("app/explorer.js").Screen} screen
 * @param {any} data
 * @param {import("app/trace.js").Trace | null} trace
 */
export function takeAway(explorer, screen, data, trace) {
  const code = screen.python?.(explorer, data);
  const said = h("span", { role: "status", class: "quiet" });
  const copy = async () => {
    await navigator.clipboard.writeText(/** @type {string} */ (code));
    said.textContent = explorer.t("frame.copied");
  };
  const weights = screen.figure?.(explorer, data) ?? null;
  const link = (/** @type {string} */ form, /** @type {Record<string, any>} */ options = {}) => h("li", null,
    trace && download(explorer, trace, explorer.backend.exportAddress(trace.id, form, options), `export:${form}`, explorer.t(`frame.export.${form}`)));
  return h("footer", { class: "take-away" },
    code ? h("details", { class: "python" }, h("summary", { "data-key": "python" }, "Python"), h("pre", null, h("code", null, code)),
      h("button", { type: "button", onclick: copy, "data-key": "copy" }, explorer.t("frame.copy")), said) : null,
    trace && explorer.backend.interactive ? h("details", { class: "export" }, h("summary", { "data-key": "export" }, explorer.t("frame.export")),
      h("ul", null, link("html", { state: location.hash }), link("json"), link("safetensors"),
        weights ? [link("svg", { name: weights }), link("png", { name: weights })] : null)) : null);
}
