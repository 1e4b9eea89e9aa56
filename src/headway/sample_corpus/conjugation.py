"""Conjugate Korean verbs and adjectives from their dictionary forms, in the polite 합니다 level.

Three bases carry all endings: the plain stem (먹-, 듣-), the base before endings that begin
with 으 (먹으-, 들으-) and the infinitive (먹어, 들어). The classes 하다, ㄹ and ㅡ follow from
the spelling; the others do not (묻다 "ask" against 묻다 "bury"), so they are given by name.
"""

from functools import cache
from typing import Literal

from headway.sample_corpus.hangul import compose, decompose, final_of, vowel_of, with_final

Irregular = Literal["", "ㅂ", "ㄷ", "ㅅ", "ㅎ", "르"]

_BRIGHT = "ㅏㅑㅗ"
# Vowel of an open stem -> vowel of its infinitive; ㅟ and ㅢ stay apart (쉬어).
_CONTRACTED = {
    "ㅏ": "ㅏ", "ㅓ": "ㅓ", "ㅐ": "ㅐ", "ㅔ": "ㅔ", "ㅕ": "ㅕ",
    "ㅗ": "ㅘ", "ㅜ": "ㅝ", "ㅣ": "ㅕ", "ㅚ": "ㅙ",
}  # fmt: skip
_H_VOWELS = {"ㅏ": "ㅐ", "ㅑ": "ㅒ", "ㅓ": "ㅔ", "ㅕ": "ㅖ"}
# The only two ㅂ stems whose infinitive has 와 rather than 워.
_B_WITH_WA = ("돕", "곱")


def stem(dictionary: str) -> str:
    """Return the dictionary form without its 다."""
    if len(dictionary) < 2 or not dictionary.endswith("다"):
        raise ValueError(f"{dictionary!r} is not a dictionary form: it does not end in 다.")
    return dictionary[:-1]


def _ending_vowel(syllables: str) -> str:
    return "아" if vowel_of(syllables) in _BRIGHT else "어"


def _open_infinitive(base: str) -> str:
    last = decompose(base[-1])
    if last.vowel == "ㅡ":
        bright = len(base) > 1 and vowel_of(base[:-1]) in _BRIGHT
        return base[:-1] + compose(last.initial, "ㅏ" if bright else "ㅓ")
    if last.vowel in _CONTRACTED:
        return base[:-1] + compose(last.initial, _CONTRACTED[last.vowel])
    return base + "어"


@cache
def infinitive(dictionary: str, irregular: Irregular = "") -> str:
    """Return the base of the past and of -어서: 먹어, 가, 해, 도와, 들어, 지어, 빨개, 골라."""
    base = stem(dictionary)
    opened = with_final(base, "")
    if base.endswith("하"):
        return base[:-1] + "해"
    if irregular == "ㅂ":
        return opened + ("와" if base in _B_WITH_WA else "워")
    if irregular == "ㄷ":
        return with_final(base, "ㄹ") + _ending_vowel(base)
    if irregular == "ㅅ":
        return opened + _ending_vowel(base)
    if irregular == "ㅎ":
        last = decompose(base[-1])
        return base[:-1] + compose(last.initial, _H_VOWELS[last.vowel])
    if irregular == "르":
        before = base[:-1]
        return with_final(before, "ㄹ") + ("라" if vowel_of(before) in _BRIGHT else "러")
    if final_of(base):
        return base + _ending_vowel(base)
    return _open_infinitive(base)


@cache
def eu_base(dictionary: str, irregular: Irregular = "") -> str:
    """Return the open base before 으 endings: 먹으, 가, 도우, 들으, 지으, 빨가; 만들 keeps ㄹ."""
    base = stem(dictionary)
    if irregular == "ㅂ":
        return with_final(base, "") + "우"
    if irregular == "ㄷ":
        return with_final(base, "ㄹ") + "으"
    if irregular == "ㅅ":
        return with_final(base, "") + "으"
    if irregular == "ㅎ":
        return with_final(base, "")
    if final_of(base) in ("", "ㄹ"):
        return base
    return base + "으"


def _without_rieul(base: str) -> str:
    return with_final(base, "") if final_of(base) == "ㄹ" else base


def _polite(dictionary: str, ending: str) -> str:
    base = _without_rieul(stem(dictionary))
    return base + "습" + ending if final_of(base) else with_final(base, "ㅂ") + ending


def present(dictionary: str) -> str:
    """Return the polite present: 먹습니다, 갑니다, 만듭니다."""
    return _polite(dictionary, "니다")


def present_question(dictionary: str) -> str:
    """Return the polite present question: 먹습니까, 갑니까, 만듭니까."""
    return _polite(dictionary, "니까")


def past(dictionary: str, irregular: Irregular = "") -> str:
    """Return the polite past: 먹었습니다, 갔습니다, 했습니다."""
    return with_final(infinitive(dictionary, irregular), "ㅆ") + "습니다"


def past_question(dictionary: str, irregular: Irregular = "") -> str:
    """Return the polite past question: 먹었습니까, 갔습니까."""
    return with_final(infinitive(dictionary, irregular), "ㅆ") + "습니까"


def prospective(dictionary: str, irregular: Irregular = "") -> str:
    """Return the adnominal form before 것 and 수: 먹을, 갈, 만들, 도울."""
    return with_final(eu_base(dictionary, irregular), "ㄹ")


def done(dictionary: str, irregular: Irregular = "") -> str:
    """Return the past adnominal form of a verb: 먹은, 간, 만든, 들은."""
    return with_final(_without_rieul(eu_base(dictionary, irregular)), "ㄴ")


def ongoing(dictionary: str) -> str:
    """Return the present adnominal form of a verb: 먹는, 가는, 만드는."""
    return _without_rieul(stem(dictionary)) + "는"


def attributive(dictionary: str, irregular: Irregular = "") -> str:
    """Return the adnominal form of an adjective: 작은, 큰, 긴, 빨간, 재미있는."""
    if dictionary.endswith(("있다", "없다")):
        return ongoing(dictionary)
    return done(dictionary, irregular)


def condition(dictionary: str, irregular: Irregular = "") -> str:
    """Return the form for "if": 먹으면, 가면, 만들면, 추우면."""
    return eu_base(dictionary, irregular) + "면"


def request(dictionary: str, irregular: Irregular = "") -> str:
    """Return the polite request: 읽으십시오, 가십시오, 여십시오."""
    return _without_rieul(eu_base(dictionary, irregular)) + "십시오"


def reason(dictionary: str, irregular: Irregular = "") -> str:
    """Return the form for "so": 먹어서, 가서, 추워서."""
    return infinitive(dictionary, irregular) + "서"


def obligation(dictionary: str, irregular: Irregular = "") -> str:
    """Return the form before 합니다 for "must": 먹어야, 가야."""
    return infinitive(dictionary, irregular) + "야"
