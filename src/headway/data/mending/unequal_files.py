"""Two files of which one has lines too many, or too few, somewhere."""

from collections import deque
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from headway.data.compression import StrPath
from headway.data.corpus import Pair, iterate_parallel, read_sentences
from headway.data.mending.rounds import MendedText


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
