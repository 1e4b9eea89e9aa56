"""Finds what stands in parallel text more than once."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from headway.data.corpus import Pair
from headway.data.examining import Digests, digests
from headway.data.finding import Finding, on_lines

_MANY, _MANY_SHARE = 20, 0.001  # different sources of one target, at least, and of all pairs


def repeats(pairs: Sequence[Pair]) -> list[Finding]:
    """Return what these pairs, without spaces around their sides, have more than once."""
    return [
        _after_others("pair seen before", _repeated(pairs)),
        _after_others("other translation of a source seen before", _retranslated(pairs)),
        on_lines("target that many different sources share", _shared(pairs)),
    ]


class Repeats:
    """Remembers the pairs of one corpus after the other, in 16 bytes each."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._known: list[tuple[str, Digests]] = []

    def of_next(self, pairs: Sequence[Pair], tag: str) -> list[Finding]:
        """Return which pairs of the next corpus are in those before it, the first of each pair."""
        found = digests(pairs)
        distinct, places = np.unique(found, return_inverse=True)
        open_ = np.array([any(map(str.strip, pair)) for pair in pairs], dtype=bool)
        findings = []
        for number, (other_tag, known) in enumerate(self._known, start=1):
            same = np.isin(distinct, known, assume_unique=True)[places] & open_
            open_ &= ~same
            problem = f"pair is in corpus {number} too{_tagged(other_tag, tag)}"
            findings.append(on_lines(problem, (np.flatnonzero(same) + 1).tolist()))
        self._known.append((tag, distinct))
        return [finding for finding in findings if finding.count]


def _tagged(there: str, here: str) -> str:
    if there == here:
        return ""
    return f", there with the tag {there}" if there else ", there without a tag"


def _after_others(problem: str, found: Iterable[tuple[int, int]]) -> Finding:
    rows = list(found)
    lines, earlier = zip(*rows, strict=True) if rows else ((), ())
    return Finding(problem, len(lines), lines, earlier=earlier)


def _repeated(pairs: Sequence[Pair]) -> Iterator[tuple[int, int]]:
    """Yield each line with a pair that was there before, and the line of its first time."""
    first: dict[Pair, int] = {}
    for line, pair in enumerate(pairs, start=1):
        if any(pair) and first.setdefault(pair, line) != line:
            yield line, first[pair]


def _retranslated(pairs: Sequence[Pair]) -> Iterator[tuple[int, int]]:
    """Yield each line with a new target for its source, and the line of the source's first time."""
    first: dict[str, int] = {}
    targets: dict[str, set[str]] = {}
    for line, pair in enumerate(pairs, start=1):
        if not pair.source:
            continue
        known = targets.setdefault(pair.source, set())
        if known and pair.target not in known:
            yield line, first[pair.source]
        first.setdefault(pair.source, line)
        known.add(pair.target)


def _shared(pairs: Sequence[Pair]) -> list[int]:
    """Return the lines whose target stands beside very many different sources.

    It was pasted, or says that there is no translation. Where most lines are so, as with labels for
    targets, the text is meant to be.
    """
    sources: defaultdict[str, set[str]] = defaultdict(set)
    for pair in pairs:
        if all(pair):
            sources[pair.target].add(pair.source)
    least = max(_MANY, _MANY_SHARE * len(pairs))
    shared = {target for target, some in sources.items() if len(some) >= least}
    lines = [line for line, pair in enumerate(pairs, start=1) if pair.target in shared]
    return lines if len(lines) <= len(pairs) / 2 else []
