"""Where the two sides of a text are moved against each other, found out from the text alone.

Long sentences have long translations (Gale and Church, "A Program for Aligning Sentences in
Bilingual Corpora", 1993), questions are translated by questions, and names and numbers stay. How
much each of these tells is counted in the text itself: how often lines that stand side by side
agree, and how often lines do that stand further apart. The most probable course through the lines
(Viterbi) then says where targets belong to other sources than those beside them; lines are
counted again along it, for those that were wrong have blurred the picture.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headway.counted import counted
from headway.data.alignment_features import (
    APART,
    PAIRED,
    Clue,
    Kinds,
    Lengths,
    Questions,
    RareWords,
)

SHIFTS = (0, 1, -1, 2, -2, 3, -3, 4, -4, 5, -5)
_FEWEST = 50  # lines, below which nothing is counted
# What a change of course must be worth, as the logarithm of how much more probable it makes the
# text. A stretch amid lines that are right has two: by chance, one line in e**20 begins one.
_CHANGE = 10.0
_CLIP = 4.0  # the most that one pair tells, for or against
_TELLING = 0.05  # what a pair must tell on average for any stretch to be found
_ROUNDS = 10  # at most, of finding the course, each by what lines tell on the one before
_LABELS = 0.1  # a share of different targets, below which they are labels rather than text
_CHUNK = 10_000  # lines
_FARTHEST = 200  # lines, by which a whole stretch may be moved
_SURE = 5.0  # standard deviations of a correlation by chance


class Stretch(NamedTuple):
    """Lines whose targets are not those of their sources."""

    start: int
    """The first line, counted from 0."""
    end: int
    """One past the last."""
    late: int | None
    """How many lines after its source a target stands, before it if negative; None if not near."""

    @property
    def what_targets_do(self) -> str:
        """Return what the targets seem to do, as words behind a plural."""
        if self.late is None:
            return "seem to be of other sources"
        count = counted(abs(self.late), "line")
        return f"seem to stand {count} too {'late' if self.late > 0 else 'early'}"


def misaligned(sources: Sequence[str], targets: Sequence[str]) -> list[Stretch]:
    """Return the stretches whose targets belong to other sources nearby, or to none, in order.

    Both sides have as many lines. In text of fewer than 50 lines none are found, nor where nothing
    tells which lines belong together, as where all are of one length. Otherwise a stretch takes
    twenty to fifty lines to be found, the fewer the more names and numbers there are.
    """
    lines = len(sources)
    if lines < _FEWEST:
        return []
    lengths = Lengths(sources, targets)
    clues = (lengths, Questions(sources, targets), RareWords(sources, targets))
    agreement = [_counted(clue) for clue in clues]
    evidence, course = _settled(agreement, _runs(sources, targets))
    if _relative_entropy(agreement, course) < _TELLING:
        is_text = len(set(targets)) > _LABELS * lines
        whole = Stretch(0, lines, None)
        return [_placed(whole, lengths)] if is_text and _stands(whole, lengths) else []
    for start, end in _stretches(course):
        # Chance has eleven shifts to choose from: the one that is chosen must be better than it.
        if course[start] and evidence[start:end, course[start]].sum() < _CHANGE:
            course[start:end] = len(SHIFTS)
    found = [
        Stretch(start, end, (*SHIFTS, None)[course[start]])
        for start, end in _stretches(course)
        if course[start]
    ]
    return [_placed(stretch, lengths) for stretch in found if _stands(stretch, lengths)]


def _stretches(course: Kinds) -> list[tuple[int, int]]:
    """Return where the course is the same: the first line and one past the last."""
    return list(pairwise([0, *(np.flatnonzero(np.diff(course)) + 1).tolist(), len(course)]))


def _runs(sources: Sequence[str], targets: Sequence[str]) -> NDArray[np.int64]:
    """Return of each line how many lines in a row have its source, or its target.

    What one of several translations of a source tells, the others tell again.
    """
    sides = zip(sources, targets, strict=True)
    is_new = [True, *(a != c and b != d for (a, b), (c, d) in pairwise(sides))]
    starts = np.flatnonzero(is_new)
    lengths = np.diff(np.append(starts, len(is_new)))
    return np.repeat(lengths, lengths)


def _stands(stretch: Stretch, lengths: Lengths) -> bool:
    """Tell whether lengths do not speak against a stretch.

    As those of text do that is of another kind than most: it may look as if it were moved, and
    goes together as it stands.
    """
    start, end, late = stretch
    if late is None:
        return lengths.are_unrelated(start, end)
    return lengths.agreement(start, end, late) >= lengths.agreement(start, end) - PAIRED


def _placed(stretch: Stretch, lengths: Lengths) -> Stretch:
    """Return a stretch of targets that go with no source nearby with where they go, if it shows.

    Lengths alone tell it: all lines of the stretch are moved by the same distance.
    """
    start, end, late = stretch
    if late is not None:
        return stretch
    agreement: dict[int, float] = {}
    for far in range(max(SHIFTS) + 1, _FARTHEST + 1):
        for shift in (far, -far):
            # The sources of these targets, as many as there are.
            first, last = max(start - shift, 0), min(end - shift, len(lengths.source))
            if last - first >= _FEWEST:
                last = min(last, first + _CHUNK)
                # Of few lines much is chance (Fisher's transformation of a correlation).
                by_chance = math.tanh(_SURE / math.sqrt(last - first - 3))
                agreement[shift] = lengths.agreement(first, last, shift) - max(PAIRED, by_chance)
    best = max(agreement, key=agreement.__getitem__, default=0)
    return stretch._replace(late=best) if best and agreement[best] > 0 else stretch


class _Agreement(NamedTuple):
    """What a clue shows."""

    kinds: list[NDArray[np.int8]]
    """By each shift, of each line."""
    by_chance: NDArray[np.float64]
    """The share of each kind among lines that stand apart."""


def _counted(clue: Clue) -> _Agreement:
    # A kind is a small number, and there are many lines.
    kinds = [clue.kinds(shift).astype(np.int8) for shift in SHIFTS]
    chance = np.concatenate([clue.kinds(apart) for apart in APART])
    size = 1 + max(side.max() for side in (chance, *kinds))
    return _Agreement(kinds, _shares(chance, size))


def _settled(
    agreement: Sequence[_Agreement], repeats: NDArray[np.int64]
) -> tuple[NDArray[np.float64], Kinds]:
    """Return the evidence counted along a course, and the course that it leads to: the same one.

    repeats: among how many lines the evidence of each is shared.
    """
    evidence, course = np.empty((0, 0)), _usual_course(agreement)
    for _ in range(_ROUNDS):
        evidence = _evidence(agreement, course) / repeats[:, None]
        before, course = course, _course(evidence)
        if (course == before).all():
            break
    return evidence, course


def _usual_course(agreement: Sequence[_Agreement]) -> Kinds:
    """Return the shift by which most lines belong together, as the course of all of them."""
    lines = len(agreement[0].kinds[0])
    courses = [np.full(lines, column) for column in range(len(SHIFTS))]
    told = [_relative_entropy(agreement, course) for course in courses]
    best = int(np.argmax(told))
    return courses[best if (told[best] - told[0]) * lines > _CHANGE else 0]


def _on(course: Kinds, clue: _Agreement) -> NDArray[np.float64]:
    """Return the share of each kind among the lines of a course that belong somewhere."""
    belong = course < len(SHIFTS)
    kinds = np.choose(np.where(belong, course, 0), clue.kinds)
    return _shares(kinds[belong], len(clue.by_chance))


def _relative_entropy(agreement: Sequence[_Agreement], course: Kinds) -> float:
    """Return how much a line tells on average about whether it belongs where the course is."""
    if (course == len(SHIFTS)).all():
        return 0.0
    shares = [(_on(course, clue), clue.by_chance) for clue in agreement]
    return float(sum((on * np.log(on / chance)).sum() for on, chance in shares))


def _evidence(agreement: Sequence[_Agreement], course: Kinds) -> NDArray[np.float64]:
    """Return how much more probable each line is by each shift than by chance: its logarithm.

    (lines, shifts and one more): the last column is of lines that belong to none. course: where
    lines belong together, as far as is known, and so how often what is seen of them.
    """
    evidence = np.zeros((len(course), len(SHIFTS) + 1))
    for clue in agreement:
        logarithms = np.log(_on(course, clue) / clue.by_chance)
        table = np.append(logarithms, 0.0)  # of -1, where there is no line: nothing
        for column, kinds in enumerate(clue.kinds):
            evidence[:, column] += table[kinds]
    return evidence.clip(-_CLIP, _CLIP)


def _shares(kinds: NDArray[np.integer], size: int) -> NDArray[np.float64]:
    """Return the share of each kind, none of them 0 (add-one smoothing)."""
    counts = np.bincount(kinds[kinds >= 0], minlength=size) + 1.0
    return counts / counts.sum()


def _course(evidence: NDArray[np.float64]) -> Kinds:
    """Return the column of each line on the course of most evidence, each change of it paid for."""
    lines, columns = evidence.shape
    best = [0.0] + [-_CHANGE] * (columns - 1)  # of the courses so far, by where they end
    came = np.empty((lines, columns), dtype=np.int8)
    for start, chunk in _chunks(evidence):
        steps = []
        for line in chunk:
            entered = max(best)
            origin = best.index(entered)
            entered -= _CHANGE
            steps.append(
                [column if kept >= entered else origin for column, kept in enumerate(best)]
            )
            best = [
                (kept if kept >= entered else entered) + told
                for kept, told in zip(best, line, strict=True)
            ]
        came[start : start + len(steps)] = steps
    course = np.empty(lines, dtype=np.int64)
    column = best.index(max(best))
    for line in range(lines - 1, -1, -1):
        course[line] = column
        column = came[line, column]
    return course


def _chunks(evidence: NDArray[np.float64]) -> Iterator[tuple[int, list[list[float]]]]:
    """Yield the first line of some, and these as lists, which are faster to go through."""
    for start in range(0, len(evidence), _CHUNK):
        yield start, evidence[start : start + _CHUNK].tolist()
