"""Examine pairs one by one: their pieces, and the rules that they break.

Nothing here depends on other pairs, so it may run in any process and in any order.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from headway.data.composition import is_decomposed
from headway.data.corpus import Pair
from headway.data.details import has_other_addresses, has_other_markup, has_other_numbers
from headway.data.ragged import Ragged
from headway.data.rewriting import rewrites
from headway.data.scripts import check_script, main_script, script_name
from headway.data.two_languages import TwoLanguages
from headway.errors import ConfigError

Encoder = Callable[[list[str]], list[list[int]]]
Digests = NDArray[np.bytes_]
Sides = tuple[list[str], list[str]]

DIGEST_BYTES = 16
REWRITTEN_NOTE = "target rewritten by tokenizer.normalization, pair kept"
DECOMPOSED_NOTE = "not in Unicode's composed form (NFC), pair kept (headway clean composes it)"
_HELD_OUT = "equal to a pair that is held out"
_CONTROL_NOTE = "control characters, pair kept (headway clean repairs or reports them)"
_ENDS_NOTE = "lines end in \\r\\n, and the \\r is kept as text: convert the file"
_CONTROL = re.compile("[\0-\x08\n-\x1f\x7f-\x9f]")  # Unicode's category Cc but for the tab


@dataclass(frozen=True, slots=True)
class CleaningRules:
    """The rules that decide which pairs are unfit for training.

    Attributes:
        drop_empty: Drop a pair if one side has no pieces.
        max_pieces: Longest side allowed, in pieces without start and end; None for no limit.
        too_long: `"drop"` leaves an over-long pair out, `"cut"` keeps its first pieces.
        max_ratio: Largest ratio of pieces between the longer and the shorter side; None for any.
        drop_duplicates: Keep only the first of several equal pairs.
        drop_identical: Drop a pair whose two sides are the same text.
        drop_copies: Drop a pair whose two sides differ only in case, spaces and punctuation; one
            without any letter is kept.
        drop_exchanged: Drop a pair whose sides seem exchanged, by the languages of the examiner.
        drop_number_mismatch: Drop a pair whose sides have numbers that cannot be the same.
        drop_url_mismatch: Drop a pair if one side has a web or email address that the other lacks.
        drop_markup_mismatch: Drop a pair whose sides do not have the same tags, such as `<b>`.
        source_script: Drop a pair whose source has letters, most of them in another script than
            this one, such as `hangul`; empty for any.
        target_script: The same for the target.
    """

    drop_empty: bool = True
    max_pieces: int | None = 256
    too_long: Literal["drop", "cut"] = "drop"
    max_ratio: float | None = None
    drop_duplicates: bool = False
    drop_identical: bool = False
    drop_copies: bool = False
    drop_exchanged: bool = False
    drop_number_mismatch: bool = False
    drop_url_mismatch: bool = False
    drop_markup_mismatch: bool = False
    source_script: str = ""
    target_script: str = ""

    def __post_init__(self) -> None:
        """Refuse limits that would drop everything."""
        if self.max_pieces is not None and self.max_pieces < 1:
            raise ConfigError(
                f"max_pieces is {self.max_pieces}; it must be at least 1.",
                "Give a length such as 256, or None for no limit.",
            )
        if self.max_ratio is not None and not self.max_ratio > 1:
            raise ConfigError(
                f"max_ratio is {self.max_ratio}; it must be above 1.",
                "Give a ratio such as 3.0, or None for any.",
            )
        if self.too_long not in ("drop", "cut"):
            raise ConfigError(f"too_long is {self.too_long!r}.", "Choose 'drop' or 'cut'.")
        for script in filter(None, (self.source_script, self.target_script)):
            check_script(script)

    def reversed(self) -> "CleaningRules":
        """Return the rules for text whose sides are exchanged."""
        return replace(self, source_script=self.target_script, target_script=self.source_script)


@dataclass(frozen=True, slots=True)
class Examined:
    """The results for some pairs, each examined by itself; rows count them from 0."""

    source: Ragged
    target: Ragged
    broken: dict[int, str]
    """The first rule that a pair breaks."""
    notes: list[tuple[int, str]]
    """Remarks that are no reason to drop a pair, in the order of the pairs."""
    digests: Digests
    """16 bytes for the text of each pair, equal for equal texts; empty unless duplicates go."""


@dataclass(frozen=True, slots=True)
class Examiner:
    """Encodes pairs, and checks everything that does not depend on their order.

    The first rule that a pair breaks is the first of: held out, empty, identical, copy, exchanged,
    numbers, addresses, markup, script, over-long, ratio. `without` are the pairs that are held out,
    stripped of spaces. Lengths and ratio are those of all pieces, before anything is cut. Targets
    that `normalize_target` changes visibly (… to ..., ½ to 1/2) are noted, because translations
    cannot contain the original characters. tag: the tag of the pairs; with another tag, equal text
    is no duplicate. languages: they show which sides are exchanged; if unset, no check is made.
    """

    rules: CleaningRules
    encode_source: Encoder
    encode_target: Encoder
    normalize_target: Callable[[str], str] | None = None
    without: frozenset[Pair] = frozenset()
    tag: str = ""
    languages: TwoLanguages | None = None

    def __call__(self, sides: Sides) -> Examined:
        """Examine the sources and targets of some pairs."""
        sources, targets = sides
        encoded = self.encode_source(sources), self.encode_target(targets)
        if {len(rows) for rows in encoded} != {len(sources)}:
            raise ValueError(f"an encoder returned more or fewer than {len(sources)} rows")
        source, target = (Ragged.of(rows, np.int32) for rows in encoded)
        broken: dict[int, str] = {}
        lengths = np.stack([source.lengths(), target.lengths()], axis=1)
        pairs = list(map(Pair, sources, targets))
        if self.without:
            broken = {
                row: _HELD_OUT for row, pair in enumerate(pairs) if pair.stripped() in self.without
            }
        for reason, rows in _reasons(self.rules, pairs, lengths, self.languages):
            for row in rows:
                broken.setdefault(int(row), reason)
        compared = digests(pairs if self.rules.drop_duplicates else (), self.tag)
        return Examined(source, target, broken, self._notes(pairs), compared)

    def _notes(self, pairs: list[Pair]) -> list[tuple[int, str]]:
        sources, targets = ([pair[side] for pair in pairs] for side in (0, 1))
        controlled = {*_with_control_characters(sources), *_with_control_characters(targets)}
        notes = [(row, _CONTROL_NOTE) for row in controlled]
        if normalize := self.normalize_target:
            if normalize("a\r").endswith("\r"):
                ends = (
                    row for row, sides in enumerate(pairs) if any(s.endswith("\r") for s in sides)
                )
                notes.extend((row, _ENDS_NOTE) for row in ends)
            rewritten = (row for row, text in enumerate(targets) if rewrites(normalize, text))
            notes.extend((row, REWRITTEN_NOTE) for row in rewritten)
        decomposed = (row for row, sides in enumerate(pairs) if any(map(is_decomposed, sides)))
        notes.extend((row, DECOMPOSED_NOTE) for row in decomposed)
        return sorted(notes)


def digests(pairs: Sequence[Pair], tag: str = "") -> Digests:
    """Return 16 bytes for each pair and its tag.

    Spaces around its sides and the form in which Unicode writes their characters do not count.
    """
    joined = bytearray()
    for pair in pairs:
        text = "\n".join(text.replace("\n", " ") for text in (*pair.comparable(), tag.strip()))
        joined += blake2b(text.encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES).digest()
    return np.frombuffer(joined, dtype=f"S{DIGEST_BYTES}")


def _reasons(
    rules: CleaningRules,
    pairs: list[Pair],
    lengths: NDArray[np.int64],
    languages: TwoLanguages | None,
) -> Iterator[tuple[str, Iterable[int]]]:
    """Yield each reason to drop a pair, in the order of the rules, with the rows of its pairs."""
    pairs = [pair.comparable() for pair in pairs]
    if rules.drop_empty:
        empty = lengths == 0
        yield "empty source and target", np.flatnonzero(empty.all(axis=1))
        yield "empty source", np.flatnonzero(empty[:, 0])
        yield "empty target", np.flatnonzero(empty[:, 1])
    if rules.drop_identical:
        same = (row for row, (source, target) in enumerate(pairs) if source == target)
        yield "source identical to target", same
    if rules.drop_copies:
        yield "target copies source", (row for row, pair in enumerate(pairs) if is_copy(*pair))
    if rules.drop_exchanged and languages:
        yield "source and target exchanged", np.flatnonzero(languages.judge(pairs).exchanged)
    for wanted, reason, is_mismatch in (
        (rules.drop_number_mismatch, "other numbers on one side", has_other_numbers),
        (rules.drop_url_mismatch, "other addresses on one side", has_other_addresses),
        (rules.drop_markup_mismatch, "other markup on one side", has_other_markup),
    ):
        if wanted:
            yield reason, (row for row, pair in enumerate(pairs) if is_mismatch(*pair))
    for side, script in (("source", rules.source_script), ("target", rules.target_script)):
        if script:
            texts = (getattr(pair, side) for pair in pairs)
            foreign = (row for row, text in enumerate(texts) if _is_foreign(text, script))
            yield f"{side} not in {script_name(check_script(script))} letters", foreign
    limit = rules.max_pieces
    longer, shorter = lengths.max(axis=1), lengths.min(axis=1)
    if rules.too_long == "drop" and limit is not None:
        yield f"longer than {limit} tokens", np.flatnonzero(longer > limit)
    if rules.max_ratio is not None:
        above = longer > rules.max_ratio * np.maximum(shorter, 1)
        yield f"length ratio above {rules.max_ratio:g}", np.flatnonzero(above)


def is_copy(*pair: str) -> bool:
    """Return True if two sides with a letter differ only in case, spaces and punctuation."""
    source, target = map(_letters_and_digits, pair)
    return source == target and any(map(str.isalpha, source))


def _letters_and_digits(text: str) -> str:
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))


def _is_foreign(text: str, wanted: str) -> bool:
    script = check_script(wanted)
    return main_script(text, preferred=script) not in ("", script)


def has_control_characters(text: str) -> bool:
    r"""Return True if a text has control characters other than tabs.

    A \r at the end does not count, because it is left of a line end \r\n.
    """
    return _CONTROL.search(text.removesuffix("\r")) is not None


def _with_control_characters(texts: list[str]) -> Iterator[int]:
    """Yield the rows of texts that have control characters."""
    if _CONTROL.search("\t".join(texts)):  # rare, so that most calls end here
        for row, text in enumerate(texts):
            if has_control_characters(text):
                yield row
