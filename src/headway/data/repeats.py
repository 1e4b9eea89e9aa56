"""Finds what stands in parallel text more than once."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headway.data.corpus import Pair
from headway.data.finding import Finding, on_lines
from headway.data.pair_rules import Digests, digests

_MANY = 20  # different sources of one target, or the reverse
_MANY_SHARE = 0.001  # of all pairs
_MOST = 0.9  # of lines with a shared side, above which these are labels


def repeats(pairs: Sequence[Pair], moved: Collection[int] = ()) -> list[Finding]:
    """Return what these pairs, without spaces around their sides, have more than once.

    moved: lines whose targets are of other sources, and so are no other translations.
    """
    source = _shared(pairs)
    target = _shared([Pair(target, source) for source, target in pairs])
    pasted = set(source)
    least_of_labels = _MOST * sum(all(pair) for pair in pairs)
    source, target = (lines if len(lines) <= least_of_labels else [] for lines in (source, target))
    others = (row for row in _retranslated(pairs, moved) if row[0] not in pasted)
    return [
        _after_others("duplicate-pairs", "pair seen before", _repeated(pairs)),
        _after_others("other-translation", "other translation of a source seen before", others),
        on_lines("shared-source", "source that many different targets share", source),
        on_lines("shared-target", "target that many different sources share", target),
    ]


class Repeats:
    """Remembers the pairs of one corpus after the other, in 24 bytes each."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._known: list[_Known] = []

    def of_next(self, pairs: Sequence[Pair], tag: str) -> list[Finding]:
        """Return which pairs of the next corpus are in those before it, each where it was first.

        Corpora of the same tag come first. What is the same in both languages, such as a name,
        may be under two tags.
        """
        distinct, first, places = np.unique(digests(pairs), return_index=True, return_inverse=True)
        stripped = [pair.stripped() for pair in pairs]
        unsaid = np.array([any(pair) for pair in stripped], dtype=bool)
        translated = np.array([source != target for source, target in stripped], dtype=bool)
        findings = []
        numbered = enumerate(self._known, start=1)
        for number, known in sorted(numbered, key=lambda corpus: corpus[1].tag != tag):
            _, own, there = np.intersect1d(
                distinct, known.digests, assume_unique=True, return_indices=True
            )
            line_there = np.zeros(len(distinct), dtype=np.int64)
            line_there[own] = known.lines[there]
            earlier = line_there[places]
            same = (earlier > 0) & unsaid
            if known.tag != tag:
                same &= translated
            unsaid &= ~same
            rows = zip((np.flatnonzero(same) + 1).tolist(), earlier[same].tolist(), strict=True)
            id = "in-corpus" if known.tag == tag else "in-corpus-of-other-tag"
            problem = f"pair is in corpus {number} too{_tagged(known.tag, tag)}"
            findings.append(_after_others(id, problem, rows))
        self._known.append(_Known(tag, distinct, first + 1))
        return [finding for finding in findings if finding.count]


class _Known(NamedTuple):
    tag: str
    digests: Digests
    """Each once, sorted."""
    lines: NDArray[np.int64]
    """Where each was first, counted from 1."""


def _tagged(there: str, here: str) -> str:
    if there == here:
        return ""
    return f", there with the tag {there}" if there else ", there without a tag"


def _after_others(id: str, problem: str, found: Iterable[tuple[int, int]]) -> Finding:
    rows = list(found)
    lines, earlier = zip(*rows, strict=True) if rows else ((), ())
    return Finding(id, problem, len(lines), lines, earlier=earlier)


def _repeated(pairs: Sequence[Pair]) -> Iterator[tuple[int, int]]:
    """Yield each line with a pair that was there before, and the line of its first time."""
    first: dict[Pair, int] = {}
    for line, pair in enumerate(pairs, start=1):
        if any(pair) and first.setdefault(pair, line) != line:
            yield line, first[pair]


def _retranslated(pairs: Sequence[Pair], moved: Collection[int]) -> Iterator[tuple[int, int]]:
    """Yield each line with a new target for its source, and the line of the source's first time."""
    first: dict[str, int] = {}
    targets: dict[str, set[str]] = {}
    for line, pair in enumerate(pairs, start=1):
        if not all(pair) or line in moved:
            continue
        known = targets.setdefault(pair.source, set())
        if known and pair.target not in known:
            yield line, first[pair.source]
        first.setdefault(pair.source, line)
        known.add(pair.target)


def _shared(pairs: Sequence[Pair]) -> list[int]:
    """Return the lines whose first side stands beside very many different other sides.

    It was pasted, or says that there is no translation, or is a label.
    """
    least = max(_MANY, _MANY_SHARE * len(pairs))
    counts = Counter(pair[0] for pair in pairs if all(pair))
    others: dict[str, set[str]] = {text: set() for text, n in counts.items() if n >= least}
    for text, other in pairs:
        if other and text in others:
            others[text].add(other)
    shared = {text for text, beside in others.items() if len(beside) >= least}
    return [n for n, (text, other) in enumerate(pairs, start=1) if other and text in shared]
