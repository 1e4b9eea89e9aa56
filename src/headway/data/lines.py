r"""Read text from disk, one line at a time, without changing it.

A line ends at `\n` only. Python's own line splitting also breaks at U+2028, U+0085, `\r` and five
more characters. In a parallel corpus, one such character would shift every later pair by one line.
So files are read as bytes, and these are split.
"""

import codecs
from collections.abc import Iterator
from itertools import chain

from headway.data.compression import StrPath, document, readable, signature
from headway.errors import DataError

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_CONTROL = bytes(set(range(32)) - set(b"\t\r"))
_CONTROL_SHARE = 0.4  # of the bytes; in UTF-16 a Latin or Cyrillic letter has one of two
_OF_A_DOCUMENT = "Save its text in a file of its own, in UTF-8, with one sentence a line."


def read_lines(path: StrPath) -> Iterator[str]:
    """Yield each line of a UTF-8 file, plain or compressed, without its newline.

    Blank lines stay, a last line without a newline counts, and a byte order mark at the start is
    dropped. The name of a compressed file ends in .gz, .bz2, .xz or .zst. Raises DataError for a
    file whose lines end in carriage returns alone.
    """
    with readable(path) as file:
        first = next(file, b"")
        beginning = [first]
        if _has_inner_return(first):
            beginning.append(next(file, b""))
            if not beginning[1]:
                check_only_line(first, path)
        for number, raw in enumerate(chain(beginning, file) if first else (), start=1):
            line = raw.removeprefix(_BYTE_ORDER_MARK) if number == 1 else raw
            if not line:
                return  # the file holds a byte order mark and nothing else
            yield decode_line(line.removesuffix(b"\n"), path=path, number=number)


def check_only_line(line: bytes, path: StrPath) -> None:
    """Refuse the only line of a text if it contains carriage returns, which end lines on old Macs.

    If there are several lines, such a character is text like any other.
    """
    if _has_inner_return(line):
        decode_line(line.removesuffix(b"\n"), path=path, number=1)  # raises if it is not text
        raise DataError(
            f"{path} is a single line with carriage returns (CR) in it, which seem to end its "
            "lines.",
            "Convert it: tr '\\r' '\\n' < FILE > NEW",
        )


def _has_inner_return(line: bytes) -> bool:
    return b"\r" in line.rstrip(b"\r\n")


def count_lines(path: StrPath) -> int:
    """Return the number of lines of a file, plain or compressed, whatever their content."""
    with readable(path) as file:
        return sum(1 for _ in file)


def decode_line(line: bytes, *, path: StrPath, number: int) -> str:
    """Return the text of one line; DataError names the byte that is not UTF-8.

    Also raises DataError for a first line that begins an archive or a document, and for text in
    UTF-16 or UTF-32 that happens to be UTF-8, because NUL bytes are.
    """
    if number == 1 and (kind := document(line)):
        raise DataError(f"{path} is {kind}, and no text.", _OF_A_DOCUMENT)
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}, line {number}, byte {error.start + 1} of the line (0x{line[error.start]:02x})"
            " is not UTF-8.",
            _encoding_remedy(line, number),
        ) from None
    if "\0" in text and _is_half_control(line) and (encoding := _wide_encoding(line, number)):
        raise DataError(
            f"{path}, line {number}, has a NUL byte for each letter: it looks like {encoding}.",
            _convert(encoding),
        )
    return text


def _encoding_remedy(line: bytes, number: int) -> str:
    """Return the remedy for the encoding that a line seems to have."""
    if ending := signature(line):
        return f"It looks compressed: unpack it, or let the name of its file end in {ending}."
    encoding = _marked_encoding(line) if number == 1 else ""
    if encoding := encoding or _wide_encoding(line, number):
        return f"It looks like {encoding}. {_convert(encoding)}"
    if number > 1 and _marked_encoding(line):
        return "It has a byte order mark of UTF-16: another file was appended. Take it out."
    if _looks_korean(line):
        return "It looks like Korean in CP949: convert it with `iconv -f CP949 -t UTF-8`."
    return "Convert the file to UTF-8, for example with `iconv -f CP1252 -t UTF-8`."


def _convert(encoding: str) -> str:
    return f"Convert it, for example with `iconv -f {encoding} -t UTF-8`."


def _marked_encoding(line: bytes) -> str:
    """Return the encoding of a file that begins with a byte order mark of 16 or 32 bits."""
    if line.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "UTF-32"
    return "UTF-16" if line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else ""


def _wide_encoding(line: bytes, number: int) -> str:
    """Return the encoding of a line with NUL bytes if it is UTF-16 or UTF-32, else nothing.

    In ASCII one byte of two is NUL, or three of four; in other text those of spaces are. They
    always follow the byte of a character (LE), or always precede it (BE). This holds for a newline,
    too: its NUL bytes belong to the next line (LE) or to its own (BE).
    """
    if number == 1 and line in (b"\0", b"\0\0\0"):  # a blank line
        return "UTF-16BE" if len(line) == 1 else "UTF-32BE"
    for encoding, width in (("UTF-32", 4), ("UTF-16", 2)):
        # If it were BE, the line before it would have shown it.
        little = line[width - 1 :] if number > 1 else line
        for order, text in (("LE", little), ("BE", line[: len(line) // width * width])):
            if b"\0" in text and _is_text(text, encoding + order):
                return encoding + order
    return ""


def _is_half_control(line: bytes) -> bool:
    """Return True if a line has as many control bytes as UTF-16; a stray NUL is not enough."""
    return len(line.translate(None, _CONTROL)) <= (1 - _CONTROL_SHARE) * len(line)


def _is_text(line: bytes, encoding: str) -> bool:
    """Return True if a line is printable in this encoding and contains ASCII."""
    try:
        text = line.decode(encoding).rstrip("\r")
    except UnicodeDecodeError:
        return False
    return any(map(str.isascii, text)) and text.replace("\t", " ").isprintable()


def _looks_korean(line: bytes) -> bool:
    """Return True if most letters beyond ASCII are Hangul when the line is read as CP949."""
    try:
        letters = [letter for letter in line.decode("cp949") if ord(letter) > 127]
    except UnicodeDecodeError:
        return False
    return sum("가" <= letter <= "힣" for letter in letters) > len(letters) / 2
