"""The input of a cleaning, its languages, and the line that its first pair stands in."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from headway.data.compression import StrPath, plain_name
from headway.data.corpus import Pair, iterate_pairs, iterate_parallel, read_sentences
from headway.data.headers import USUAL_FIELDS
from headway.data.languages import is_language
from headway.data.mending.rounds import MendedText
from headway.data.tables import has_header, header_remark
from headway.data.tmx import tmx_languages

Sides = tuple[str, str]


@dataclass(frozen=True, slots=True)
class PreparedInput:
    """Pairs that are about to be read."""

    pairs: Iterator[Pair]
    first_line: int
    """Of the first pair: 2 where the first line of a table names its columns."""
    remarks: list[str]


def read_input(
    source: StrPath, target: StrPath | None, columns: tuple[int, int], fields: Sides, wanted: Sides
) -> PreparedInput:
    """Return the pairs of two files or of a table.

    wanted: languages; an empty one is not known.
    """
    languages = wanted[0] or USUAL_FIELDS[0], wanted[1] or USUAL_FIELDS[1]
    first_line, remarks = 1, []
    # A pipe is read once only, so nothing looks at it beforehand.
    if target is None and Path(source).is_file():
        if not any(wanted) and plain_name(source).endswith(".tmx"):
            languages = tmx_languages(source) or languages
            if languages != USUAL_FIELDS:
                remarks = [f"{source}: the source is {languages[0]}, the target is {languages[1]}."]
        first_line += has_header(source, columns, languages)
        remark = header_remark(source, columns, fields, languages, counted=True)
        remarks += [remark] if remark else []
    pairs = iterate_pairs(source, target, columns, fields, languages)
    return PreparedInput(pairs, first_line, remarks)


def chosen_languages(wanted: Sides, outputs: Sequence[Path]) -> Sides:
    """Return languages that are wanted, or those of two outputs such as clean.en and clean.ko.gz.

    A language that neither says is an empty text.
    """
    endings = [plain_name(path).rpartition(".")[2] for path in outputs]
    named = ["", ""]
    if len(endings) == 2 and all(map(is_language, endings)):
        named = endings
    return wanted[0] or named[0], wanted[1] or named[1]


class Unequal:
    """Reads both files to the end of the longer one, and sees whether a shift explains it."""

    def __init__(self, source: StrPath, target: StrPath, lines: int) -> None:
        """Read these files, of which the longer one has so many lines."""
        self._files = source, target
        self._lines = lines
        self._last_source = 0
        self._last_target = ""
        self._is_read = False

    def pairs(self) -> Iterator[Pair]:
        """Yield the pairs; the shorter file goes on with blank lines."""
        sides = (read_sentences(file) for file in self._files)
        for line, (source, target) in enumerate(zip_longest(*sides), start=1):
            if source is not None:
                self._last_source = line
            if target is not None:
                self._last_target = target.strip()
            # Before the last pair is given: a caller that takes blocks may never ask for one more.
            self._is_read = line == self._lines
            yield Pair(source or "", target or "")

    def check(self, text: MendedText) -> None:
        """Raise the DataError of files that differ in length, unless a shift explains it.

        text: a block of the pairs, cleaned. In the last one, the last source must have been given
        the last target.
        """
        if not self._is_read:
            return
        repairs = [change.after for change in text.changes if change.line == self._last_source]
        targets = [after.target for after in repairs if after is not None]
        if not self._last_target or self._last_target not in targets:
            deque(iterate_parallel(*self._files), maxlen=0)


def unequal_files(source: StrPath, target: StrPath | None) -> Unequal | None:
    """Return the reader of two files with different numbers of lines; None for all others.

    Pipes are such others: they are read once only.
    """
    if target is None or not (Path(source).is_file() and Path(target).is_file()):
        return None
    lines = [sum(1 for _ in read_sentences(file)) for file in (source, target)]
    is_unequal = lines[0] != lines[1] and min(lines) > 0
    return Unequal(source, target, max(lines)) if is_unequal else None
