// @ts-check
/** What scrolls within the page: it keeps its place when the page is drawn anew, and keys reach it. */

/** @type {Map<string, [number, number]>} */
const PLACES = new Map();

/**
 * Keep what is scrolled within an element; where nothing is kept yet, show a point of it.
 * @param {Element | null} element
 * @param {string} key
 * @param {[number, number]} [point]   pixels from the left and the top
 */
export function keepScroll(element, key, point = [0, 0]) {
  if (element === null) return;
  element.addEventListener("scroll", () => PLACES.set(key, [element.scrollLeft, element.scrollTop]), { passive: true });
  queueMicrotask(() => { // by then the element is in the page
    const [left, top] = PLACES.get(key) ?? [point[0] - element.clientWidth / 2, point[1] - element.clientHeight / 2];
    element.scrollTo(Math.max(0, left), Math.max(0, top));
  });
}

/**
 * Let the keyboard reach an element if it must be scrolled to be read.
 * @template {HTMLElement} T
 * @param {T} element
 * @param {string} label
 * @returns {T}
 */
export function reachable(element, label) {
  element.setAttribute("role", "group");
  element.setAttribute("aria-label", label);
  queueMicrotask(() => {
    if (element.scrollWidth > element.clientWidth || element.scrollHeight > element.clientHeight) element.setAttribute("tabindex", "0");
  });
  return element;
}
