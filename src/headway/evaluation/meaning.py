"""The meaning of scores in words, for readers who have not seen many of them.

The bounds are rules of thumb for sentences of prose with one reference each. They depend on the
languages, the text and the tokenization: only scores of one text and one signature can be compared.
"""

from collections.abc import Mapping
from math import inf
from typing import NamedTuple


class _Band(NamedTuple):
    below: float
    words: str


_USABLE = {"bleu": 20, "chrf": 45}
_BANDS = {
    "bleu": [
        _Band(2, "hardly any sequence of words is right"),
        _Band(10, "single words and short phrases are right, hardly a sentence"),
        _Band(20, "you can often tell what a sentence is about, but not what it says"),
        _Band(30, "many sentences can be understood, with clear errors"),
        _Band(40, "most sentences can be understood"),
        _Band(60, "good translations, for text of this kind"),
        _Band(inf, "close to the references, as on narrow or repetitive text"),
    ],
    "chrf": [
        _Band(20, "hardly any word is right"),
        _Band(35, "some words are right, hardly a sentence"),
        _Band(45, "you can often tell what a sentence is about, but not what it says"),
        _Band(55, "many sentences can be understood, with clear errors"),
        _Band(65, "most sentences can be understood"),
        _Band(80, "good translations, for text of this kind"),
        _Band(inf, "close to the references, as on narrow or repetitive text"),
    ],
    "ter": [
        _Band(20, "close to the references"),
        _Band(45, "good translations, for text of this kind"),
        _Band(65, "many sentences can be understood, with clear errors"),
        _Band(inf, "most words would have to be changed"),
    ],
    "wer": [
        _Band(20, "close to the references"),
        _Band(50, "good translations, for text of this kind"),
        _Band(70, "many sentences can be understood, with clear errors"),
        _Band(inf, "most words would have to be changed"),
    ],
    "exact": [
        _Band(1, "hardly any translation equals its reference exactly"),
        _Band(
            50, "this share of translations equals the reference exactly; others may be good, too"
        ),
        _Band(95, "most translations equal their reference exactly"),
        _Band(inf, "nearly all translations equal their reference exactly"),
    ],
}


def meaning(name: str, value: float) -> str:
    """Return the meaning of a score in percent, as part of a sentence.

    >>> meaning("bleu", 1.26)
    'hardly any sequence of words is right; usable translations begin at about 20'
    """
    words = next(band.words for band in _BANDS[name] if not value >= band.below)
    begins = _USABLE.get(name, 0)
    return f"{words}; usable translations begin at about {begins}" if value < begins else words


def meanings(scores: Mapping[str, float]) -> list[str]:
    """Return a line for each score: its name, its value and its meaning."""
    return [f"{name} {value:.1f}: {meaning(name, value)}." for name, value in scores.items()]
