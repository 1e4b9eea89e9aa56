// @ts-check
/** Korean particles, which have one form after a consonant and another after a vowel. */

/** @type {Record<string, [string, string]>} */
const FORMS = { "을(를)": ["을", "를"], "은(는)": ["은", "는"], "이(가)": ["이", "가"], "(으)로": ["으로", "로"] };
const DIGITS = "영일이삼사오육칠팔구";
const RIEUL = 8; // which 로 follows like a vowel

/**
 * Choose the form of each particle that stands behind Hangul, a digit or a per cent sign, also where
 * the digit ends mathematics. What other letters sound like is not known: behind them both forms stay.
 * @param {string} text
 */
export function withParticles(text) {
  return text.replace(/([가-힣\d%])([”’»"')\]\uE001]*)(을\(를\)|은\(는\)|이\(가\)|\(으\)로)/g, (_, last, closing, both) => {
    const syllable = last === "%" ? "트" : DIGITS[last] ?? last;
    const final = (syllable.charCodeAt(0) - "가".charCodeAt(0)) % 28;
    const isOpen = final === 0 || (both === "(으)로" && final === RIEUL);
    return last + closing + FORMS[both][isOpen ? 1 : 0];
  });
}
