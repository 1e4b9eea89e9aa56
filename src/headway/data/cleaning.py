"""Drop the pairs that cannot be trained on, and count them by reason."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from headway.counted import counted
from headway.data.corpus import Pair
from headway.data.duplicates import Seen
from headway.data.encoded import EncodedPair, EncodedPairs
from headway.data.pair_rules import CleaningRules, Encoder, Examined, Examiner, Sides
from headway.errors import DataError
from headway.runtime.processes import mapped

_EXAMPLES = 5  # line numbers kept for each reason
_CHUNK = 10_000  # pairs encoded at once, so that text and pieces of a whole corpus never coexist
_DUPLICATE = "duplicate"
_NEAR = "equal to a pair that is held out, but for case, digits, punctuation or spaces"


@dataclass(slots=True)
class CleaningReport:
    """Count the pairs read, kept, dropped and cut, with a few line numbers for each reason."""

    total: int = 0
    kept: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    cut: dict[str, int] = field(default_factory=dict)
    notes: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[int]] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """Return the report as short lines of text, the totals first."""
        total_dropped = sum(self.dropped.values())
        head = f"{counted(self.total, 'pair')} read, {self.kept:,} kept"
        if self.dropped:
            head += f"; dropped {total_dropped:,}: {self._listing(self.dropped)}"
        result = [head]
        if self.cut:
            result.append(f"cut: {self._listing(self.cut)}")
        if self.notes:
            result.append(f"note: {self._listing(self.notes)}")
        return result

    def include(self, other: "CleaningReport", name: str = "") -> None:
        """Add the report on another text, under its name."""
        self.total += other.total
        self.kept += other.kept
        for counts, more in (
            (self.dropped, other.dropped),
            (self.cut, other.cut),
            (self.notes, other.notes),
            (self.examples, other.examples),
        ):
            counts |= {f"{name}{reason}": value for reason, value in more.items()}  # pyright: ignore

    def check(self, name: str = "") -> None:
        """Raise DataError if no pair is left; its message begins with the name of the text."""
        if not self.kept:
            raise DataError(
                f"{name}No pair is left to use: {self.summary()}.",
                "Check the files and the cleaning rules.",
            )

    def summary(self) -> str:
        """Return the report as one line of text."""
        return "; ".join(self.lines())

    def _listing(self, counts: dict[str, int]) -> str:
        return ", ".join(
            f"{reason} {count:,} ({self._lines_of(reason, count)})"
            for reason, count in counts.items()
        )

    def _lines_of(self, reason: str, count: int) -> str:
        lines = self.examples[reason]
        more = ", …" if count > len(lines) else ""
        return (
            ("line " if count == 1 else "lines ") + ", ".join(f"{line:,}" for line in lines) + more
        )

    def _add(self, counts: dict[str, int], reason: str, line: int) -> None:
        counts[reason] = counts.get(reason, 0) + 1
        examples = self.examples.setdefault(reason, [])
        if len(examples) < _EXAMPLES:
            examples.append(line)


def clean(
    pairs: Sequence[Pair],
    encode_source: Encoder,
    encode_target: Encoder,
    *,
    rules: CleaningRules,
    normalize_target: Callable[[str], str] | None = None,
    lines: Sequence[int] | None = None,
    name: str = "",
) -> tuple[list[EncodedPair], CleaningReport]:
    """Encode the pairs, leave out those that break a rule, and report which and why.

    lines: the line of each pair in its file, counted from 1 if unset. name: the beginning of the
    message of the DataError if no pair is left. The other arguments are those of `Examiner`.
    """
    numbered = zip(range(1, len(pairs) + 1) if lines is None else lines, pairs, strict=True)
    cleaning = Cleaning(Examiner(rules, encode_source, encode_target, normalize_target))
    kept_pairs = [pair for some in cleaning.cleaned(numbered) for pair in some.tolist()]
    cleaning.report.check(name)
    return kept_pairs, cleaning.report


class Cleaning:
    """Encodes pairs as they come and drops those that break a rule, counted by reason.

    A pair is counted under the first rule that it breaks: one of the examiner's rules, or else that
    it duplicates a pair that is kept.
    """

    def __init__(
        self,
        examiner: Examiner,
        *,
        seen: Seen | None = None,
        processes: int = 1,
        near: frozenset[int] = frozenset(),
    ) -> None:
        """Begin with an empty report.

        seen: the pairs that are kept of all corpora, shared among them. processes: the number of
        processes that examine pairs, if these are many; the result is the same. near: lines whose
        pairs are dropped because they resemble one that is held out.
        """
        self.examiner = examiner
        self.report = CleaningReport()
        self._seen = Seen() if seen is None else seen
        self._processes = processes
        self._near = near

    def cleaned(self, numbered: Iterable[tuple[int, Pair]]) -> Iterator[EncodedPairs]:
        """Yield the kept pairs, some at a time; numbers are those of their lines."""
        examined_soon: deque[tuple[tuple[int, Pair], ...]] = deque()
        numbered = iter(numbered)

        def sides() -> Iterator[Sides]:
            while chunk := tuple(islice(numbered, _CHUNK)):
                examined_soon.append(chunk)
                yield [pair.source for _, pair in chunk], [pair.target for _, pair in chunk]

        for examined in mapped(self.examiner, sides(), self._processes):
            lines, texts = zip(*examined_soon.popleft(), strict=True)
            pairs = EncodedPairs(examined.source, examined.target, np.array(lines), texts)
            kept = self._rows_to_keep(pairs.lines, examined)
            yield self._cut(pairs if len(kept) == len(pairs) else pairs.pick(kept))

    def _rows_to_keep(self, lines: NDArray[np.int64], examined: Examined) -> NDArray[np.int64]:
        """Count some pairs, and return the rows of the kept ones."""
        report, dropped = self.report, dict(examined.broken)
        near = (row for row, line in enumerate(lines.tolist()) if line in self._near)
        dropped |= {row: _NEAR for row in near} if self._near else {}
        is_kept = np.ones(len(lines), dtype=bool)
        is_kept[list(dropped)] = False
        if self.examiner.rules.drop_duplicates:
            rows = np.flatnonzero(is_kept)
            again = rows[~self._seen.first_seen(examined.digests[rows])]
            is_kept[again] = False
            dropped |= dict.fromkeys(again.tolist(), _DUPLICATE)
        report.total += len(lines)
        report.kept += int(is_kept.sum())
        for row, note in examined.notes:
            if is_kept[row]:
                report._add(report.notes, note, int(lines[row]))
        for row, reason in sorted(dropped.items()):
            report._add(report.dropped, reason, int(lines[row]))
        return np.flatnonzero(is_kept)

    def _cut(self, pairs: EncodedPairs) -> EncodedPairs:
        """Return pairs cut to the longest length allowed, and count each side that was cut."""
        limit = self.examiner.rules.max_pieces
        if limit is None:
            return pairs
        for side, pieces in (("source", pairs.source), ("target", pairs.target)):
            for line in pairs.lines[pieces.lengths() > limit].tolist():
                self.report._add(self.report.cut, f"{side} longer than {limit} tokens", line)
        return replace(pairs, source=pairs.source.cut(limit), target=pairs.target.cut(limit))
