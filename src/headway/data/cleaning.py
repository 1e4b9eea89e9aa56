"""Leaves out the pairs that cannot be trained on, and counts every one of them by reason."""

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import islice
from typing import Literal, NamedTuple

from headway.data.corpus import Pair
from headway.data.scripts import check_script, main_script
from headway.errors import ConfigError, DataError

Encoder = Callable[[list[str]], list[list[int]]]

_EXAMPLES = 5  # line numbers kept for each reason
_CHUNK = 10_000  # pairs encoded at once, so that text and pieces of a whole corpus never coexist
_CONTROL_NOTE = "control characters, pair kept"
_REWRITTEN_NOTE = "target rewritten by tokenizer.normalization, pair kept"


class EncodedPair(NamedTuple):
    """Hold the piece ids of one pair, without start and end symbols, and its 1-based line."""

    source_ids: list[int]
    target_ids: list[int]
    line: int


@dataclass(frozen=True, slots=True)
class CleaningRules:
    """Name what makes a pair unfit for training.

    Attributes:
        drop_empty: Drop a pair of which one side has no pieces.
        max_pieces: Longest side allowed, in pieces without start and end; None for no limit.
        over_long: `"drop"` leaves an over-long pair out, `"cut"` keeps its first pieces.
        max_ratio: Largest ratio of pieces between the longer and the shorter side; None for any.
        drop_duplicates: Keep only the first of several equal pairs.
        drop_identical: Drop a pair whose two sides are the same text.
        drop_copies: Drop a pair whose two sides are the same but for case, spaces and punctuation;
            one without any letter is kept.
        source_script: Drop a pair whose source has letters, most of them of another script than
            this, such as `hangul`; empty for any.
        target_script: The same for the target.
    """

    drop_empty: bool = True
    max_pieces: int | None = 256
    over_long: Literal["drop", "cut"] = "drop"
    max_ratio: float | None = None
    drop_duplicates: bool = False
    drop_identical: bool = False
    drop_copies: bool = False
    source_script: str = ""
    target_script: str = ""

    def __post_init__(self) -> None:
        """Refuse limits that would drop everything."""
        if self.max_pieces is not None and self.max_pieces < 1:
            raise ConfigError(
                f"max_pieces is {self.max_pieces}; it must be at least 1.",
                "Give a length such as 256, or None for no limit.",
            )
        if self.max_ratio is not None and not self.max_ratio >= 1:
            raise ConfigError(
                f"max_ratio is {self.max_ratio}; the longer side is never less than 1 times the "
                "shorter.",
                "Give a ratio such as 3.0, or None for any.",
            )
        if self.over_long not in ("drop", "cut"):
            raise ConfigError(f"over_long is {self.over_long!r}.", "Choose 'drop' or 'cut'.")
        for script in filter(None, (self.source_script, self.target_script)):
            check_script(script)

    def reversed(self) -> "CleaningRules":
        """Return the rules for text whose sides are exchanged."""
        return replace(self, source_script=self.target_script, target_script=self.source_script)


@dataclass(slots=True)
class CleaningReport:
    """Count what cleaning read, kept, dropped and cut, with a few line numbers for each reason."""

    total: int = 0
    kept: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    cut: dict[str, int] = field(default_factory=dict)
    notes: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[int]] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """Return the report as short lines of text, the totals first."""
        total_dropped = sum(self.dropped.values())
        head = f"{self.total:,} pairs read, {self.kept:,} kept"
        if self.dropped:
            head += f"; dropped {total_dropped:,}: {self._listing(self.dropped)}"
        result = [head]
        if self.cut:
            result.append(f"cut: {self._listing(self.cut)}")
        if self.notes:
            result.append(f"note: {self._listing(self.notes)}")
        return result

    def include(self, other: "CleaningReport", name: str = "") -> None:
        """Add what was done to another text, under its name."""
        self.total += other.total
        self.kept += other.kept
        for own, more in (
            (self.dropped, other.dropped),
            (self.cut, other.cut),
            (self.notes, other.notes),
            (self.examples, other.examples),
        ):
            own |= {f"{name}{reason}": value for reason, value in more.items()}  # pyright: ignore

    def check(self, name: str = "") -> None:
        """Raise DataError if no pair of the text of this name is left."""
        if not self.kept:
            raise DataError(
                f"{name}No pair is left to use: {self.summary()}.",
                "Check the files and the cleaning rules.",
            )

    def summary(self) -> str:
        """Return the report as one line of text."""
        return "; ".join(self.lines())

    def as_dict(self) -> dict[str, object]:
        """Return the report as plain values for JSON."""
        return {
            "total": self.total,
            "kept": self.kept,
            "dropped": dict(self.dropped),
            "cut": dict(self.cut),
            "notes": dict(self.notes),
            "examples": {reason: list(lines) for reason, lines in self.examples.items()},
        }

    def _listing(self, counts: dict[str, int]) -> str:
        return ", ".join(
            f"{reason} {count:,} ({self._lines_of(reason, count)})"
            for reason, count in counts.items()
        )

    def _lines_of(self, reason: str, count: int) -> str:
        lines = self.examples[reason]
        more = ", …" if count > len(lines) else ""
        return ("line " if count == 1 else "lines ") + ", ".join(map(str, lines)) + more

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
) -> tuple[list[EncodedPair], CleaningReport]:
    """Encode the pairs, leave out those that break a rule, and report which and why.

    lines: where each pair stands in its file, if not one after the other from 1. The rest is as in
    `cleaned`. Raises DataError if no pair is left.
    """
    numbered = zip(range(1, len(pairs) + 1) if lines is None else lines, pairs, strict=True)
    cleaning = Cleaning(rules, encode_source, encode_target, normalize_target)
    kept = [encoded for _, encoded in cleaning.cleaned(numbered)]
    cleaning.report.check()
    return kept, cleaning.report


