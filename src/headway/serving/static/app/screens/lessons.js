// @ts-check
/** Ten lessons: a short text, a state of the explorer to look at, and a question that can be checked. */

import { rowOf } from "app/about.js";
import { LESSONS, request, sentenceOf } from "app/answers.js";
import { h } from "app/dom.js";
import { question, solved } from "app/lesson-question.js";
import { heading } from "app/parts.js";
import { loadLine, quoted, searchLines, searchOf } from "app/python.js";

/** @typedef {import("app/explorer.js").Explorer} Explorer */
/** @typedef {import("app/answers.js").Answer} Answer */
/** @typedef {{number: number, answer: Answer | null, sentence: string}} Data */

/** @param {Explorer} explorer @returns {Promise<Data>} */
async function load(explorer) {
  const number = Math.max(0, Math.min(LESSONS.length, Math.round(explorer.state.lesson)));
  const { interactive } = explorer.backend;
  const sentence = interactive ? sentenceOf(explorer) : (await explorer.trace()).sentence.source;
  if (number === 0 || sentence === "") return { number, answer: null, sentence };
  const answer = explorer.ask("answer", [explorer.state.model, number, sentence], () => LESSONS[number - 1].answer(explorer));
  // A page in one file may not hold what a lesson looks at.
  return { number, answer: interactive ? await answer : await answer.catch(() => null), sentence };
}

/** @param {Explorer} explorer @param {Data} data */
function render(explorer, { number, answer, sentence }) {
  if (number === 0) return contents(explorer);
  const title = explorer.t("lessons.heading", { number, title: explorer.t(`lessons.${number}.title`) });
  return h("div", { class: "lesson" },
    steps(explorer, number),
    heading(title, explorer.t(`lessons.${number}.sentence`)),
    h("div", { class: "lesson-text" }, explorer.t(`lessons.${number}.text`).split("\n\n").map((part) => h("p", null, part))),
    answer ? [show(explorer, number, answer), question(explorer, number, answer, sentence)]
      : h("p", { class: "panel" }, explorer.t(explorer.backend.interactive ? "lessons.no-sentence" : "lessons.needs-program")),
    h("nav", { class: "row lesson-ways", "aria-label": explorer.t("lessons.ways") },
      number > 1 ? link(explorer, number - 1, `← ${explorer.t("lessons.before")}`, "before") : null,
      link(explorer, 0, explorer.t("lessons.all"), "all"),
      number < LESSONS.length ? link(explorer, number + 1, `${explorer.t("lessons.next")} →`, "next") : null));
}

/** @param {Explorer} explorer @param {number} lesson @param {string} words @param {string} key */
function link(explorer, lesson, words, key) {
  return h("a", { href: explorer.address({ lesson }), "data-key": `lesson-${key}` }, words);
}

/** The list of lessons. @param {Explorer} explorer */
function contents(explorer) {
  const done = solved();
  const many = LESSONS.filter(({ id }) => done.includes(id)).length;
  return h("div", { class: "lessons" },
    heading(explorer.t("screen.lessons"), explorer.t("lessons.sentence")),
    h("p", { class: "quiet" }, explorer.t("lessons.progress", { done: many, of: LESSONS.length })),
    h("ol", { class: "lesson-list" }, LESSONS.map(({ id }, place) => h("li", null, h("a", {
      class: "lesson-card", href: explorer.address({ lesson: place + 1 }), "data-key": `lesson:${place + 1}`,
    }, h("span", { class: "lesson-number", "aria-hidden": "true" }, place + 1),
    h("span", { class: "lesson-words" }, h("strong", null, explorer.t(`lessons.${place + 1}.title`)), h("span", { class: "quiet" }, explorer.t(`lessons.${place + 1}.sentence`))),
    done.includes(id) ? h("span", { class: "lesson-done" }, `✓ ${explorer.t("lessons.solved")}`) : null)))));
}

/** @param {Explorer} explorer @param {number} number */
function steps(explorer, number) {
  const done = solved();
  return h("nav", { class: "lesson-steps", "aria-label": explorer.t("screen.lessons") }, LESSONS.map(({ id }, place) => {
    const isDone = done.includes(id);
    const title = `${place + 1}. ${explorer.t(`lessons.${place + 1}.title`)}${isDone ? ` (${explorer.t("lessons.solved")})` : ""}`;
    return h("a", {
      href: explorer.address({ lesson: place + 1 }), "aria-current": place + 1 === number ? "step" : null, "aria-label": title, title,
      class: isDone ? "done" : null, "data-key": `step:${place + 1}`,
    }, isDone ? `✓${place + 1}` : place + 1);
  }));
}

/** The saved state. @param {Explorer} explorer @param {number} number @param {Answer} answer */
function show(explorer, number, answer) {
  const sentence = sentenceOf(explorer);
  const chosen = { sent: 0, beam: 4, lp: -1, max: 0, temp: 0, target: "", prefix: "", edits: "", show: "", tab: "", at: "", name: "", q: 0, k: -1, t: 0, node: -1, h: -1, l: -1 };
  const asked = explorer.backend.interactive ? { ...chosen, src: sentence } : {};
  const address = explorer.address({ ...asked, lesson: number, ...answer.state });
  return h("p", { class: "lesson-show" },
    h("a", { class: "lesson-button", href: address, "data-key": "show-me" }, `${explorer.t("lessons.show", { screen: explorer.t(`screen.${answer.state.screen}`) })} →`),
    h("span", { class: "quiet" }, explorer.t(`lessons.${number}.look`), " ", explorer.t("lessons.back")));
}

/** @param {Explorer} explorer @param {Data} data */
function python(explorer, { number, sentence }) {
  const body = explorer.backend.interactive ? request(explorer) : { ...explorer.request(), source: sentence };
  if (number === LESSONS.length) return [...searchLines(explorer, body), "for number in found.ranking:", "    print(found.pieces(number), found.nodes[number])"].join("\n");
  const { imports, more } = searchOf(explorer, body);
  return ["import headway", ...imports, "", loadLine(explorer), `trace = translator.trace(${quoted(sentence)}${more})`, "print(trace)"].join("\n");
}

/** @type {import("app/explorer.js").Screen} */
export const lessons = {
  id: "lessons", load, render, python, needsSource: () => false,
  subject: (explorer, /** @type {Data} */ { answer }) => {
    if (answer === null) return { words: explorer.t("about.nothing") };
    const name = answer.work.map(([tensor]) => tensor).find((tensor) => rowOf(explorer.model, tensor));
    return { name: name ?? "log_probs" }; // which a search adds up
  },
};
