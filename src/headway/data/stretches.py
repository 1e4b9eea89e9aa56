"""Stretches of shifted lines, and where they begin and end, to the line.

The course through the lines (`misaligned.py`) is right to a few lines at its changes. There, the
words decide: they are learned from the other lines, placed as the course has them.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headway.counted import counted
from headway.data.line_words import words
from headway.data.word_translations import WordTranslations

_WINDOW = 20  # lines before and after a change of course among which it may be
# What it costs to leave a line out of both neighbours, as the logarithm of a probability ratio: a
# free translation may share no word.
_NEITHER = -2.0
_LEAST = 3.0  # evidence, also a logarithm, that moves an end
_LEARNED = 5_000  # lines, those that are nearest to the changes


class Stretch(NamedTuple):
    """Lines whose targets are all the same distance away, such as a shifted block."""

    start: int
    """The first line, counted from 0."""
    end: int
    """One past the last."""
    late: int | None
    """How many lines after its source a target is, before it if negative; None if not nearby."""

    @property
    def what_targets_do(self) -> str:
        """Return the shift of the targets in words that follow a plural."""
        if self.late is None:
            return "seem to be of other sources"
        count = counted(abs(self.late), "line")
        return f"seem to stand {count} too {'late' if self.late > 0 else 'early'}"


def with_exact_ends(
    stretches: Sequence[Stretch], sources: Sequence[str], targets: Sequence[str]
) -> list[Stretch]:
    """Return the stretches with their ends moved to where the words on both sides show them.

    stretches: all lines, in order. An end moves by at most `_WINDOW` lines, and by less than half
    of a stretch. Lines in between whose words match neither neighbour are left out. Ends stay if
    the words around them are unknown, and so do those of a stretch without sources nearby, because
    no words tell it from others.
    """
    windows = [_window(before, after) for before, after in pairwise(stretches)]
    if not any(windows):
        return list(stretches)
    pairs = _learned_pairs(stretches, windows, sources, targets)
    if not any(words(target) for _, target in pairs):
        return list(stretches)
    translations = WordTranslations(pairs)
    ends = [(stretches[0].start, stretches[0].start)]
    for (before, after), window in zip(pairwise(stretches), windows, strict=True):
        evidence = [
            [
                translations.evidence(source, target)
                for source, target in _lines(late, window, sources, targets)
            ]
            for late in (before.late, after.late)
        ]
        ends.append(_best_ends(*evidence, first=window.start, usual=after.start))
    ends.append((stretches[-1].end, stretches[-1].end))
    return [
        Stretch(start, end, stretch.late)
        for stretch, ((_, start), (end, _)) in zip(stretches, pairwise(ends), strict=True)
    ]


def _best_ends(
    before: Sequence[float], after: Sequence[float], *, first: int, usual: int
) -> tuple[int, int]:
    """Return where one course ends, and where the next one begins: where most evidence is.

    before, after: evidence of each line, from line `first` on, for either course. usual: the place
    of both ends without enough evidence for another.
    """
    to_end = np.concatenate([[0.0], np.cumsum(before)])
    from_start = np.concatenate([np.cumsum(after[::-1])[::-1], [0.0]])

    def evidence(end: int, start: int) -> float:
        return float(to_end[end] + from_start[start] + _NEITHER * (start - end))

    places = [(end, start) for end in range(len(to_end)) for start in range(end, len(to_end))]
    end, start = max(places, key=lambda place: evidence(*place))
    stays = usual - first
    if evidence(end, start) - evidence(stays, stays) < _LEAST:
        return usual, usual
    return first + end, first + start


def _window(before: Stretch, after: Stretch) -> range:
    """Return the lines that may belong to either of two neighbours."""
    shorter = min(before.end - before.start, after.end - after.start)
    is_known = before.late is not None and after.late is not None
    reach = min(_WINDOW, (shorter - 1) // 2) if is_known else 0
    return range(after.start - reach, after.start + reach)


def _lines(
    late: int | None, lines: Iterable[int], sources: Sequence[str], targets: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield each source with its target on this course; or with an empty text."""
    for line in lines:
        place = -1 if late is None else line + late
        yield sources[line], targets[place] if 0 <= place < len(targets) else ""


def _learned_pairs(
    stretches: Sequence[Stretch],
    windows: Sequence[range],
    sources: Sequence[str],
    targets: Sequence[str],
) -> list[tuple[str, str]]:
    """Return the pairs nearest to the changes, without those in question."""
    lates = np.zeros(len(sources), dtype=np.int64)
    is_known = np.ones(len(sources), dtype=bool)
    for start, end, late in stretches:
        lates[start:end] = late or 0
        is_known[start:end] = late is not None
    for window in windows:
        is_known[window.start : window.stop] = False
    lines = np.flatnonzero(is_known)
    lines = lines[np.argsort(_distances(lines, windows), kind="stable")[:_LEARNED]]
    return [
        pair
        for line in lines.tolist()
        for pair in _lines(int(lates[line]), [line], sources, targets)
    ]


def _distances(lines: NDArray[np.int64], windows: Sequence[range]) -> NDArray[np.int64]:
    """Return the distance of each line from the nearest change."""
    changes = np.array([(window.start + window.stop) // 2 for window in windows])
    places = np.searchsorted(changes, lines)
    after = changes[places.clip(max=len(changes) - 1)]
    before = changes[(places - 1).clip(min=0)]
    return np.minimum(np.abs(lines - after), np.abs(lines - before))
