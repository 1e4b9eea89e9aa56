"""Find repeated pairs and sides in parallel text."""

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
_MOST = 0.9  # share of lines with a shared side, above which the sides are labels


def repeats(pairs: Sequence[Pair], moved: Collection[int] = ()) -> list[Finding]:
    """Return findings on repeated pairs and sides.

    pairs: as `Pair.comparable` returns them. moved: lines whose targets belong to other sources,
    and so are no other translations.
    """
    source = _shared(pairs)
    target = _shared([Pair(target, source) for source, target in pairs])
    pasted = set(source)
    least_of_labels = _MOST * sum(all(pair) for pair in pairs)
    source, target = (lines if len(lines) <= least_of_labels else [] for lines in (source, target))
    retranslated = (row for row in _retranslated(pairs, moved) if row[0] not in pasted)
    retranslation = "other translation of a source seen before"
    return [
        _seen_earlier("duplicate-pairs", "pair seen before", _repeated(pairs)),
        _seen_earlier("other-translation", retranslation, retranslated),
        on_lines("shared-source", "source that many different targets share", source),
        on_lines("shared-target", "target that many different sources share", target),
    ]


class Repeats:
    """Remembers the pairs of several corpora, in 24 bytes each."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._known: list[_Known] = []

    def of_next(self, pairs: Sequence[Pair], tag: str) -> list[Finding]:
        """Return the pairs of the next corpus that an earlier one has, and their first line there.

        Corpora of the same tag are searched first. A pair of two equal sides, such as a name, may
        be under two tags.
        """
        distinct, first, places = np.unique(digests(pairs), return_index=True, return_inverse=True)
        compared = [pair.comparable() for pair in pairs]
        unsaid = np.array([any(pair) for pair in compared], dtype=bool)
        translated = np.array([source != target for source, target in compared], dtype=bool)
        findings = []
        numbered = enumerate(self._known, start=1)
        for number, known in sorted(numbered, key=lambda corpus: corpus[1].tag != tag):
            _, shared, shared_known = np.intersect1d(
                distinct, known.digests, assume_unique=True, return_indices=True
            )
            known_lines = np.zeros(len(distinct), dtype=np.int64)
            known_lines[shared] = known.lines[shared_known]
            earlier = known_lines[places]
            same = (earlier > 0) & unsaid
            if known.tag != tag:
                same &= translated
            unsaid &= ~same
            rows = zip((np.flatnonzero(same) + 1).tolist(), earlier[same].tolist(), strict=True)
            id = "in-corpus" if known.tag == tag else "in-corpus-of-other-tag"
            problem = f"pair is in corpus {number} too{_tagged(known.tag, tag)}"
            findings.append(_seen_earlier(id, problem, rows))
        self._known.append(_Known(tag, distinct, first + 1))
        return [finding for finding in findings if finding.count]


class HeldOutPairs:
    """Finds the training pairs that are in validation or test text."""

    def __init__(self, pairs: Iterable[Pair]) -> None:
        """Remember the pairs of that text; one with an empty side does not count."""
        self._pairs = {pair for pair in (pair.comparable() for pair in pairs) if all(pair)}
        self._sources = {pair.source for pair in self._pairs}

    def findings(self, pairs: Sequence[Pair]) -> list[Finding]:
        """Return findings on training text: equal pairs, and sources with other targets."""
        same: list[int] = []
        same_source: list[int] = []
        for line, pair in enumerate((pair.comparable() for pair in pairs), start=1):
            if pair in self._pairs:
                same.append(line)
            elif pair.source in self._sources:
                same_source.append(line)
        source = "source is in the validation text, with another translation"
        findings = [
            on_lines("in-validation", "pair is in the validation text too", same),
            on_lines("source-in-validation", source, same_source),
        ]
        return [finding for finding in findings if finding.count]


class _Known(NamedTuple):
    tag: str
    digests: Digests
    """Each once, sorted."""
    lines: NDArray[np.int64]
    """The first line of each, counted from 1."""


def _tagged(known: str, tag: str) -> str:
    if known == tag:
        return ""
    return f", there with the tag {known}" if known else ", there without a tag"


def _seen_earlier(id: str, problem: str, rows: Iterable[tuple[int, int]]) -> Finding:
    """Return a finding on lines; each comes with the number of an earlier line like it."""
    rows = list(rows)
    lines, earlier = zip(*rows, strict=True) if rows else ((), ())
    return Finding(id, problem, len(lines), lines, earlier=earlier)


def _repeated(pairs: Sequence[Pair]) -> Iterator[tuple[int, int]]:
    """Yield each line with a pair seen before, and the first line of that pair."""
    first: dict[Pair, int] = {}
    for line, pair in enumerate(pairs, start=1):
        if any(pair) and first.setdefault(pair, line) != line:
            yield line, first[pair]


def _retranslated(pairs: Sequence[Pair], moved: Collection[int]) -> Iterator[tuple[int, int]]:
    """Yield each line with a new target for a source seen before, and the source's first line."""
    first: dict[str, int] = {}
    targets: dict[str, set[str]] = {}
    for line, pair in enumerate(pairs, start=1):
        if not all(pair) or line in moved:
            continue
        earlier_targets = targets.setdefault(pair.source, set())
        if earlier_targets and pair.target not in earlier_targets:
            yield line, first[pair.source]
        first.setdefault(pair.source, line)
        earlier_targets.add(pair.target)


def _shared(pairs: Sequence[Pair]) -> list[int]:
    """Return the lines whose first side is paired with very many different other sides.

    Such a side was pasted, or is a label, or says that a translation is missing.
    """
    threshold = max(_MANY, _MANY_SHARE * len(pairs))
    counts = Counter(pair[0] for pair in pairs if all(pair))
    partners: dict[str, set[str]] = {text: set() for text, n in counts.items() if n >= threshold}
    for text, partner in pairs:
        if partner and text in partners:
            partners[text].add(partner)
    shared = {text for text, texts in partners.items() if len(texts) >= threshold}
    return [n for n, (text, partner) in enumerate(pairs, start=1) if partner and text in shared]
