// @ts-check
/**
 * Elements made by calls: `h("button", {class: "plain", onclick: go}, "Go")`.
 *
 * An attribute that begins with `on` is a listener; `true` is an attribute without a value; false,
 * null and undefined leave it away. Children are nodes, texts, numbers, lists of them, or nothing.
 * A text may have mathematics in it, as `app/mathematics.js` marks it.
 */

import { mathNodes, plainText } from "app/mathematics.js";

const SVG = "http://www.w3.org/2000/svg";
/** What can show characters only. */
const CHARACTERS = ["option", "title"];

/**
 * @typedef {Node | string | number | false | null | undefined} Leaf
 * @typedef {Leaf | any[]} Child
 * @typedef {Record<string, any>} Attributes
 */

/**
 * Return a new HTML element.
 * @param {string} tag
 * @param {Attributes | null} [attributes]
 * @param {...Child} children
 * @returns {HTMLElement}
 */
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  fill(element, attributes, children);
  return element;
}

/**
 * Return a new SVG element.
 * @param {string} tag
 * @param {Attributes | null} [attributes]
 * @param {...Child} children
 * @returns {SVGElement}
 */
export function s(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  fill(element, attributes, children);
  return element;
}

/**
 * Return a formula, from MathML that the server made of the catalog.
 * @param {string} mathml
 * @returns {Node}
 */
export function formula(mathml) {
  const template = document.createElement("template");
  template.innerHTML = mathml;
  return template.content;
}

/**
 * @param {Element} element
 * @param {Attributes | null | undefined} attributes
 * @param {Child[]} children
 */
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : plainText(String(value)));
  }
  append(element, children);
}

/**
 * @param {Node} parent
 * @param {Child[]} children
 */
function append(parent, children) {
  for (const child of children) {
    if (Array.isArray(child)) append(parent, child);
    else if (child instanceof Node) parent.appendChild(child);
    else if (child !== false && child !== null && child !== undefined) {
      parent.append(...shown(parent, String(child)));
    }
  }
}

/** @param {Node} parent @param {string} text @returns {(Node | string)[]} */
function shown(parent, text) {
  const isPlain = /** @type {Element} */ (parent).namespaceURI === SVG || CHARACTERS.includes(parent.nodeName.toLowerCase());
  return isPlain ? [plainText(text)] : mathNodes(text);
}
