"""Progress of translating a file of lines, unless translations go to the terminal."""

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def showing_lines(file: Path | None, out: Path | None, *, quiet: bool) -> Iterator[None]:
    """Show how many lines are translated inside the block, if translations go into a file.

    file: the input; None for standard input or text with an unknown number of lines. out: the
    output; None for standard output, which may be a file, too.
    """
    from headway.data.lines import count_lines
    from headway.decoding.counting import counting_sentences
    from headway.progress import progress

    if out is None and not _is_file(sys.stdout):
        yield
        return
    total = count_lines(file) if file is not None and file.is_file() else None
    with (
        progress("Translating", total, unit="lines", quiet=quiet) as advance,
        counting_sentences(advance),
    ):
        yield


def _is_file(output: IO[str] | None) -> bool:
    """Return True if the output goes into a file, not to a terminal or a program."""
    try:
        return output is not None and stat.S_ISREG(os.fstat(output.fileno()).st_mode)
    except (OSError, ValueError):  # a stream without a descriptor
        return False
