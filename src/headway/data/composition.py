"""Unicode's composed form (NFC), in which equal text has equal characters.

`ü` is one character, or `u` and a combining `¨`; a syllable of Hangul is one character, or its
letters. Readers see no difference, but a program that compares characters does. Form NFC writes
each in one way. It keeps characters that only resemble each other, such as ½ and 1/2.
"""

import unicodedata
from collections.abc import Iterable

_FORM = "NFC"


def composed(text: str) -> str:
    """Return a text in form NFC."""
    # Nearly all text has this form, and the test is much faster than the conversion.
    return unicodedata.normalize(_FORM, text) if is_decomposed(text) else text


def is_decomposed(text: str) -> bool:
    """Return True if `composed` would change a text."""
    return not unicodedata.is_normalized(_FORM, text)


def differ_in_form(first: Iterable[str], second: Iterable[str]) -> bool:
    """Return True if a character has another form in some of the first texts than in the second."""
    written: list[set[str]] = []
    forms: list[set[str]] = []
    for texts in (first, second):
        characters: set[str] = set()
        by_composition: set[str] = set()
        for text in texts:
            characters.update(text)
            if is_decomposed(text):
                by_composition |= set(composed(text)).difference(text)
        written.append(characters)
        forms.append(by_composition)
    return not (forms[0].isdisjoint(written[1]) and forms[1].isdisjoint(written[0]))
