// @ts-check
/**
 * Mathematics within a text: "divide by `√d_k`" stands between back ticks in the texts, and becomes
 * MathML where an element shows it. Where only characters can be shown, as in a tooltip, it stays
 * as it is written.
 *
 * A subscript follows `_`, a superscript `^`: a name, a number, or a group in parentheses, which a
 * superscript shows without them. `√` has a bar over what follows it.
 */

const MATHML = "http://www.w3.org/1998/Math/MathML";
// Characters for private use: no sentence that a reader types has them.
const OPEN = "\uE000";
const CLOSE = "\uE001";
const FORMULA = new RegExp(`${OPEN}(.*?)${CLOSE}`);
const TOKEN = /\s+|\d+(?:[.,]\d+)*(?:e[-−+]?\d+)?|[A-Za-z]+|[Α-ω∞]|[^]/gu;

/** Return characters that an element shows as mathematics. @param {string} expression */
export const mathText = (expression) => `${OPEN}${expression}${CLOSE}`;

/** Mark what a text has between back ticks. @param {string} text */
export const markMath = (text) => text.replace(/`([^`]*)`/g, (_, expression) => mathText(expression));

/** Mark the roots of a calculation, which is too long to be mathematics as a whole: it has to break. @param {string} text */
export const markRoots = (text) => text.replace(/√(?:\([^()]*\)|[\d.,]+)/g, mathText);

/** Return a text in characters alone. @param {string} text */
export const plainText = (text) => text.replaceAll(OPEN, "").replaceAll(CLOSE, "");

/** Return the nodes that show a text. @param {string} text @returns {Node[]} */
export function mathNodes(text) {
  const nodes = text.split(FORMULA).map((part, place) => (place % 2 ? math(part) : document.createTextNode(part)));
  return nodes.filter((node) => node.textContent !== "");
}

/** Return the mathematics of an expression. @param {string} expression */
function math(expression) {
  const tokens = (expression.match(TOKEN) ?? []).filter((token) => token.trim());
  return element("math", ...sequence(tokens));
}

/** @param {string} name @param {...(Node | string)} children */
function element(name, ...children) {
  const made = document.createElementNS(MATHML, name);
  made.append(...children);
  return made;
}

/** Take tokens up to a closing parenthesis, or to the end. @param {string[]} tokens @returns {Element[]} */
function sequence(tokens) {
  const row = [];
  while (tokens.length && tokens[0] !== ")") row.push(scripted(tokens));
  return row;
}

/** Take one thing with what stands below and above it. @param {string[]} tokens */
function scripted(tokens) {
  let base = single(tokens);
  while (tokens[0] === "_" || tokens[0] === "^") {
    const kind = tokens.shift() === "_" ? "msub" : "msup";
    base = element(kind, base, tokens[0] === "(" ? group(tokens) : single(tokens));
  }
  return base;
}

/** @param {string[]} tokens @returns {Element} */
function single(tokens) {
  if (tokens[0] === "(") return element("mrow", operator("("), group(tokens), operator(")"));
  const token = tokens.shift() ?? "";
  if (token === "√") return element("msqrt", tokens[0] === "(" ? group(tokens) : scripted(tokens));
  if (/^\d/.test(token)) return element("mn", token);
  return /^[A-Za-zΑ-ω∞]/.test(token) ? element("mi", token) : operator(token);
}

/** Take a group, without its parentheses. @param {string[]} tokens */
function group(tokens) {
  tokens.shift();
  const row = element("mrow", ...sequence(tokens));
  tokens.shift();
  return row;
}

/** @param {string} sign */
function operator(sign) {
  const made = element("mo", sign);
  if ("()|".includes(sign)) {
    // A bar may open or close; without a form it would get the space of a relation.
    for (const [name, value] of [["stretchy", "false"], ["lspace", "0"], ["rspace", "0"]]) made.setAttribute(name, value);
  }
  return made;
}
