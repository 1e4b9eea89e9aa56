"""Recognize which of a text's two languages a line is in, learned from the text alone.

For each run of two or four letters, the model counts the lines of each side that have it: naive
Bayes over character n-grams (Cavnar and Trenkle, "N-Gram-Based Text Categorization", 1994). A line
is judged by all lines except itself and its translation, so that a name in a single pair shows
nothing. Digits and punctuation show nothing either.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headway.data.corpus import Pair

_ORDERS = (2, 4)  # letters of a run; long runs show more, short ones also occur in rare words
_BITS = 20  # of the number of a run; hardly any two runs have the same
_SIZE = 1 << _BITS
_BLOCK = 1 << (32 - _BITS)  # lines, so that the numbers of a line and a run fit into 32 bits
_MOST = 100_000  # pairs that are learned from, chosen evenly
_TRIED = 4_000  # of these, to find out whether the sides are two languages
_FEWEST = 50  # pairs that are needed
_UNSEEN = 0.5  # lines that are added to the count of each run
_CLIP = 4.0  # the most that one run can show
# Natural logarithms of how much more probable the other language is.
_EXCHANGED = 6.0  # for both sides together
_WRONG = 6.0  # for one side, and half of it without runs that both sides have
_AGREE = 0.8  # share of the clear lines whose sides agree: both exchanged, or neither
_RIGHT = 0.6  # share of the clear lines that are not exchanged

Runs = NDArray[np.uint32]
Evidence = NDArray[np.float64]
Hashes = NDArray[np.int64]


class Judged(NamedTuple):
    """How much each side of some pairs looks like its own language; negative for the other one."""

    whole: Evidence
    """(2, lines): for sources and for targets."""
    unshared: Evidence
    """The same without the runs of letters that both sides of a pair have."""

    @property
    def exchanged(self) -> NDArray[np.bool_]:
        """Return which pairs seem to have their sides exchanged."""
        source, target = self.unshared
        return (source < 0) & (target < 0) & (source + target < -_EXCHANGED)

    def wrong(self, side: int) -> NDArray[np.bool_]:
        """Return the pairs where only this side seems to be in the other side's language."""
        looks_wrong = (self.whole[side] < -_WRONG) & (self.unshared[side] < -_WRONG / 2)
        return looks_wrong & ~self.exchanged

    @property
    def tells(self) -> NDArray[np.bool_]:
        """Return the pairs where the language of both sides is clear."""
        source, target = np.abs(self.unshared) > _EXCHANGED / 2
        return source & target


@dataclass(frozen=True, slots=True)
class TwoLanguages:
    """The two languages of parallel text: that of its sources and that of its targets."""

    counts: NDArray[np.int32]
    """(2, number of runs): the number of lines of each side with each run of letters."""
    texts: tuple[Hashes, Hashes]
    """Hashes of the counted texts, sorted; they are valid in this process and its forks."""

    @classmethod
    def of(cls, pairs: Sequence[Pair]) -> "TwoLanguages | None":
        """Learn from parallel text; None if its sides are not in two languages that differ.

        Both may be in one language, in code or numbers, or mixed. Takes 8 MB, and 16 bytes a pair
        for at most 100,000 pairs, which are chosen evenly.
        """
        pairs = [pair.comparable() for pair in _evenly(pairs, _MOST)]
        if len(pairs) < _FEWEST:
            return None
        counted = [_counted(texts) for texts in zip(*pairs, strict=True)]
        languages = cls(np.stack([counts for counts, _ in counted]), (counted[0][1], counted[1][1]))
        return languages if languages._are_two(_evenly(pairs, _TRIED)) else None

    def judge(self, pairs: Sequence[Pair]) -> Judged:
        """Return how much each side of these pairs looks like its own language."""
        blocks = [
            self._judged([pair.comparable() for pair in pairs[start : start + _BLOCK]])
            for start in range(0, len(pairs), _BLOCK)
        ]
        nothing = np.zeros((2, 0))
        return Judged(
            np.concatenate([nothing, *(block.whole for block in blocks)], axis=1),
            np.concatenate([nothing, *(block.unshared for block in blocks)], axis=1),
        )

    def _are_two(self, pairs: Sequence[Pair]) -> bool:
        """Return True if the sides of most pairs agree on which language is on which side."""
        judged = self.judge(pairs)
        source, target = judged.unshared[:, judged.tells]
        if not len(source):
            return False
        agree, right = (source * target > 0).mean(), (source + target > 0).mean()
        return bool(agree > _AGREE and right > _RIGHT)

    def _judged(self, pairs: Sequence[Pair]) -> Judged:
        """Judge at most `_BLOCK` pairs."""
        sides = tuple(zip(*pairs, strict=True))
        runs = [_runs(texts) for texts in sides]
        # Whether the text of a side was counted on either side, so that it must be subtracted.
        hashes = [_hashes(texts) for texts in sides]
        counted = [[_is_in(some, known) for known in self.texts] for some in hashes]
        differ = hashes[0] != hashes[1]
        whole, unshared = np.zeros((2, 2, len(pairs)))
        for side in (0, 1):
            lines, run = runs[side] >> _BITS, runs[side] & (_SIZE - 1)
            shared = _is_in(runs[side], runs[1 - side])
            logarithms = []
            for language in (0, 1):
                # This line and its translation do not count.
                count = self.counts[language][run] - counted[side][language][lines]
                count -= shared & (counted[1 - side][language] & differ)[lines]
                logarithms.append(np.log(count + np.float32(_UNSEEN)))
            evidence = logarithms[side] - logarithms[1 - side]
            evidence += self._size(1 - side) - self._size(side)
            # A run that is new on both sides shows nothing.
            evidence[(logarithms[0] < 0) & (logarithms[1] < 0)] = 0
            evidence = evidence.clip(-_CLIP, _CLIP) / len(_ORDERS)  # runs overlap
            whole[side] = np.bincount(lines, evidence, len(pairs))
            unshared[side] = np.bincount(lines, evidence * ~shared, len(pairs))
        return Judged(whole, unshared)

    def _size(self, language: int) -> np.float32:
        """Return the logarithm of the sum of all counts of a language."""
        return np.log(self.counts[language].sum(dtype=np.float32) + 1)


