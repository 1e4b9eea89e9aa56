"""Read both sides of a corpus from .csv, the tables of spreadsheets, with quotes."""

import csv
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from headway.data.compression import StrPath
from headway.data.headers import no_columns, sides_of
from headway.data.lines import read_lines
from headway.errors import DataError

_SEPARATORS = (",", ";", "\t")
_BREAK = re.compile(r"[ \t]*[\r\n]+[ \t]*")


class Layout(NamedTuple):
    """How to read a file."""

    separator: str
    header: list[str]
    columns: tuple[int, int]
    """Of source and target, counted from 0."""


def csv_layout(path: StrPath, fields: tuple[str, str], languages: tuple[str, str]) -> Layout:
    """Return separator and columns from the first line; DataError if it names no columns."""
    first = next(read_lines(path), None)
    if first is None:
        raise DataError(f"{path} is empty.", "Give a file with one pair a line.")
    headers = [_header(path, first, separator) for separator in _SEPARATORS]
    for separator, header in zip(_SEPARATORS, headers, strict=True):
        if columns := sides_of(header, fields, languages):
            return Layout(separator, header, columns)
    raise no_columns(path, max(headers, key=len), fields)


def csv_pairs(
    path: StrPath, fields: tuple[str, str], languages: tuple[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield two columns of a table whose first line names its columns.

    Commas, semicolons or tabs separate the columns. Text in quotation marks may hold separators
    and line breaks, which become spaces. Blank lines are skipped. Raises DataError for a row with
    more or fewer cells than the first line.
    """
    separator, header, (source, target) = csv_layout(path, fields, languages)
    for number, (line, row) in enumerate(_rows(path, separator)):
        if len(row) < len(header) or any(row[len(header) :]):
            raise DataError(
                f"{path}, line {line}, has {len(row)} cells, but the first line names "
                f"{len(header)} columns.",
                f"Put text that holds the separator {separator!r} in quotation marks.",
            )
        if number:
            yield _BREAK.sub(" ", row[source]), _BREAK.sub(" ", row[target])


def _header(path: StrPath, line: str, separator: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error as error:
        raise _no_csv(path, 1, error) from None


def _rows(path: StrPath, separator: str) -> Iterator[tuple[int, Sequence[str]]]:
    """Yield each row that is not blank, with the number of its last line."""
    lines = (f"{line}\n" for line in read_lines(path))
    reader = csv.reader(lines, delimiter=separator, strict=True)
    try:
        for row in reader:
            if row:
                yield reader.line_num, row
    except csv.Error as error:
        raise _no_csv(path, reader.line_num, error) from None


def _no_csv(path: StrPath, line: int, error: csv.Error) -> DataError:
    return DataError(
        f"{path} cannot be read as CSV up to line {line}: {error}.",
        'Close each quotation mark, and write one within a text twice: "".',
    )
