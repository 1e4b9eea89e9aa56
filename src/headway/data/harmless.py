"""Remarks on oddities of text files that do no harm."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from headway.counted import counted
from headway.data.compression import StrPath, readable
from headway.data.corpus import Pair

OUTER_SPACES = "outer-spaces"
"""The id of spaces around a text, in the log of a cleaning."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def marked_files(files: Iterable[str]) -> list[str]:
    """Return a remark on the files that begin with a byte order mark, if any."""
    marked = [Path(file).name for file in with_byte_order_mark(files)]
    if not marked:
        return []
    return [f"A byte order mark at the beginning is left out, of {', '.join(marked)}."]


def with_byte_order_mark(files: Iterable[StrPath]) -> list[StrPath]:
    """Return the files that begin with a byte order mark; pipes and data sets are not opened."""
    return [file for file in files if Path(file).is_file() and _is_marked(file)]


def outer_characters(pairs: Iterable[Pair]) -> Counter[str]:
    r"""Count the pairs with `\r` or spaces around a side, which are stripped from all text.

    The keys are `carriage-returns`, for lines that end in `\r\n`, and `outer-spaces`.
    """
    counts: Counter[str] = Counter()
    for pair in pairs:
        texts = [side.removesuffix("\r") for side in pair]
        counts["carriage-returns"] += texts != list(pair)
        counts[OUTER_SPACES] += any(text != text.strip() for text in texts)
    return +counts


def line_ends(name: str, pairs: Sequence[Pair]) -> list[str]:
    r"""Return a remark on lines that end in \r\n, if any; pairs are as read."""
    ended = sum(pair.source.endswith("\r") or pair.target.endswith("\r") for pair in pairs)
    if not ended:
        return []
    lines = f"{counted(ended, 'line')} {'ends' if ended == 1 else 'end'}"
    return [f"{name.capitalize()} text: {lines} in \\r\\n; the \\r is left out."]


def _is_marked(file: StrPath) -> bool:
    with readable(file) as stream:
        return stream.read(len(_BYTE_ORDER_MARK)) == _BYTE_ORDER_MARK
