r"""Reads text from disk, one line at a time, and changes nothing in it.

A line ends at `\n` only. Python's own line splitting also breaks at U+2028, U+0085, `\r` and five
more characters; in a parallel corpus one such character shifts every later pair by one line, so
the files are read as bytes and split there.
"""

from collections.abc import Iterator

from headway.data.compression import StrPath, readable, signature
from headway.errors import DataError

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_lines(path: StrPath) -> Iterator[str]:
    """Yield each line of a UTF-8 file, plain or compressed, without its newline.

    Blank lines stay, a last line without a newline counts, and a byte order mark at the start is
    dropped. The name of a compressed file ends in .gz, .bz2, .xz or .zst.
    """
    with readable(path) as file:
        for number, raw in enumerate(file, start=1):
            line = raw.removeprefix(_BYTE_ORDER_MARK) if number == 1 else raw
            if not line:
                return  # the file holds a byte order mark and nothing else
            yield decode_line(line.removesuffix(b"\n"), path=path, number=number)


def decode_line(line: bytes, *, path: StrPath, number: int) -> str:
    """Return the text of one line, or say where it stops being UTF-8."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}, line {number}, byte {error.start + 1} of the line (0x{line[error.start]:02x})"
            " is not UTF-8.",
            _encoding_remedy(line),
        ) from None


def _encoding_remedy(line: bytes) -> str:
    """Guess from a line what else the file may be."""
    if ending := signature(line):
        return f"It looks compressed: unpack it, or let the name of its file end in {ending}."
    if line.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "It looks like UTF-16: convert it, for example with `iconv -f UTF-16 -t UTF-8`."
    if _looks_korean(line):
        return "It looks like Korean in CP949: convert it with `iconv -f CP949 -t UTF-8`."
    return "Convert the file to UTF-8, for example with `iconv -f CP1252 -t UTF-8`."


def _looks_korean(line: bytes) -> bool:
    """Tell whether the letters beyond ASCII are Hangul when the line is read as CP949."""
    try:
        letters = [letter for letter in line.decode("cp949") if ord(letter) > 127]
    except UnicodeDecodeError:
        return False
    return sum("가" <= letter <= "힣" for letter in letters) > len(letters) / 2
