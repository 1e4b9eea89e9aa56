// @ts-check
/** Small parts that several screens are made of. */

import { h } from "app/dom.js";
import { percent } from "app/numbers.js";

/** @typedef {import("app/dom.js").Child} Child */

/**
 * Return a choice among a few, as buttons side by side.
 * @param {string} label
 * @param {[any, string][]} options   values with their words
 * @param {any} value
 * @param {(value: any) => void} choose
 */
export function choice(label, options, value, choose) {
  return h("div", { class: "choice", role: "group", "aria-label": label },
    options.map(([own, words]) =>
      h("button", {
        type: "button", "aria-pressed": String(own === value), "data-key": `${label}:${own}`,
        onclick: () => choose(own),
      }, words)));
}

/**
 * Return a list to choose from, with its label.
 * @param {string} label
 * @param {[any, string][]} options
 * @param {any} value
 * @param {(value: string) => void} choose
 */
export function select(label, options, value, choose) {
  return h("label", { class: "field" }, h("span", null, label),
    h("select", { "data-key": `select:${label}`, onchange: (/** @type {Event} */ event) => choose(/** @type {HTMLSelectElement} */ (event.target).value) },
      options.map(([own, words]) => h("option", { value: own, selected: String(own) === String(value) }, words))));
}

/**
 * Return a number to type or step, with its label; what is out of bounds is taken to the bound.
 * @param {string} label
 * @param {number} value
 * @param {{min: number, max: number, step?: number}} bounds
 * @param {(value: number) => void} choose
 */
export function number(label, value, { min, max, step = 1 }, choose) {
  return h("label", { class: "field" }, h("span", null, label),
    h("input", {
      type: "number", value, min, max, step, "data-key": `number:${label}`,
      onchange: (/** @type {Event} */ event) => {
        const typed = Number(/** @type {HTMLInputElement} */ (event.target).value);
        // First the focus goes where the reader sent it; what is drawn anew would take it away.
        setTimeout(() => choose(Math.min(max, Math.max(min, Number.isFinite(typed) ? typed : value))));
      },
    }));
}

/**
 * Return a slider with its label and its value.
 * @param {string} label
 * @param {number} value
 * @param {{min: number, max: number, step?: number}} bounds
 * @param {(value: number) => void} choose
 * @param {string} [words]   what stands for the value
 */
export function slider(label, value, { min, max, step = 1 }, choose, words) {
  return h("label", { class: "field slider" }, h("span", null, `${label}: ${words ?? value}`),
    h("input", {
      type: "range", value, min, max, step, "data-key": `slider:${label}`,
      oninput: (/** @type {Event} */ event) => choose(Number(/** @type {HTMLInputElement} */ (event.target).value)),
    }));
}

/**
 * Return a switch with its label.
 * @param {string} label
 * @param {boolean} value
 * @param {(value: boolean) => void} choose
 */
export function toggle(label, value, choose) {
  return h("label", { class: "toggle" },
    h("input", { type: "checkbox", checked: value, "data-key": `toggle:${label}`, onchange: (/** @type {Event} */ event) => choose(/** @type {HTMLInputElement} */ (event.target).checked) }),
    h("span", null, label));
}

/**
 * Return a bar as long as a share of the whole, with words before and the share behind it.
 * @param {Child} words
 * @param {number} share   0 to 1
 * @param {{kind?: string, onclick?: () => void, key?: string, label?: string}} [options]
 */
export function bar(words, share, { kind = "", onclick, key, label } = {}) {
  const inside = [
    h("span", { class: "bar-words" }, words),
    h("span", { class: "bar-track", "aria-hidden": "true" }, h("span", { class: "bar-filled", style: `width: ${(100 * share).toFixed(2)}%` })),
    h("span", { class: "bar-share" }, percent(share)),
  ];
  return onclick
    ? h("button", { type: "button", class: `bar ${kind}`, onclick, "data-key": key, "aria-label": label }, inside)
    : h("div", { class: `bar ${kind}` }, inside);
}

/**
 * Return pieces of a sentence to choose from; the arrow keys go from one to the next.
 * @param {string} label
 * @param {string[]} pieces
 * @param {{chosen?: number, choose?: (place: number) => void, tint?: (place: number) => string | null, title?: (place: number) => string, key: string}} options
 */
export function pieces(label, pieces, { chosen = -1, choose, tint, title, key }) {
  const list = h("div", { class: "pieces", role: "group", "aria-label": label });
  pieces.forEach((piece, place) => {
    const attributes = {
      class: `piece${place === chosen ? " chosen" : ""}`,
      style: tint?.(place) ? `--tint: ${tint(place)}` : null,
      title: title?.(place),
    };
    list.appendChild(choose
      ? h("button", {
        ...attributes, type: "button", "data-key": `${key}:${place}`, "aria-pressed": String(place === chosen),
        onclick: () => choose(place),
        onkeydown: (/** @type {KeyboardEvent} */ event) => walk(event, list),
      }, piece)
      : h("span", attributes, piece));
  });
  return list;
}

/**
 * Move the focus to the neighbour that an arrow key points at.
 * @param {KeyboardEvent} event
 * @param {HTMLElement} list
 */
export function walk(event, list) {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (step === undefined) return;
  const all = /** @type {HTMLElement[]} */ ([...list.querySelectorAll("button, [tabindex]")]);
  const next = all[all.indexOf(/** @type {HTMLElement} */ (document.activeElement)) + step];
  next?.focus();
  event.preventDefault();
}

/**
 * Return a heading with a sentence that says what there is to see.
 * @param {string} title
 * @param {Child} sentence
 */
export function heading(title, sentence) {
  return h("header", { class: "screen-heading" }, h("h1", { tabindex: "-1" }, title), h("p", null, sentence));
}
