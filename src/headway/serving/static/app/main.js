// @ts-check
/** The beginning: ask for the model, then draw the page again after every change of the state. */

import { About } from "app/about.js";
import { h } from "app/dom.js";
import { Explorer } from "app/explorer.js";
import { header, question, strips, tabs, takeAway } from "app/frame.js";
import { lessonBar } from "app/lesson-question.js";
import { Network, Refusal } from "app/network.js";
import { heading } from "app/parts.js";
import { refusalWords } from "app/refusals.js";
import { SCREENS } from "app/screens.js";
import { sentenceChoice } from "app/sentences.js";
import * as tooltip from "app/tooltip.js";

/** @typedef {import("app/trace.js").Trace} Trace */

const PATIENCE = 150; // milliseconds before the page says that it waits

/** The page around the explorer: it draws, and keeps the focus where the reader had it. */
class Page {
  /** @param {Explorer} explorer @param {HTMLElement} place */
  constructor(explorer, place) {
    this.explorer = explorer;
    this.place = place;
    this.about = new About(explorer);
    this.drawing = 0;
    this.screen = h("main", { id: "screen", tabindex: "-1" });
    explorer.about = (subject) => this.about.show(subject);
    explorer.store.listen((state, before) => {
      if (state.lang !== before.lang) this.about.translate();
      this.draw(state.screen !== before.screen);
    });
  }

  /** @param {boolean} [isNew]  whether another screen begins */
  async draw(isNew = false) {
    const { explorer } = this;
    this.drawing += 1;
    const mine = this.drawing;
    const { theme, screen: id } = explorer.state;
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
    document.documentElement.classList.toggle("bare", explorer.state.bare !== "");
    document.documentElement.lang = explorer.language;
    const screen = SCREENS.find((own) => own.id === id) ?? SCREENS[0];
    const waiting = setTimeout(() => this.screen.setAttribute("aria-busy", "true"), PATIENCE);
    /** @type {Promise<void> | null} */
    let paragraph = null;
    try {
      await explorer.loadModel();
      if (mine !== this.drawing) return;
      explorer.ensureSource();
      if (mine !== this.drawing) return; // the sentence has just been chosen, which draws anew
      const needs = screen.needsSource?.(explorer) ?? true;
      const isAsked = explorer.state.src !== "" || !explorer.backend.interactive;
      await explorer.loadSentences().catch((error) => {
        if (needs) throw error;
      });
      if (mine !== this.drawing) return;
      const early = isAsked ? screen.begin?.(explorer) : null;
      if (early) this.show(screen, [early], null, isNew);
      // A refusal of the chosen sentence is shown with the translations of the others.
      paragraph = explorer.loadParagraph();
      paragraph.catch(() => {});
      const trace = isAsked ? await (screen.trace?.(explorer) ?? explorer.trace()).catch((error) => {
        if (needs) throw error;
        return null;
      }) : null;
      const isReady = trace !== null || !needs;
      const data = isReady ? await screen.load(explorer) : null;
      const lesson = await lessonBar(explorer);
      await paragraph;
      if (mine !== this.drawing) return;
      const shown = isReady
        ? screen.render(explorer, data)
        : heading(explorer.t(`screen.${screen.id}`), explorer.t("frame.empty"));
      this.show(screen, [shown, isReady && takeAway(explorer, screen, data, trace)], trace, isNew, lesson);
      this.about.rest(isReady && screen.subject ? screen.subject(explorer, data) : null, isNew);
    } catch (error) {
      await paragraph?.catch(() => {});
      if (mine === this.drawing) this.complain(screen, error, isNew);
    } finally {
      clearTimeout(waiting);
      if (mine === this.drawing) {
        this.screen.removeAttribute("aria-busy");
        document.documentElement.dataset.drawn = location.hash; // the tests wait for it
      }
    }
  }

  /**
   * @param {import("app/explorer.js").Screen} screen
   * @param {import("app/dom.js").Child[]} content
   * @param {Trace | null} trace
   * @param {boolean} isNew
   * @param {HTMLElement | null} [lesson]   the question that led here
   */
  show(screen, content, trace, isNew, lesson = null) {
    const { explorer } = this;
    const focus = keyOf(document.activeElement);
    const typed = /** @type {HTMLInputElement | null} */ (this.place.querySelector("input.source"))?.value;
    const answered = /** @type {HTMLInputElement | null} */ (this.place.querySelector(".lesson-bar input"))?.value;
    const [x, y] = [scrollX, scrollY];
    const opened = isNew ? [] : [...this.place.querySelectorAll("details[open] > summary")].map(keyOf);
    tooltip.hide();
    document.title = `${explorer.t(`screen.${screen.id}`)} · Headway`;
    this.screen.className = `screen screen-${screen.id}`;
    // A picture that is kept for later would keep the whole page that it was in.
    for (const old of this.screen.querySelectorAll("canvas")) old.remove();
    this.screen.replaceChildren(h("div", null, content));
    if (isNew) this.about.rest(null, true);
    this.place.replaceChildren(
      h("a", { class: "skip", href: "#screen", onclick: (/** @type {Event} */ event) => { event.preventDefault(); this.screen.focus(); } }, explorer.t("frame.skip")),
      header(explorer), tabs(explorer), question(explorer), ...(lesson ? [lesson] : []),
      ...(explorer.sentences.length > 1 ? [sentenceChoice(explorer)] : []),
      ...(trace ? [strips(explorer, trace)] : []),
      h("div", { class: "desk" }, this.screen, this.about.element));
    for (const summary of this.place.querySelectorAll("details > summary")) {
      const key = keyOf(summary);
      if (key && opened.includes(key)) /** @type {HTMLDetailsElement} */ (summary.parentElement).open = true;
    }
    const answer = /** @type {HTMLInputElement | null} */ (this.place.querySelector(".lesson-bar input"));
    if (answer && answered !== undefined) answer.value = answered;
    const field = /** @type {HTMLInputElement | null} */ (this.place.querySelector("input.source"));
    if (field && focus === "source" && typed !== undefined) field.value = typed;
    if (focus) /** @type {HTMLElement | null} */ (this.place.querySelector(`[data-key="${CSS.escape(focus)}"]`))?.focus({ preventScroll: true });
    scrollTo(x, y);
  }

  /** @param {import("app/explorer.js").Screen} screen @param {unknown} error @param {boolean} isNew */
  complain(screen, error, isNew) {
    const { explorer } = this;
    if (!(error instanceof Refusal)) console.error(error);
    const box = h("div", { class: "refusal", role: "alert" }, refusalWords(explorer, error),
      h("button", { type: "button", onclick: () => this.draw() }, explorer.t("frame.again")));
    if (explorer.model) this.show(screen, [box], null, isNew);
    else this.place.replaceChildren(box);
  }
}

/** @param {Element | null} element */
function keyOf(element) {
  return element instanceof HTMLElement || element instanceof SVGElement ? element.dataset.key ?? "" : "";
}

/** @param {any} backend */
export async function start(backend) {
  const place = /** @type {HTMLElement} */ (document.getElementById("app"));
  const explorer = new Explorer(backend, await backend.models());
  const page = new Page(explorer, place);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => page.draw());
  await page.draw(true);
}

if (!document.getElementById("answers")) start(new Network());
