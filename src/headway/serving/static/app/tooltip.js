// @ts-check
/** The one small box beside the pointer, or beside what the keyboard is on. */

import { h } from "app/dom.js";

/** @type {HTMLElement | null} */
let box = null;

/**
 * Show lines of text near a point of the window.
 * @param {string[]} lines
 * @param {number} x
 * @param {number} y
 */
export function show(lines, x, y) {
  if (box === null || !box.isConnected) {
    box = h("div", { class: "tooltip", role: "tooltip", id: "tooltip", "aria-live": "polite" });
    document.body.appendChild(box);
  }
  box.replaceChildren(...lines.map((line) => h("div", null, line)));
  box.hidden = false;
  const { width, height } = box.getBoundingClientRect();
  const right = x + 16 + width > innerWidth ? Math.max(4, x - width - 12) : x + 16;
  const below = y + 16 + height > innerHeight ? Math.max(4, y - height - 12) : y + 16;
  box.style.left = `${right}px`;
  box.style.top = `${below}px`;
}

/** Take the box away. */
export function hide() {
  if (box !== null) box.hidden = true;
}
