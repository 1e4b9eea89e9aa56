// @ts-check
/** The question of a lesson: on the lesson's own page, and in a bar where it says "show me". */

import { judge, LESSONS, readNumber, sentenceOf } from "app/answers.js";
import { h } from "app/dom.js";

/** @typedef {import("app/explorer.js").Explorer} Explorer */
/** @typedef {import("app/answers.js").Answer} Answer */

const KEY = "headway.lessons";

/** Return the ids of the lessons that were solved; storage may be closed. @returns {string[]} */
export function solved() {
  try {
    const found = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(found) ? found : [];
  } catch {
    return [];
  }
}

/** @param {string} id */
function remember(id) {
  try {
    localStorage.setItem(KEY, JSON.stringify([...new Set([...solved(), id])]));
  } catch {
    // Without storage the page merely forgets.
  }
}

/** The numbers that a question gives. @param {Explorer} explorer @param {number} number @param {Answer} answer */
function given(explorer, number, { table }) {
  if (!table) return null;
  return h("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": explorer.t("lessons.given") }, h("table", { class: "lesson-given" },
    h("thead", null, h("tr", null, h("td"), table.head.map((piece) => h("th", { scope: "col" }, piece)))),
    h("tbody", null, table.rows.map((row, place) => h("tr", null, h("th", { scope: "row" }, explorer.t(`lessons.${number}.row${place + 1}`)), row.map((value) => h("td", null, value)))))));
}

/** @param {Explorer} explorer @param {number} number @param {Answer} answer @param {string} sentence */
export function question(explorer, number, answer, sentence) {
  return h("section", { class: "panel lesson-question", "aria-labelledby": "lesson-title" },
    h("h2", { id: "lesson-title" }, explorer.t("lessons.question")),
    h("p", { class: "quiet" }, explorer.t("lessons.of-sentence", { sentence })),
    h("p", { id: "lesson-question" }, explorer.t(`lessons.${number}.question`, answer.facts)),
    given(explorer, number, answer), ...answerForm(explorer, number, answer),
    worked(explorer, number, answer));
}

/** The field for the answer, and what is said of it. @param {Explorer} explorer @param {number} number @param {Answer} answer */
function answerForm(explorer, number, answer) {
  const said = h("p", { role: "status", class: "lesson-said" });
  const field = /** @type {HTMLInputElement} */ (h("input", { type: "text", inputmode: "text", id: "lesson-answer", autocomplete: "off", "data-key": "lesson-answer", "aria-describedby": "lesson-question" }));
  const say = (/** @type {string} */ kind, /** @type {string} */ words) => {
    said.className = `lesson-said ${kind}`;
    said.replaceChildren(h("span", null, words));
  };
  const check = (/** @type {Event} */ event) => {
    event.preventDefault();
    const typed = readNumber(field.value);
    if (!Number.isFinite(typed)) return say("wrong", explorer.t("lessons.not-a-number"));
    const { right, key } = judge(answer, typed);
    if (!right) return say("wrong", `${explorer.t("lessons.wrong")} ${explorer.t(key ?? `lessons.${number}.hint`, answer.facts)}`);
    remember(LESSONS[number - 1].id);
    say("right", `✓ ${explorer.t("lessons.right")}`);
  };
  return [
    h("form", { class: "row", onsubmit: check },
      h("label", { class: "field", for: "lesson-answer" }, h("span", null, explorer.t("lessons.answer"))), field,
      h("button", { type: "submit", class: "primary", "data-key": "lesson-check" }, explorer.t("lessons.check"))),
    said,
  ];
}

/** @param {Explorer} explorer @param {number} number @param {Answer} answer */
function worked(explorer, number, { work }) {
  return h("details", { class: "lesson-work" }, h("summary", { "data-key": `lesson-work:${number}` }, explorer.t("lessons.work")),
    h("ol", null, work.map(([name, line]) => h("li", null, name ? h("code", { class: "quiet" }, name) : null, h("div", { class: "number" }, line)))));
}

/**
 * Return the question of the lesson that led here, with the way back; nothing on other ways.
 * @param {Explorer} explorer
 * @returns {Promise<HTMLElement | null>}
 */
export async function lessonBar(explorer) {
  const { lesson, screen, model } = explorer.state;
  const sentence = sentenceOf(explorer);
  if (screen === "lessons" || !LESSONS[lesson - 1] || sentence === "" || !explorer.backend.interactive) return null;
  const answer = await explorer.ask("answer", [model, lesson, sentence], () => LESSONS[lesson - 1].answer(explorer));
  const title = explorer.t("lessons.heading", { number: lesson, title: explorer.t(`lessons.${lesson}.title`) });
  return h("section", { class: "lesson-bar", "aria-label": title },
    h("a", { href: explorer.address({ screen: "lessons" }), "data-key": "lesson-back" }, `← ${title}`),
    h("p", { id: "lesson-question" }, explorer.t(`lessons.${lesson}.question`, answer.facts)),
    given(explorer, lesson, answer), ...answerForm(explorer, lesson, answer));
}
