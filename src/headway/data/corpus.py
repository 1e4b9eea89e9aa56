"""Reads sentence pairs from disk and changes nothing in them."""

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

from headway.data.compression import COMPRESSIONS, StrPath, plain_name, readable
from headway.data.lines import read_lines
from headway.data.tables import table_reader
from headway.errors import ConfigError, DataError

_READ_SIZE = 1 << 20


class Pair(NamedTuple):
    """Hold one source sentence and its translation, as read."""

    source: str
    target: str


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


def read_pairs(
    source: StrPath,
    target: StrPath | None = None,
    *,
    source_column: int = 0,
    target_column: int = 1,
    source_field: str = "source",
    target_field: str = "target",
) -> list[Pair]:
    """Return the pairs of two parallel files, or of one file that holds both sides.

    One file is .tsv (columns, counted from 0), .jsonl or .parquet (fields by name; a dot leads into
    a field). All but Parquet may be compressed and end in .gz, .bz2, .xz or .zst as well.
    """
    if target is not None:
        return read_parallel(source, target)
    columns, fields = (source_column, target_column), (source_field, target_field)
    read = table_reader(plain_name(source), columns, fields)
    if read is None:
        raise ConfigError(
            f"{source} comes without a target file and is not a .tsv, .jsonl or .parquet file "
            f"(.tsv and .jsonl also with {', '.join(COMPRESSIONS)}).",
            "Give the file of translations too, or one such file with both sides.",
        )
    pairs = [Pair(*sides) for sides in read(source)]
    if not pairs:
        raise DataError(f"{source} is empty.", "Give a file with one pair a line.")
    return pairs


def fingerprint(paths: Iterable[StrPath]) -> str:
    """Return the SHA-256 of the bytes of these files, in this order.

    Names do not count, so that a moved corpus is still the same corpus. Each file is hashed for
    itself first, so that a line moved from one file to the next is a change.
    """
    total = hashlib.sha256()
    for path in paths:
        digest = hashlib.sha256()
        with readable(path, decompress=False) as file:
            while block := file.read(_READ_SIZE):
                digest.update(block)
        total.update(digest.digest())
    return total.hexdigest()
