// @ts-check
/** Two lines of words with their links between them. */

import { h, s } from "app/dom.js";

/** @typedef {import("app/alignment/links.js").Link} Link */

const [GAP, PAD, HEIGHT, LINE] = [10, 12, 168, 34];

/**
 * @param {string} label
 * @param {string[]} sources
 * @param {string[]} targets
 * @param {Link[]} links
 * @param {{sure: Link[], possible: Link[]}} [gold]   links by hand, drawn beneath
 */
export function linkPicture(label, sources, targets, links, gold) {
  const [above, below] = [places(sources), places(targets)];
  const width = Math.max(above.width, below.width, 60);
  const shift = [(width - above.width) / 2, (width - below.width) / 2];
  /** @param {Link} link @param {string} kind */
  const line = ([source, target], kind) => {
    const [x1, x2] = [shift[0] + above.middle[source], shift[1] + below.middle[target]];
    const middle = HEIGHT / 2;
    return s("path", { class: kind, d: `M ${x1} ${LINE} C ${x1} ${middle}, ${x2} ${middle}, ${x2} ${HEIGHT - LINE}` });
  };
  /** @param {string[]} words @param {ReturnType<typeof places>} line @param {number} left @param {number} top */
  const word = (words, line, left, top) => words.map((text, place) => s("g", { class: "links-word" },
    s("rect", { x: left + line.middle[place] - line.wide[place] / 2, y: top, width: line.wide[place], height: LINE - 4, rx: 6 }),
    s("text", { x: left + line.middle[place], y: top + 20, "text-anchor": "middle" }, text)));
  return h("div", { class: "scroll links-picture", tabindex: "0", role: "group", "aria-label": label },
    s("svg", { width, height: HEIGHT, role: "img", "aria-label": `${label}: ${links.map(([source, target]) => `${sources[source]} – ${targets[target]}`).join(", ")}` },
      gold?.sure.map((link) => line(link, "links-gold")), gold?.possible.map((link) => line(link, "links-gold links-possible")),
      links.map((link) => line(link, "links-line")),
      word(sources, above, shift[0], 2), word(targets, below, shift[1], HEIGHT - LINE + 2)));
}

/** Return where words stand in a line. @param {string[]} words */
function places(words) {
  const context = document.createElement("canvas").getContext("2d");
  if (context) context.font = `15px ${getComputedStyle(document.body).fontFamily}`;
  const wide = words.map((word) => Math.max(28, (context?.measureText(word).width ?? word.length * 9) + 2 * PAD));
  let x = 2;
  const middle = wide.map((own) => {
    const here = x + own / 2;
    x += own + GAP;
    return here;
  });
  return { wide, middle, width: x - GAP + 2 };
}
