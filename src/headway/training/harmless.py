"""What was odd in the files of a run and does no harm, said so that it is known to be seen."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from headway.counted import counted
from headway.data.compression import readable
from headway.data.corpus import Pair

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def marked_files(files: Iterable[str]) -> list[str]:
    """Return a remark on the files that begin with a byte order mark, if there are any."""
    marked = [Path(file).name for file in files if Path(file).is_file() and _is_marked(file)]
    if not marked:
        return []
    return [f"A byte order mark at the beginning is left out, of {', '.join(marked)}."]


def line_ends(name: str, pairs: Sequence[Pair]) -> list[str]:
    r"""Return a remark on lines that end in \r\n, if there are any; pairs are as read."""
    ended = sum(pair.source.endswith("\r") or pair.target.endswith("\r") for pair in pairs)
    if not ended:
        return []
    lines = f"{counted(ended, 'line')} {'ends' if ended == 1 else 'end'}"
    return [f"{name.capitalize()} text: {lines} in \\r\\n; the \\r is left out."]


def _is_marked(file: str) -> bool:
    with readable(file) as stream:
        return stream.read(len(_BYTE_ORDER_MARK)) == _BYTE_ORDER_MARK
