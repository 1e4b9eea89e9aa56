"""Take Hangul syllables apart and put them together by arithmetic on their code points.

The block U+AC00..U+D7A3 is ordered by initial consonant, then vowel, then final consonant, so a
syllable is `0xAC00 + (initial * 21 + vowel) * 28 + final`.
"""

from functools import cache
from typing import NamedTuple

INITIALS = "ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ"
VOWELS = "ㅏㅐㅑㅒㅓㅔㅕㅖㅗㅘㅙㅚㅛㅜㅝㅞㅟㅠㅡㅢㅣ"
# The first final is "no final consonant"; a list, because the empty string has no character.
FINALS = ["", *"ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ"]

_FIRST = 0xAC00
_LAST = 0xD7A3


class Syllable(NamedTuple):
    """One syllable as its three letters; `final` is empty when the syllable is open."""

    initial: str
    vowel: str
    final: str


def is_syllable(character: str) -> bool:
    """Return True if a character is one composed Hangul syllable."""
    return len(character) == 1 and _FIRST <= ord(character) <= _LAST


@cache
def decompose(character: str) -> Syllable:
    """Return the letters of one composed syllable."""
    if not is_syllable(character):
        raise ValueError(f"{character!r} is not one composed Hangul syllable.")
    open_syllable, final = divmod(ord(character) - _FIRST, len(FINALS))
    initial, vowel = divmod(open_syllable, len(VOWELS))
    return Syllable(INITIALS[initial], VOWELS[vowel], FINALS[final])


def compose(initial: str, vowel: str, final: str = "") -> str:
    """Return the syllable of these letters."""
    position = INITIALS.index(initial) * len(VOWELS) + VOWELS.index(vowel)
    return chr(_FIRST + position * len(FINALS) + FINALS.index(final))


def final_of(text: str) -> str:
    """Return the final consonant of the last syllable, empty when it is open."""
    return decompose(text[-1]).final


def vowel_of(text: str) -> str:
    """Return the vowel of the last syllable."""
    return decompose(text[-1]).vowel


def with_final(text: str, final: str) -> str:
    """Return the text with the final consonant of its last syllable replaced."""
    last = decompose(text[-1])
    return text[:-1] + compose(last.initial, last.vowel, final)
