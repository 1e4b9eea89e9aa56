"""Conjugate Korean verbs and adjectives from their dictionary forms, in four styles of speech.

The styles are formal (갑니다), polite (가요), plain (간다) and casual (가). Three bases carry all endings: the plain stem (먹-, 듣-), the base before endings that begin
with 으 (먹으-, 들으-) and the infinitive (먹어, 들어). The classes 하다, ㄹ and ㅡ follow from
the spelling; the others do not (묻다 "ask" against 묻다 "bury"), so they are given by name.
"""

from functools import cache
from typing import Literal

from headway.sample_corpus.hangul import compose, decompose, final_of, vowel_of, with_final

Irregular = Literal["", "ㅂ", "ㄷ", "ㅅ", "ㅎ", "르"]
Style = Literal["formal", "polite", "plain", "casual"]

_BRIGHT = "ㅏㅑㅗ"
# Vowel of an open stem -> vowel of its infinitive; ㅟ and ㅢ stay apart (쉬어).
_CONTRACTED = {
    "ㅏ": "ㅏ", "ㅓ": "ㅓ", "ㅐ": "ㅐ", "ㅔ": "ㅔ", "ㅕ": "ㅕ",
    "ㅗ": "ㅘ", "ㅜ": "ㅝ", "ㅣ": "ㅕ", "ㅚ": "ㅙ",
}  # fmt: skip
_H_VOWELS = {"ㅏ": "ㅐ", "ㅑ": "ㅒ", "ㅓ": "ㅔ", "ㅕ": "ㅖ"}
# The only two ㅂ stems whose infinitive has 와 rather than 워.
_B_WITH_WA = ("돕", "곱")
# The endings after the ㅆ of the past, of statements and of questions.
_PAST: dict[Style, str] = {"formal": "습니다", "polite": "어요", "plain": "다", "casual": "어"}
_PAST_QUESTION: dict[Style, str] = {**_PAST, "formal": "습니까", "plain": "니"}


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


def present(
    dictionary: str, irregular: Irregular = "", style: Style = "formal", *, describes: bool = False
) -> str:
    """Return the present: 먹습니다, 먹어요, 먹는다, 먹어.

    describes: True for an adjective, whose plain present is its dictionary form (크다).
    """
    if style == "formal":
        return _polite(dictionary, "니다")
    if style != "plain":
        return infinitive(dictionary, irregular) + ("요" if style == "polite" else "")
    if describes:
        return dictionary
    base = _without_rieul(stem(dictionary))
    return base + "는다" if final_of(base) else with_final(base, "ㄴ") + "다"


def present_question(dictionary: str, irregular: Irregular = "", style: Style = "formal") -> str:
    """Return the present question: 먹습니까, 먹어요, 먹니, 먹어."""
    if style == "formal":
        return _polite(dictionary, "니까")
    if style == "plain":
        return _without_rieul(stem(dictionary)) + "니"
    return present(dictionary, irregular, style)


def past(dictionary: str, irregular: Irregular = "", style: Style = "formal") -> str:
    """Return the past: 갔습니다, 갔어요, 갔다, 갔어."""
    return with_final(infinitive(dictionary, irregular), "ㅆ") + _PAST[style]


def past_question(dictionary: str, irregular: Irregular = "", style: Style = "formal") -> str:
    """Return the past question: 갔습니까, 갔어요, 갔니, 갔어."""
    return with_final(infinitive(dictionary, irregular), "ㅆ") + _PAST_QUESTION[style]


def respectful_question(dictionary: str, irregular: Irregular = "", style: Style = "formal") -> str:
    """Return the present question with the honorific: 가십니까, 가세요; formal or polite."""
    base = _without_rieul(eu_base(dictionary, irregular))
    return base + ("십니까" if style == "formal" else "세요")


def observation(dictionary: str, style: Style = "polite") -> str:
    """Return the form that notices something: 좋네요, 기네요; plain and casual 좋네."""
    return _without_rieul(stem(dictionary)) + ("네" if style in ("plain", "casual") else "네요")


def proposal(dictionary: str, irregular: Irregular = "", style: Style = "formal") -> str:
    """Return the form for "let's": 갑시다, 먹읍시다; in other styles 가자, 먹자."""
    if style == "formal":
        return with_final(_without_rieul(eu_base(dictionary, irregular)), "ㅂ") + "시다"
    return stem(dictionary) + "자"


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


def request(dictionary: str, irregular: Irregular = "", style: Style = "formal") -> str:
    """Return the request: 읽으십시오, 읽으세요, 읽어라, 읽어."""
    if style in ("plain", "casual"):
        return infinitive(dictionary, irregular) + ("라" if style == "plain" else "")
    base = _without_rieul(eu_base(dictionary, irregular))
    return base + ("십시오" if style == "formal" else "세요")


def reason(dictionary: str, irregular: Irregular = "") -> str:
    """Return the form for "so": 먹어서, 가서, 추워서."""
    return infinitive(dictionary, irregular) + "서"


def obligation(dictionary: str, irregular: Irregular = "") -> str:
    """Return the form before 합니다 for "must": 먹어야, 가야."""
    return infinitive(dictionary, irregular) + "야"
