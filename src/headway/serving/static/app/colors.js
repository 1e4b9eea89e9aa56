// @ts-check
/**
 * Colours of numbers: one hue from nothing to much, or blue below and orange above zero.
 *
 * Colour never says anything alone: masked cells are hatched, chosen ones outlined, all have numbers.
 */

/** @typedef {[number, number, number]} Rgb */
/** @typedef {"share" | "signed"} Scale */

/** @type {Record<"light" | "dark", {zero: Rgb, much: Rgb, below: Rgb, above: Rgb}>} */
const INKS = {
  light: { zero: [247, 249, 252], much: [8, 48, 107], below: [33, 102, 172], above: [196, 86, 0] },
  dark: { zero: [24, 28, 36], much: [158, 202, 255], below: [92, 160, 235], above: [255, 158, 74] },
};
/** @type {Rgb} */
const MIDDLE_LIGHT = [66, 146, 198];
/** @type {Rgb} */
const MIDDLE_DARK = [33, 102, 172];

/** Tell whether the page is dark now. */
export function isDark() {
  const theme = document.documentElement.dataset.theme;
  if (theme === "dark" || theme === "light") return theme === "dark";
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

/**
 * Return the colour of a number.
 * @param {number} value
 * @param {number} limit   the number with the strongest colour
 * @param {Scale} scale
 * @param {boolean} [dark]
 * @returns {Rgb}
 */
export function colorOf(value, limit, scale, dark = isDark()) {
  const inks = INKS[dark ? "dark" : "light"];
  const strength = limit > 0 ? Math.min(1, Math.abs(value) / limit) : 0;
  if (scale === "signed") return mix(inks.zero, value < 0 ? inks.below : inks.above, strength);
  const middle = dark ? MIDDLE_DARK : MIDDLE_LIGHT;
  return strength < 0.5
    ? mix(inks.zero, middle, strength * 2)
    : mix(middle, inks.much, strength * 2 - 1);
}

/**
 * Return a colour as CSS writes it.
 * @param {Rgb} color
 * @returns {string}
 */
export function css(color) {
  return `rgb(${color.join(" ")})`;
}

/**
 * Return black or white, whichever has more contrast with a colour (as WCAG measures it).
 * @param {Rgb} color
 * @returns {string}
 */
export function inkOn(color) {
  const [red, green, blue] = color.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.19 ? "#10141c" : "#ffffff";
}

/**
 * @param {Rgb} from
 * @param {Rgb} to
 * @param {number} share
 * @returns {Rgb}
 */
function mix(from, to, share) {
  return /** @type {Rgb} */ (from.map((value, place) => Math.round(value + (to[place] - value) * share)));
}
