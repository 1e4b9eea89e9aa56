"""The input of a cleaning: its pairs and its languages."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import starmap, zip_longest
from pathlib import Path

from headway.data.compression import StrPath, plain_name
from headway.data.corpus import Pair, iterate_pairs, iterate_parallel, read_sentences
from headway.data.headers import USUAL_FIELDS
from headway.data.languages import is_language
from headway.data.mending.rounds import MendedText
from headway.data.tables import header_remark
from headway.data.tmx import tmx_languages, tmx_pairs

Sides = tuple[str, str]


@dataclass(frozen=True, slots=True)
class PreparedInput:
    """Pairs that are about to be read."""

    pairs: Iterator[Pair]
    remarks: list[str]


def read_input(
    source: StrPath, target: StrPath | None, columns: tuple[int, int], fields: Sides, wanted: Sides
) -> PreparedInput:
    """Return the pairs of two files or of a table.

    wanted: languages; an empty text is an unknown language.
    """
    languages = wanted[0] or USUAL_FIELDS[0], wanted[1] or USUAL_FIELDS[1]
    remarks: list[str] = []
    # A pipe can be read only once, so its first line is not inspected.
    if target is None and Path(source).is_file():
        if not any(wanted) and plain_name(source).endswith(".tmx"):
            languages = tmx_languages(source) or languages
            if languages != USUAL_FIELDS:
                remarks = [f"{source}: the source is {languages[0]}, the target is {languages[1]}."]
        remark = header_remark(source, columns, fields, languages)
        remarks += [remark] if remark else []
    if target is None and plain_name(source).endswith(".tmx"):
        # With the spaces that are taken off, so that they are counted and logged.
        pairs = starmap(Pair, tmx_pairs(source, languages, with_outer_spaces=True))
    else:
        pairs = iterate_pairs(source, target, columns, fields, languages)
    return PreparedInput(pairs, remarks)


def chosen_languages(wanted: Sides, *texts: Sequence[StrPath]) -> Sides:
    """Return the wanted languages, or those of two files such as clean.en and clean.ko.gz.

    texts: the files of each text; the first one whose two names end in languages counts. A language
    that nothing names is an empty text.
    """
    for files in texts:
        endings = [plain_name(path).rpartition(".")[2] for path in files]
        if len(endings) == 2 and all(map(is_language, endings)):
            return wanted[0] or endings[0], wanted[1] or endings[1]
    return wanted


class Unequal:
    """Reads both files to the end of the longer one, and checks that a shift explains the rest."""

    def __init__(self, source: StrPath, target: StrPath, lines: int) -> None:
        """Prepare to read these files; lines: those of the longer one."""
        self._files = source, target
        self._lines = lines
        self._last_source = 0
        self._last_target = ""
        self._is_read = False

    def pairs(self) -> Iterator[Pair]:
        """Yield the pairs; after the end of the shorter file its side is blank."""
        sides = (read_sentences(file) for file in self._files)
        for line, (source, target) in enumerate(zip_longest(*sides), start=1):
            if source is not None:
                self._last_source = line
            if target is not None:
                self._last_target = target.strip()
            # Set before the last pair is yielded, because a caller of blocks may stop there.
            self._is_read = line == self._lines
            yield Pair(source or "", target or "")

    def check(self, text: MendedText) -> None:
        """Raise the DataError of files that differ in length, unless a shift explains it.

        text: a block of cleaned pairs. In the last block, the last target must have moved to the
        last source.
        """
        if not self._is_read:
            return
        repairs = [change.after for change in text.changes if change.line == self._last_source]
        targets = [after.target for after in repairs if after is not None]
        if not self._last_target or self._last_target not in targets:
            deque(iterate_parallel(*self._files), maxlen=0)


def unequal_files(source: StrPath, target: StrPath | None) -> Unequal | None:
    """Return the reader of two files with different numbers of lines; None for other input.

    Pipes give None, because they can be read only once.
    """
    if target is None or not (Path(source).is_file() and Path(target).is_file()):
        return None
    lines = [sum(1 for _ in read_sentences(file)) for file in (source, target)]
    is_unequal = lines[0] != lines[1] and min(lines) > 0
    return Unequal(source, target, max(lines)) if is_unequal else None
