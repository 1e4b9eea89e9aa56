"""Validation text held out of training text, together with pairs that resemble it.

A copy of a validation pair in the training text, or a pair that differs from it only in a number,
makes scores too good. So each pair gets a mark of its letters, or of letters and digits if digits
distinguish most pairs. Pairs with the mark of a pair that is held out are not trained on either.
Pairs that resemble no other are preferred, because they take nothing else out of the training text.
"""

import dataclasses
import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from headway.data.composition import composed
from headway.data.corpus import Corpus, Pair
from headway.errors import ConfigError
from headway.training.reporting import Show

_BLANK = 0
_SHOWN = 1000  # pairs from one sign of progress to the next
_SHARE = 0.5  # of the pairs that letters and digits distinguish, which letters alone must


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Training text without some of its pairs, and the pairs."""

    remaining: Corpus
    lines: list[int]
    """Line of each pair in the training text."""
    pairs: list[Pair]
    as_before: bool
    """True if versions without marks held out the same pairs and trained on the same text."""


class _Without(dict[int, int | None]):
    """A table for `str.translate` that drops some characters, faster than a pattern."""

    def __init__(self, dropped: str) -> None:
        """Drop each character that this pattern matches."""
        self._dropped = re.compile(dropped)

    def __missing__(self, character: int) -> int | None:
        """Classify a character at its first occurrence."""
        mapped = None if self._dropped.match(chr(character)) else character
        self[character] = mapped
        return mapped


_LETTERS = _Without(r"[\W\d_]")
_WORDS = _Without(r"[\W_]")


def hold_out(whole: Corpus, count: int, show: Show = lambda _: None) -> HeldOut:
    """Choose `count` pairs for validation, all of them different and none blank on a side.

    They depend on the training text alone, so that runs with other seeds are comparable. The text
    is read two to four times, and sixteen bytes a pair are held. show: is called with the number of
    pairs read so far, in the first pass.
    """
    marks = _marks(whole, show)
    order = np.random.default_rng(0).permutation(len(marks))
    _, group, sizes = np.unique(marks, return_inverse=True, return_counts=True)
    usable = order[marks[order] != _BLANK]
    usable = usable[np.argsort(sizes[group[usable]], kind="stable")]
    first = np.sort(np.unique(group[usable], return_index=True)[1])  # of each group
    if len(first) <= count:
        raise ConfigError(
            f"data.hold_out is {count}, but there are {len(first):,} training pairs with text on "
            "both sides that differ in more than case, digits, punctuation and spaces.",
            f"Set data.hold_out to {len(first) - 1:,} or less; the others are trained on."
            if len(first) > 1
            else "Give more text, so that some is left to train on.",
        )
    chosen = usable[first[:count]]
    resembling = _lines(np.flatnonzero(np.isin(group, group[chosen]))) - _lines(chosen)
    lines = _lines(chosen)
    held_out = {line: pair for line, pair in whole.numbered() if line in lines}
    equal = frozenset(pair.stripped() for pair in held_out.values())
    near = {
        line
        for line, pair in (whole.numbered() if resembling else ())
        if line in resembling and pair.stripped() not in equal
    }
    remaining = dataclasses.replace(
        whole, held_out=frozenset(lines), without=equal, near=frozenset(near)
    )
    as_before = not near and _lines(order[:count]) == lines
    return HeldOut(remaining, list(held_out), list(held_out.values()), as_before)


def _marks(whole: Corpus, show: Show) -> NDArray[np.uint64]:
    """Return a number for each pair, the same for pairs that resemble each other."""
    by_letters = _marked(whole, _LETTERS, show)
    told_apart = len(np.unique(by_letters))
    if told_apart >= _SHARE * len(by_letters):  # digits distinguish no more than all pairs
        return by_letters
    by_words = _marked(whole, _WORDS, show)
    return by_words if told_apart < _SHARE * len(np.unique(by_words)) else by_letters


def _marked(whole: Corpus, counting: _Without, show: Show) -> NDArray[np.uint64]:
    def marks() -> Iterator[int]:
        for number, pair in enumerate(whole, start=1):
            yield _mark(pair, counting)
            if number % _SHOWN == 0:
                show(number)

    return np.fromiter(marks(), dtype=np.uint64)


def _lines(rows: NDArray[np.int64]) -> frozenset[int]:
    return frozenset((rows + 1).tolist())


def _mark(pair: Pair, counting: _Without) -> int:
    """Return a number for the letters of a pair in order; 0 if a side is blank.

    counting: drops the characters that do not count. A side of such characters alone, such as an
    emoticon, counts whole.
    """
    if not all(map(_is_visible, pair)):
        return _BLANK
    sides = (composed(side).casefold().translate(counting) or side.strip() for side in pair)
    text = "\n".join(side.replace("\n", " ") for side in sides)
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest) or 1


def _is_visible(text: str) -> bool:
    """Return True unless a text is spaces alone, among them those without width (U+200B)."""
    return any(character.isprintable() and not character.isspace() for character in text)
