"""Features on which a line and its translation agree, whatever the two languages.

Long sentences have long translations, questions are translated by questions, and names and numbers
stay.
"""

from array import array
from collections import defaultdict
from collections.abc import Sequence
from itertools import count
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from headway.data.line_words import words

# Lines this far apart agree by chance. They are not just any lines: neighbours also agree if text
# is sorted by length or keeps to one subject, although they do not belong together.
APART = (8, -9, 11, -12, 14, -15, 17, -18)
_LINES_A_BIN, _BINS = 20, 24  # of the ratios of lengths
_RARE = 0.02  # a word in a larger share of the lines shows nothing
SHARED = 2  # of the kinds of `RareWords`, those above are of lines that share words
_MOST_SHARED = 3  # words; more count as this many
_SPREAD = 0.25  # of the logarithms of lengths, below which all lines are about as long
PAIRED = 0.5  # a correlation of lengths that chance hardly reaches

Kinds = NDArray[np.int64]
Numbers = defaultdict[str, int]  # a new word is given the next


class Clue(Protocol):
    """A feature on which lines that belong together agree."""

    def kinds(self, shift: int) -> Kinds:
        """Return how each source agrees with the target `shift` lines later: a kind of agreement.

        -1 if no line has that number.
        """
        ...


class Lengths:
    """The ratio of the lengths, in bins that are equally frequent by chance."""

    def __init__(self, sources: Sequence[str], targets: Sequence[str]) -> None:
        """Choose the bins."""
        self.source, self.target = (
            np.log1p([len(text) for text in texts]) for texts in (sources, targets)
        )
        ratios = np.concatenate([np.roll(self.target, -far) - self.source for far in APART])
        bins = min(max(len(sources) // _LINES_A_BIN, 2), _BINS)
        self.edges = np.unique(np.quantile(ratios, np.linspace(0, 1, bins + 1)[1:-1]))

    def kinds(self, shift: int) -> Kinds:
        """Return the bin of each ratio."""
        ratios = np.roll(self.target, -shift) - self.source
        return _within(np.digitize(ratios, self.edges), shift)

    def agreement(self, start: int, end: int, shift: int = 0) -> float:
        """Return the correlation of lengths of sources and of targets `shift` lines later."""
        x, y = self.source[start:end], np.roll(self.target, -shift)[start:end]
        # The spread of equal numbers is not always 0.
        return float(np.corrcoef(x, y)[0, 1]) if min(np.ptp(x), np.ptp(y)) > 0 else 0.0

    def are_unrelated(self, start: int, end: int) -> bool:
        """Return True if lengths vary among some lines, but not on both sides together."""
        spread = min(self.source[start:end].std(), self.target[start:end].std())
        return bool(spread > _SPREAD and self.agreement(start, end) < PAIRED)


class Questions:
    """Whether both lines, one line or neither line is a question."""

    def __init__(self, sources: Sequence[str], targets: Sequence[str]) -> None:
        """Look at both sides."""
        self.source, self.target = (
            np.array(["?" in text or "\uff1f" in text for text in texts], dtype=np.int64)
            for texts in (sources, targets)
        )

    def kinds(self, shift: int) -> Kinds:
        """Return 0 for no question, 1 for a target, 2 for a source, 3 for both."""
        return _within(2 * self.source + np.roll(self.target, -shift), shift)


class RareWords:
    """The number of rare words that two lines share, out of the words that both languages have.

    These are names, numbers, and words that are foreign to both.
    """

    def __init__(self, sources: Sequence[str], targets: Sequence[str]) -> None:
        """Number the words of both sides and keep the useful ones."""
        self.lines = len(sources)
        known: Numbers = defaultdict(count().__next__)
        sides = [_words(texts, known) for texts in (sources, targets)]
        counts = [np.bincount(words, minlength=len(known)) for _, words in sides]
        most = max(2, _RARE * self.lines)
        useful = np.logical_and(*[(count > 0) & (count <= most) for count in counts])
        # A line and a word of it are one number, so lines share words where sorted arrays share
        # numbers.
        self.words = max(1, len(known))
        self.source, self.target = (
            np.sort(lines[useful[words]] * self.words + words[useful[words]])
            for lines, words in sides
        )
        self.source_has, self.target_has = (self._lines(side) > 0 for side in self._sides())

    def kinds(self, shift: int) -> Kinds:
        """Return how many sides have such words, 0 to 2, or else 2 plus the shared words."""
        moved = self.target - shift * self.words
        places = np.searchsorted(self.source, moved).clip(max=len(self.source) - 1)
        shared = self._lines(moved[self.source[places] == moved] if len(self.source) else moved)
        have = self.source_has.astype(np.int64) + np.roll(self.target_has, -shift)
        return _within(np.where(shared > 0, SHARED + np.minimum(shared, _MOST_SHARED), have), shift)

    def _sides(self) -> tuple[Kinds, Kinds]:
        return self.source, self.target

    def _lines(self, numbers: Kinds) -> Kinds:
        """Count the words of each line."""
        return np.bincount(numbers // self.words, minlength=self.lines)


def _words(texts: Sequence[str], known: Numbers) -> tuple[Kinds, Kinds]:
    """Return the line and the number of every different word of a line."""
    counts, numbers = array("q"), array("q")
    for text in texts:
        distinct = words(text)
        counts.append(len(distinct))
        numbers.extend(map(known.__getitem__, distinct))
    return np.repeat(np.arange(len(texts)), counts), np.array(numbers, dtype=np.int64)


def _within(kinds: Kinds, shift: int) -> Kinds:
    """Mark the lines that have no line `shift` later with -1."""
    if shift > 0:
        kinds[-shift:] = -1
    elif shift < 0:
        kinds[:-shift] = -1
    return kinds
