"""Find the script of a text, by the Unicode names of its letters."""

import difflib
import re
import sys
import unicodedata
from collections import Counter
from functools import cache

from headway.data.languages import language_code
from headway.errors import ConfigError

# Japanese mixes them in every sentence.
_ONE_SCRIPT = {"IDEOGRAPHIC": "CJK", "HIRAGANA": "CJK", "KATAKANA": "CJK", "BOPOMOFO": "CJK"}
_LATIN = re.compile("[A-Za-z]")  # of ASCII
# Without languages that are written in several scripts, such as Serbian.
_LANGUAGES = {
    "ARABIC": "ar fa ps ur", "ARMENIAN": "hy", "BENGALI": "as bn", "CJK": "ja zh",
    "CYRILLIC": "be bg mk ru uk", "DEVANAGARI": "hi mr ne", "ETHIOPIC": "am ti",
    "GEORGIAN": "ka", "GREEK": "el", "GUJARATI": "gu", "HANGUL": "ko", "HEBREW": "he yi",
    "KANNADA": "kn", "KHMER": "km", "LAO": "lo", "MALAYALAM": "ml", "MYANMAR": "my",
    "SINHALA": "si", "TAMIL": "ta", "TELUGU": "te", "THAI": "th",
    "LATIN": "af ca cs cy da de en eo es et eu fi fr ga gl hr hu id is it la lt lv nl no pl pt ro "
    "sk sl so sq sv sw tl tr vi xh yo zu",
}  # fmt: skip
_SCRIPT_OF = {code: script for script, codes in _LANGUAGES.items() for code in codes.split()}
# Chinese characters, kana and their punctuation.
_IDEOGRAPHS = re.compile(
    "[\u3000-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]"
)
OTHER_SPACELESS = "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff]"
"""A pattern of the characters of Thai, Lao, Tibetan, Burmese and Khmer."""
_OTHER_SPACELESS = re.compile(OTHER_SPACELESS)


def main_script(text: str, preferred: str = "") -> str:
    """Return the script with the most letters, such as `LATIN`; empty without any letter.

    preferred: the script that wins a tie; otherwise the first one in the text does.
    """
    if text.isascii():  # most lines of many corpora
        return "LATIN" if _LATIN.search(text) else ""
    counts: Counter[str] = Counter()
    for character, count in Counter(text).items():
        if script := _script(character):
            counts[script] += count
    if not counts:
        return ""
    first, most = counts.most_common(1)[0]
    return preferred if counts[preferred] == most else first


@cache
def _script(character: str) -> str:
    """Return the script of a letter, which is the first word of its Unicode name."""
    if not character.isalpha():
        return ""
    plain = unicodedata.normalize("NFKC", character)[0]  # full-width A is A
    script = unicodedata.name(plain, "").partition(" ")[0].partition("-")[0]
    return _ONE_SCRIPT.get(script, script)


def is_ideographic(character: str) -> bool:
    """Return True for a Chinese character, kana, or their punctuation."""
    return bool(_IDEOGRAPHS.match(character))


def is_spaceless(character: str) -> bool:
    """Return True for a character of a script that puts no spaces between words."""
    return bool(_IDEOGRAPHS.match(character) or _OTHER_SPACELESS.match(character))


def is_in_word(character: str) -> bool:
    """Return True for a letter or a digit of a script that puts spaces between words."""
    return character.isalnum() and not is_spaceless(character)


def takes_particles(character: str) -> bool:
    """Return True for a letter of a script in which particles follow words without a space."""
    return _script(character) == "HANGUL"


def script_name(script: str) -> str:
    """Return a script of `main_script` in its usual spelling: Hangul, Latin, CJK."""
    return script if script in _ONE_SCRIPT.values() else script.capitalize()


def script_of_language(name: str) -> str:
    """Return the script, as `main_script` does, of a language by its name or code; empty if unsure.

    >>> script_of_language("Korean"), script_of_language("en-US"), script_of_language("ko-Latn")
    ('HANGUL', 'LATIN', '')
    """
    code, _, region = language_code(name).partition("-")
    return "" if len(region) == 4 else _SCRIPT_OF.get(code, "")  # four letters name a script


@cache
def check_script(name: str) -> str:
    """Return the name of a script as `main_script` gives it; ConfigError for an unknown name."""
    requested = name.upper()
    requested = _ONE_SCRIPT.get(requested, requested)
    if requested not in (known := _scripts()):
        # Stricter than for other names: the name of a language is not a mistyped script.
        near = difflib.get_close_matches(requested, known, n=1, cutoff=0.75)
        question = f"Did you mean '{near[0].lower()}'? " if near else ""
        raise ConfigError(
            f"There is no script '{name}'.",
            f"{question}Their names are Unicode's: hangul, latin, cjk, cyrillic, arabic.",
        )
    return requested


@cache
def _scripts() -> tuple[str, ...]:
    letters = map(chr, range(sys.maxunicode + 1))
    return tuple(sorted({_script.__wrapped__(letter) for letter in letters} - {""}))
