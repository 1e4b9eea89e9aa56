"""Judge short texts by other text: words that often share its pairs should share theirs.

A text of 30 lines shows nothing by itself if all its translations are those of other lines.
Training text of the same languages shows which words belong together.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from headway.data.corpus import Pair
from headway.data.line_words import words
from headway.data.own_lines import (
    BY_CHANCE,
    FEWEST,
    are_different,
    evenly,
    fit,
    is_clearly_less,
    length_correlation,
)

_LEARNED_FROM = 20_000  # pairs, chosen evenly
_JUDGED_TOO = 100  # of these, to see whether links show anything
_TELLING = 10.0  # the fit of those, as `own_lines.fit` measures it
_STEMS = 3_000  # of each side
_A_LINE = 50  # stems of a line
_LETTERS, _SYLLABLES = 4, 2  # of a stem, so that endings do not matter
_CHUNK = 2_000  # lines

Links = NDArray[np.float64]


def are_of_other_sources(pairs: Sequence[Pair], train: Sequence[Pair]) -> bool:
    """Return True if targets fit their own sources no better than those of other lines.

    train: other text of the two languages, which shows what a target has in common with its
    source. If it shows nothing, or the text has fewer than 30 pairs, the answer is False.
    """
    known = to_learn_from(train)
    control_places = evenly(len(known), _JUDGED_TOO)
    if min(len(pairs), len(control_places)) < FEWEST:
        return False
    judged = [pairs[place] for place in evenly(len(pairs))]
    sides, known_sides = list(zip(*judged, strict=True)), list(zip(*known, strict=True))
    if not are_different(sides[1]) or not is_clearly_less(
        length_correlation(*sides), len(judged), length_correlation(*known_sides), len(known)
    ):
        return False
    control = [known[place] for place in control_places]
    learned = set(range(len(known))) - set(control_places)
    told = _agreement([*judged, *control], [known[place] for place in sorted(learned)])
    count = len(judged)
    return fit(told[count:, count:]) >= _TELLING and fit(told[:count, :count]) < BY_CHANCE


def to_learn_from(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the pairs that are enough as training text of `are_of_other_sources`."""
    return [pairs[place] for place in evenly(len(pairs), _LEARNED_FROM)]


def _agreement(pairs: Sequence[Pair], train: Sequence[Pair]) -> Links:
    """Return how many linked words each source has with each target, (N, N), `train` has links."""
    sources, targets = (_Stems(side) for side in zip(*pairs, strict=True))
    size = len(sources.known), len(targets.known)
    together = np.zeros(size[0] * size[1])
    alone = np.zeros(size[0]), np.zeros(size[1])
    for start in range(0, len(train), _CHUNK):
        keys = []
        for source, target in train[start : start + _CHUNK]:
            rows, columns = sources.of(source), targets.of(target)
            alone[0][rows] += 1
            alone[1][columns] += 1
            keys.append((rows[:, None] * size[1] + columns).ravel())
        together += np.bincount(np.concatenate(keys), minlength=len(together))
    links = together.reshape(size)
    links *= 2 / np.maximum(alone[0][:, None] + alone[1], 1)  # Dice's coefficient
    return sources.matrix() @ links @ targets.matrix().T


class _Stems:
    """The beginnings of the words of some lines, numbered."""

    def __init__(self, lines: Sequence[str]) -> None:
        """Keep the most frequent ones."""
        self._lines = [_stems(line) for line in lines]
        counts = Counter(stem for stems in self._lines for stem in stems)
        self.known = {stem: number for number, (stem, _) in enumerate(counts.most_common(_STEMS))}

    def of(self, line: str) -> NDArray[np.int64]:
        """Return the numbers of the stems of a line, without unknown ones."""
        stems = [self.known[stem] for stem in _stems(line) if stem in self.known]
        return np.array(stems, dtype=np.int64)

    def matrix(self) -> Links:
        """Return which line has which stem, (N, stems); rows have length 1."""
        matrix = np.zeros((len(self._lines), len(self.known)))
        for row, stems in zip(matrix, self._lines, strict=True):
            row[[self.known[stem] for stem in stems if stem in self.known]] = 1
        return matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1)


def _stems(line: str) -> list[str]:
    stems = (word[: _SYLLABLES if "가" <= word[0] <= "힣" else _LETTERS] for word in words(line))
    return list(dict.fromkeys(stems))[:_A_LINE]
