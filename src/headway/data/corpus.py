r"""Reads text and sentence pairs from disk, one line at a time, and changes nothing in them.

A line ends at `\n` only. Python's own line splitting also breaks at U+2028, U+0085, `\r` and five
more characters; in a parallel corpus one such character shifts every later pair by one line, so
the files are read as bytes and split there.
"""

import gzip
import hashlib
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple, cast

from headway.errors import ConfigError, DataError

StrPath = str | os.PathLike[str]

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_READ_SIZE = 1 << 20


class Pair(NamedTuple):
    """Hold one source sentence and its translation, as read."""

    source: str
    target: str


def read_lines(path: StrPath) -> Iterator[str]:
    """Yield each line of a UTF-8 file, plain or `.gz`, without its newline.

    Blank lines stay, a last line without a newline counts, and a byte order mark at the start is
    dropped.
    """
    with _readable(path) as file:
        for number, raw in enumerate(file, start=1):
            line = raw.removeprefix(_BYTE_ORDER_MARK) if number == 1 else raw
            if not line:
                return  # the file holds a byte order mark and nothing else
            yield decode_line(line.removesuffix(b"\n"), path=path, number=number)


def read_parallel(source_path: StrPath, target_path: StrPath) -> list[Pair]:
    """Return the pairs of two files in which line n of one translates line n of the other."""
    sources, targets = list(read_lines(source_path)), list(read_lines(target_path))
    if len(sources) != len(targets):
        raise DataError(
            f"{source_path} has {len(sources):,} lines and {target_path} has {len(targets):,}; "
            "parallel files must have the same number.",
            "Make line n of the one the translation of line n of the other; "
            "an untranslated sentence keeps its place as a blank line.",
        )
    if not sources:
        raise DataError(
            f"{source_path} and {target_path} are empty.", "Give files with one sentence a line."
        )
    return [Pair(source, target) for source, target in zip(sources, targets, strict=True)]


def read_tsv(path: StrPath, *, source_column: int = 0, target_column: int = 1) -> list[Pair]:
    """Return the pairs of a file in which tabs separate the columns.

    There is no quoting: a quotation mark is text. Columns are counted from 0.
    """
    if source_column < 0 or target_column < 0 or source_column == target_column:
        raise ConfigError(
            f"Columns {source_column} (source) and {target_column} (target) cannot be read.",
            "Give two different column numbers, counted from 0.",
        )
    needed = max(source_column, target_column) + 1
    pairs: list[Pair] = []
    for number, line in enumerate(read_lines(path), start=1):
        columns = line.split("\t")
        if len(columns) < needed:
            raise DataError(
                f"{path}, line {number}, has {_count(len(columns), 'column')}; "
                f"columns {source_column} and {target_column} (counted from 0) need {needed}.",
                "Separate the columns with a tab, or name other columns.",
            )
        pairs.append(Pair(columns[source_column], columns[target_column]))
    if not pairs:
        raise DataError(f"{path} is empty.", "Give a file with one pair a line.")
    return pairs


def read_pairs(
    source: StrPath,
    target: StrPath | None = None,
    *,
    source_column: int = 0,
    target_column: int = 1,
) -> list[Pair]:
    """Return the pairs of two parallel files, or of two columns of one `.tsv` or `.tsv.gz` file."""
    if target is not None:
        return read_parallel(source, target)
    if not os.fspath(source).lower().endswith((".tsv", ".tsv.gz")):
        raise ConfigError(
            f"{source} comes without a target file and is not a .tsv or .tsv.gz file.",
            "Give the file of translations too, or one .tsv file with both columns.",
        )
    return read_tsv(source, source_column=source_column, target_column=target_column)


def fingerprint(paths: Iterable[StrPath]) -> str:
    """Return the SHA-256 of the bytes of these files, in this order.

    Names do not count, so that a moved corpus is still the same corpus. Each file is hashed for
    itself first, so that a line moved from one file to the next is a change.
    """
    total = hashlib.sha256()
    for path in paths:
        digest = hashlib.sha256()
        with _readable(path, decompress=False) as file:
            while block := file.read(_READ_SIZE):
                digest.update(block)
        total.update(digest.digest())
    return total.hexdigest()


@contextmanager
def _readable(path: StrPath, *, decompress: bool = True) -> Iterator[IO[bytes]]:
    """Open a file for reading bytes and turn each failure into one sentence."""
    compressed = decompress and os.fspath(path).lower().endswith(".gz")
    try:
        with gzip.open(path, "rb") if compressed else Path(path).open("rb") as file:
            yield cast(IO[bytes], file)
    except FileNotFoundError:
        raise DataError(f"There is no file {path}.", "Check the name and the folder.") from None
    except IsADirectoryError:
        raise DataError(f"{path} is a folder, not a file.", "Name a file inside it.") from None
    except PermissionError:
        raise DataError(
            f"{path} may not be read by this user.", "Change its permissions or copy it."
        ) from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(
            f"{path} is not a whole gzip file: {error}.",
            "Copy or download it again; a file that is not compressed must not end in .gz.",
        ) from error
    except OSError as error:
        raise DataError(
            f"{path} cannot be read: {error.strerror or error}.", "Check the disk and the path."
        ) from error


def decode_line(line: bytes, *, path: StrPath, number: int) -> str:
    """Return the text of one line, or say where it stops being UTF-8."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}, line {number}, byte {error.start + 1} of the line (0x{line[error.start]:02x})"
            " is not UTF-8.",
            _encoding_remedy(line if number == 1 else b""),
        ) from None


def _encoding_remedy(start: bytes) -> str:
    """Guess from the first bytes of a file what else it may be."""
    if start.startswith(b"\x1f\x8b"):
        return "It looks compressed: let its name end in .gz."
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "It looks like UTF-16: convert it, for example with `iconv -f UTF-16 -t UTF-8`."
    return "Convert the file to UTF-8, for example with `iconv -f CP1252 -t UTF-8`."


def _count(number: int, noun: str) -> str:
    """Return `1 column` or `3 columns`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