def _evenly(pairs: Sequence[Pair], limit: int) -> Sequence[Pair]:
    return pairs[:: -(-len(pairs) // limit)] if len(pairs) > limit else pairs


def _counted(texts: Sequence[str]) -> tuple[NDArray[np.int32], Hashes]:
    """Return the number of different texts with each run, and the hashes of these texts."""
    different = list(dict.fromkeys(filter(None, texts)))
    counts = np.zeros(_SIZE, dtype=np.int32)
    for start in range(0, len(different), _BLOCK):
        runs = _runs(different[start : start + _BLOCK]) & (_SIZE - 1)
        counts += np.bincount(runs, minlength=_SIZE).astype(np.int32)
    return counts, np.sort(_hashes(different))


def _hashes(texts: Sequence[str]) -> Hashes:
    return np.fromiter(map(hash, texts), dtype=np.int64, count=len(texts))


def _is_in(values: NDArray[np.integer], known: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Return which values are among the known ones, which are sorted."""
    if not len(known):
        return np.zeros(len(values), dtype=bool)
    places = np.searchsorted(known, values)
    places[places == len(known)] = 0
    return known[places] == values


def _runs(texts: Sequence[str]) -> Runs:
    """Return the runs of letters in at most `_BLOCK` texts: line and run as one number, sorted.

    Each run counts once a line. Anything between two words is one space.
    """
    codes, lines = _letters(texts)
    numbers = []
    for order in _ORDERS:
        number = np.full(max(len(codes) - order + 1, 0), order, dtype=np.uint64)
        within = np.ones(len(number), dtype=bool)
        for place in range(order):
            here = codes[place : place + len(number)]
            within &= here != 0
            number = (number ^ here) * np.uint64(0xFF51AFD7ED558CCD)  # an odd number, to mix bits
            number ^= number >> np.uint64(29)
        run = (number >> np.uint64(64 - _BITS)).astype(np.uint32)[within]
        numbers.append(lines[: len(number)][within] << _BITS | run)
    every = np.sort(np.concatenate(numbers))
    return every[np.diff(every, prepend=~every[:1]) != 0]


def _letters(texts: Sequence[str]) -> tuple[NDArray[np.uint64], Runs]:
    """Return the letters of texts in lower case, and the line of each; 0 separates two texts."""
    lines_of_text = (text.replace("\n", " ") for text in texts)
    joined = " " + " \n ".join(lines_of_text).casefold() + " "
    codes = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    is_end = codes == ord("\n")
    is_letter = _is_letter(codes)
    is_space = ~(is_letter | is_end)
    lines = np.cumsum(is_end, dtype=np.uint32)
    codes = np.where(is_letter, codes, np.where(is_end, 0, ord(" "))).astype(np.uint64)
    kept = ~is_space
    kept[1:] |= ~is_space[:-1]
    kept[:1] = True
    return codes[kept], lines[kept]


def _is_letter(codes: NDArray[np.uint32]) -> NDArray[np.bool_]:
    """Return which code points are letters, or marks that belong to them."""
    table = np.bincount(codes) > 0
    present = np.flatnonzero(table)
    table[present] = [_is_letter_or_mark(code) for code in present.tolist()]
    return table[codes]


@cache
def _is_letter_or_mark(code: int) -> bool:
    return unicodedata.category(chr(code))[0] in "LM"