class Cleaning:
    """Encodes pairs as they come and leaves out those that break a rule, counting each by reason.

    A pair is counted under the first rule that it breaks: empty, identical, copy, script,
    over-long, ratio, duplicate. Lengths and ratio are measured before anything is cut. With
    `normalize_target`, the targets that it changes visibly (… to ..., ½ to 1/2) are noted: nobody
    will see them again in a translation.
    """

    def __init__(
        self,
        rules: CleaningRules,
        encode_source: Encoder,
        encode_target: Encoder,
        normalize_target: Callable[[str], str] | None = None,
        seen: set[bytes] | None = None,
    ) -> None:
        """Begin with an empty report; seen: what was kept of other corpora, to be shared."""
        self.rules = rules
        self.encode_source = encode_source
        self.encode_target = encode_target
        self.normalize_target = normalize_target
        self.report = CleaningReport()
        self._seen: set[bytes] = set() if seen is None else seen

    def cleaned(self, numbered: Iterable[tuple[int, Pair]]) -> Iterator[tuple[Pair, EncodedPair]]:
        """Yield the pairs that are kept, each beside its pieces; numbers are those of its lines."""
        report = self.report
        for pair, encoded in self._encoded(iter(numbered)):
            report.total += 1
            if _has_control_character(pair):
                report._add(report.notes, _CONTROL_NOTE, encoded.line)
            if self.normalize_target and _rewrites(self.normalize_target, pair.target):
                report._add(report.notes, _REWRITTEN_NOTE, encoded.line)
            reason = self._reason_to_drop(pair, encoded)
            if reason is not None:
                report._add(report.dropped, reason, encoded.line)
                continue
            report.kept += 1
            yield pair, _cut(encoded, rules=self.rules, report=report)

    def _encoded(self, numbered: Iterator[tuple[int, Pair]]) -> Iterator[tuple[Pair, EncodedPair]]:
        """Yield each pair beside its piece ids."""
        while chunk := list(islice(numbered, _CHUNK)):
            sources = self.encode_source([pair.source for _, pair in chunk])
            targets = self.encode_target([pair.target for _, pair in chunk])
            for (line, pair), *ids in zip(chunk, sources, targets, strict=True):
                yield pair, EncodedPair(ids[0], ids[1], line)

    def _reason_to_drop(self, pair: Pair, encoded: EncodedPair) -> str | None:
        """Return the first rule that a pair breaks, or None."""
        rules = self.rules
        lengths = len(encoded.source_ids), len(encoded.target_ids)
        if rules.drop_empty and 0 in lengths:
            return _empty_reason(lengths)
        if rules.drop_identical and pair.source.strip() == pair.target.strip():
            return "source identical to target"
        if rules.drop_copies and _is_copy(pair):
            return "target copies source"
        if reason := _foreign_script(pair, rules):
            return reason
        limit = rules.max_pieces
        if rules.over_long == "drop" and limit is not None and max(lengths) > limit:
            return f"longer than {limit} pieces"
        if rules.max_ratio is not None and max(lengths) > rules.max_ratio * max(min(lengths), 1):
            return f"length ratio above {rules.max_ratio:g}"
        if rules.drop_duplicates and not self._is_new(pair):
            return "duplicate"
        return None

    def _is_new(self, pair: Pair) -> bool:
        """Tell whether this pair was not kept before; 16 bytes of it are remembered."""
        text = "\n".join(side.strip().replace("\n", " ") for side in pair)
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if digest in self._seen:
            return False
        self._seen.add(digest)
        return True


def _empty_reason(lengths: tuple[int, int]) -> str:
    if lengths == (0, 0):
        return "empty source and target"
    return "empty source" if lengths[0] == 0 else "empty target"


def _cut(encoded: EncodedPair, *, rules: CleaningRules, report: CleaningReport) -> EncodedPair:
    """Return a pair cut to the longest length allowed, and count each side that was cut."""
    limit = rules.max_pieces
    if limit is None:
        return encoded
    for side, ids in (("source", encoded.source_ids), ("target", encoded.target_ids)):
        if len(ids) > limit:
            report._add(report.cut, f"{side} longer than {limit} pieces", encoded.line)
    return EncodedPair(encoded.source_ids[:limit], encoded.target_ids[:limit], encoded.line)


def _is_copy(pair: Pair) -> bool:
    source, target = map(_letters_and_digits, pair)
    return source == target and any(map(str.isalpha, source))


def _letters_and_digits(text: str) -> str:
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))


def _foreign_script(pair: Pair, rules: CleaningRules) -> str | None:
    """Return which side is in another script than it should be, or None."""
    sides = (("source", rules.source_script), ("target", rules.target_script))
    for (side, wanted), text in zip(sides, pair, strict=True):
        if wanted and (found := main_script(text)) and found != check_script(wanted):
            return f"{side} not in {wanted.capitalize()} letters"
    return None


def _has_control_character(pair: Pair) -> bool:
    # str.isprintable is fast and false for every control character, so most text stops there.
    # Of a line that ended in \r\n the \r is left, and no part of the text.
    return any(
        not text.isprintable() and any(unicodedata.category(c) == "Cc" and c != "\t" for c in text)
        for text in (side.removesuffix("\r") for side in pair)
    )


def _rewrites(normalize: Callable[[str], str], text: str) -> bool:
    """Tell whether more changes than spaces and the way in which characters are composed."""
    return _visible(normalize(text)) != _visible(text)


def _visible(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())
