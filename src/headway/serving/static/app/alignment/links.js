// @ts-check
/** Links between words: read, written, changed; source word first, both counted from 0. */

/** @typedef {[number, number]} Link   source word, target word */

/**
 * Read links of Pharaoh's form, `0-0 1-2`; `1?2` and `1p2` are possible ones, where these are asked for.
 * What is no link, or of a word that is not there, is left out.
 * @param {string} text
 * @param {number} sources
 * @param {number} targets
 * @returns {{sure: Link[], possible: Link[]}}
 */
export function parse(text, sources, targets) {
  /** @type {{sure: Link[], possible: Link[]}} */
  const found = { sure: [], possible: [] };
  for (const [, source, kind, target] of text.matchAll(/(?<!\S)(\d+)([-p?])(\d+)(?!\S)/g)) {
    const link = /** @type {Link} */ ([Number(source), Number(target)]);
    if (link[0] < sources && link[1] < targets) (kind === "-" ? found.sure : found.possible).push(link);
  }
  return found;
}

/** Return links as Pharaoh writes them, in order. @param {Link[]} links */
export function pharaoh(links) {
  return [...links].sort(([a, b], [c, d]) => a - c || b - d).map(([source, target]) => `${source}-${target}`).join(" ");
}

/** @param {Link[]} links @param {Link} link */
export function has(links, [source, target]) {
  return links.some((own) => own[0] === source && own[1] === target);
}

/** Take a link away, or set it where it is not. @param {Link[]} links @param {Link} link @returns {Link[]} */
export function toggled(links, link) {
  const without = links.filter((own) => own[0] !== link[0] || own[1] !== link[1]);
  return without.length < links.length ? without : [...links, link];
}
