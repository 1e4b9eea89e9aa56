"""Find stretches where the two sides of a text are shifted, from the text alone.

Long sentences have long translations (Gale and Church, "A Program for Aligning Sentences in
Bilingual Corpora", 1993), questions are translated by questions, and names and numbers stay. The
text itself shows how much each feature proves: how often the sides of a line agree, compared with
lines that are further apart. The most probable course through the lines (Viterbi) then shows where
targets belong to other sources. The features are counted again along this course, because shifted
lines have blurred the first count.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headway.data.alignment_features import (
    APART,
    PAIRED,
    SHARED,
    Clue,
    Kinds,
    Lengths,
    Questions,
    RareWords,
)
from headway.data.stretches import Stretch, with_exact_ends

SHIFTS = (0, 1, -1, 2, -2, 3, -3, 4, -4, 5, -5)
_FEWEST = 50  # lines that are needed
# The least evidence for a change of course, as the logarithm of how much more probable it makes the
# text. A stretch among aligned lines needs two changes, so by chance one line in e**20 begins one.
_CHANGE = 10.0
_CLIP = 4.0  # the most evidence of one pair, for or against
_TELLING = 0.05  # the average evidence of a pair that is needed to find any stretch
_ROUNDS = 10  # at most, each with the features counted along the course of the last round
_LABELS = 0.1  # a share of different targets, below which they are labels rather than text
_CHUNK = 10_000  # lines
_FARTHEST = 200  # lines, the largest shift of a whole stretch
_FEW = 3  # lines that share rare words by chance
_SURE = 5.0  # standard deviations of a correlation by chance


def misaligned(sources: Sequence[str], targets: Sequence[str]) -> list[Stretch]:
    """Return the stretches whose targets belong to other sources nearby, or to none, in order.

    Both sides have the same number of lines. Nothing is found in fewer than 50 lines, nor if no
    feature shows which lines belong together, for example if all have the same length. Otherwise a
    stretch must have twenty to fifty lines, fewer in text with many names and numbers.
    """
    lines = len(sources)
    if lines < _FEWEST:
        return []
    lengths = Lengths(sources, targets)
    rare_words = RareWords(sources, targets)
    clues = (lengths, Questions(sources, targets), rare_words)
    agreement = [_counted(clue) for clue in clues]
    evidence, course = _settled(agreement, _runs(sources, targets))
    if _relative_entropy(agreement, course) < _TELLING:
        return _of_other_sources(targets, lengths)
    for start, end in _stretches(course):
        # The best of eleven shifts has some evidence by chance, so it needs more.
        if course[start] and evidence[start:end, course[start]].sum() < _CHANGE:
            course[start:end] = len(SHIFTS)
    stretches = [
        Stretch(start, end, (*SHIFTS, None)[course[start]]) for start, end in _stretches(course)
    ]
    # By chance, one of eleven shifts may look best although no lines belong together.
    unsure = any(s.late and not _is_sure(s, lengths, rare_words) for s in stretches)
    if unsure and (unrelated := _of_other_sources(targets, lengths)):
        return unrelated
    stretches = [
        _placed(stretch, lengths)
        if stretch.late != 0 and _is_plausible(stretch, lengths)
        else stretch._replace(late=0)
        for stretch in stretches
    ]
    exact = with_exact_ends(stretches, sources, targets)
    return [stretch for stretch in exact if stretch.late != 0]


def _of_other_sources(targets: Sequence[str], lengths: Lengths) -> list[Stretch]:
    """Return the stretch of all lines, unless lengths contradict it or targets are labels."""
    whole = Stretch(0, len(targets), None)
    is_text = len(set(targets)) > _LABELS * len(targets)
    return [_placed(whole, lengths)] if is_text and _is_plausible(whole, lengths) else []


def _is_sure(stretch: Stretch, lengths: Lengths, rare_words: RareWords) -> bool:
    """Return True if the lengths or the rare words of a shifted stretch agree beyond chance."""
    start, end, late = stretch
    assert late is not None
    shared = [int((rare_words.kinds(shift)[start:end] > SHARED).sum()) for shift in (late, *APART)]
    usual = sum(shared[1:]) / len(APART)
    return (
        lengths.agreement(start, end, late) >= PAIRED
        or shared[0] > usual + _SURE * math.sqrt(usual) + _FEW
    )


def _stretches(course: Kinds) -> list[tuple[int, int]]:
    """Return the stretches of one course: the first line and one past the last."""
    return list(pairwise([0, *(np.flatnonzero(np.diff(course)) + 1).tolist(), len(course)]))


def _runs(sources: Sequence[str], targets: Sequence[str]) -> NDArray[np.int64]:
    """Return for each line how many lines in a row have its source, or its target.

    Several translations of one source repeat the same evidence.
    """
    sides = zip(sources, targets, strict=True)
    is_new = [True, *(a != c and b != d for (a, b), (c, d) in pairwise(sides))]
    starts = np.flatnonzero(is_new)
    lengths = np.diff(np.append(starts, len(is_new)))
    return np.repeat(lengths, lengths)


def _is_plausible(stretch: Stretch, lengths: Lengths) -> bool:
    """Return True unless lengths contradict a stretch.

    Text of another kind than most lines may look shifted, although its sides belong together.
    """
    start, end, late = stretch
    if late is None:
        return lengths.are_unrelated(start, end)
    return lengths.agreement(start, end, late) >= lengths.agreement(start, end) - PAIRED


def _placed(stretch: Stretch, lengths: Lengths) -> Stretch:
    """Return a stretch without sources nearby, with its larger shift if lengths show one.

    All lines of the stretch are shifted by the same distance then.
    """
    start, end, late = stretch
    if late is not None:
        return stretch
    agreement: dict[int, float] = {}
    for far in range(max(SHIFTS) + 1, _FARTHEST + 1):
        for shift in (far, -far):
            # The sources of these targets, as far as the text has them.
            first, last = max(start - shift, 0), min(end - shift, len(lengths.source))
            if last - first >= _FEWEST:
                last = min(last, first + _CHUNK)
                # In few lines, chance may be large (Fisher's transformation of a correlation).
                by_chance = math.tanh(_SURE / math.sqrt(last - first - 3))
                agreement[shift] = lengths.agreement(first, last, shift) - max(PAIRED, by_chance)
    best = max(agreement, key=agreement.__getitem__, default=0)
    return stretch._replace(late=best) if best and agreement[best] > 0 else stretch


class _Agreement(NamedTuple):
    """How lines agree on one feature."""

    kinds: list[NDArray[np.int8]]
    """For each shift, the kind of each line."""
    by_chance: NDArray[np.float64]
    """The share of each kind among lines that are far apart."""


def _counted(clue: Clue) -> _Agreement:
    # Eight bits are enough for a kind, and save memory for many lines.
    kinds = [clue.kinds(shift).astype(np.int8) for shift in SHIFTS]
    chance = np.concatenate([clue.kinds(apart) for apart in APART])
    size = 1 + max(side.max() for side in (chance, *kinds))
    return _Agreement(kinds, _shares(chance, size))


def _settled(
    agreement: Sequence[_Agreement], repeats: NDArray[np.int64]
) -> tuple[NDArray[np.float64], Kinds]:
    """Return the evidence counted along a course, and the course that it leads to: the same one.

    repeats: how many lines share the evidence of each line.
    """
    evidence, course = np.empty((0, 0)), _usual_course(agreement)
    for _ in range(_ROUNDS):
        evidence = _evidence(agreement, course) / repeats[:, None]
        before, course = course, _course(evidence)
        if (course == before).all():
            break
    return evidence, course


def _usual_course(agreement: Sequence[_Agreement]) -> Kinds:
    """Return a course with one shift for all lines, the one at which most belong together."""
    lines = len(agreement[0].kinds[0])
    courses = [np.full(lines, column) for column in range(len(SHIFTS))]
    entropies = [_relative_entropy(agreement, course) for course in courses]
    best = int(np.argmax(entropies))
    return courses[best if (entropies[best] - entropies[0]) * lines > _CHANGE else 0]


def _on(course: Kinds, clue: _Agreement) -> NDArray[np.float64]:
    """Return the share of each kind among the lines of a course that belong somewhere."""
    belong = course < len(SHIFTS)
    kinds = np.choose(np.where(belong, course, 0), clue.kinds)
    return _shares(kinds[belong], len(clue.by_chance))


def _relative_entropy(agreement: Sequence[_Agreement], course: Kinds) -> float:
    """Return the average evidence of a line on whether it belongs on the course."""
    if (course == len(SHIFTS)).all():
        return 0.0
    shares = [(_on(course, clue), clue.by_chance) for clue in agreement]
    return float(sum((on * np.log(on / chance)).sum() for on, chance in shares))


def _evidence(agreement: Sequence[_Agreement], course: Kinds) -> NDArray[np.float64]:
    """Return how much more probable each line is at each shift than by chance: the logarithm.

    (lines, shifts and one more): the last column is for lines that belong to no source nearby.
    course: the best estimate of where lines belong together, along which kinds are counted.
    """
    evidence = np.zeros((len(course), len(SHIFTS) + 1))
    for clue in agreement:
        logarithms = np.log(_on(course, clue) / clue.by_chance)
        table = np.append(logarithms, 0.0)  # kind -1, no such line, shows nothing
        for column, kinds in enumerate(clue.kinds):
            evidence[:, column] += table[kinds]
    return evidence.clip(-_CLIP, _CLIP)


def _shares(kinds: NDArray[np.integer], size: int) -> NDArray[np.float64]:
    """Return the share of each kind, none of them 0 (add-one smoothing)."""
    counts = np.bincount(kinds[kinds >= 0], minlength=size) + 1.0
    return counts / counts.sum()


def _course(evidence: NDArray[np.float64]) -> Kinds:
    """Return each line's column on the course with most evidence; each change costs `_CHANGE`."""
    lines, columns = evidence.shape
    best = [0.0] + [-_CHANGE] * (columns - 1)  # evidence of the courses so far, by last column
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
    """Yield chunks of lines as lists, which are faster to go through, each with its first line."""
    for start in range(0, len(evidence), _CHUNK):
        yield start, evidence[start : start + _CHUNK].tolist()
