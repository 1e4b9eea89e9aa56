"""Read both sides of a corpus from one file: columns of text, JSON lines, Parquet, TMX."""

import functools
import json
from collections.abc import Callable, Iterator
from typing import Any

from headway.counted import counted
from headway.data.comma_separated import csv_layout, csv_pairs
from headway.data.compression import StrPath, compression, plain_name, readable
from headway.data.headers import USUAL_FIELDS, are_two_sides, names_columns
from headway.data.hub import is_dataset, rows_of
from headway.data.languages import is_same_language
from headway.data.lines import read_lines
from headway.data.tmx import tmx_pairs
from headway.errors import ConfigError, DataError, MissingExtraError, shown, suggest

Sides = tuple[str, str]

_READ_SIZE = 1 << 20  # bytes of a column
_SHORTENED = 30  # characters of a cell in a remark
_NAMED = 8  # fields in objects, in an error


FORMS = (".tsv", ".csv", ".jsonl", ".ndjson", ".parquet", ".tmx")
"""The endings of the names of tables."""


def tsv_pairs(
    path: StrPath,
    source_column: int = 0,
    target_column: int = 1,
    languages: tuple[str, str] = USUAL_FIELDS,
) -> Iterator[Sides]:
    """Yield two columns of a file with tabs between its columns.

    There is no quoting: a quotation mark is text. Columns are counted from 0. All lines must have
    as many columns as the first one, because a tab within a sentence would shift later text into
    other columns. Empty columns at the end do not count. A first line that names the columns is
    left out.
    """
    if source_column < 0 or target_column < 0 or source_column == target_column:
        raise ConfigError(
            f"Columns {source_column + 1} (source) and {target_column + 1} (target), counted from "
            "1, cannot be read.",
            "Give two different columns that exist.",
        )
    needed = max(source_column, target_column) + 1
    least = most = 0
    for number, line in enumerate(read_lines(path), start=1):
        columns = line.split("\t")
        if len(columns) < needed:
            raise DataError(
                f"{path}, line {number}, has {counted(len(columns), 'column')}; "
                f"columns {source_column + 1} and {target_column + 1} (counted from 1) are needed.",
                "Separate the columns with a tab, or name others: data.source_column, "
                "data.target_column.",
            )
        if number == 1:
            least, most = len(line.rstrip("\t").split("\t")), len(columns)
        if len(columns) < least or any(columns[most:]):
            first = most if any(columns[most:]) else least
            raise DataError(
                f"{path}, line {number}, has {counted(len(columns), 'column')}, but the first line "
                f"{first}, so there may be a tab within one of them.",
                "Put a space in its place, or give the text as .jsonl.",
            )
        sides = columns[source_column], columns[target_column]
        if number > 1 or not names_columns(sides, languages):
            yield sides


def header_remark(path: StrPath, columns: tuple[int, int], fields: Sides, languages: Sides) -> str:
    """Return a remark on the columns of source and target; empty for a file without columns."""
    name = plain_name(path)
    if is_dataset(path) or not name.endswith((".csv", ".tsv")):
        return ""
    names = column_names(path, columns, fields, languages)
    if name.endswith(".csv"):
        return (
            f"{path}: the source is column '{names[0]}', the target is column '{names[1]}'; "
            "lines are counted from the first row below these names."
        )
    sides = _first_sides(path, columns)
    named = f"({sides[0].strip()}, {sides[1].strip()})"
    if not any(names):
        if not are_two_sides(*sides):
            return _columns_taken(path, columns, sides)
        return (
            f"{path}: the first line {named} is read as a pair. If it names the columns, set these "
            "languages: data.source_language, data.target_language."
        )
    remark = (
        f"{path}: the first line names the columns {named} and is not a pair; lines are "
        "counted from "
        "the next one."
    )
    if all(map(is_same_language, sides, languages[::-1])):
        remark += (
            f" They are in the other order than the languages {' and '.join(languages)}: exchange "
            "data.source_column and data.target_column."
        )
    return remark


def _columns_taken(path: StrPath, columns: tuple[int, int], sides: Sides) -> str:
    """Return which columns of a .tsv without names are source and target, with its first line."""
    if not any(sides):
        return ""
    first, second = (
        f"column {column + 1} ({shown(side, _SHORTENED)})"
        for column, side in zip(columns, sides, strict=True)
    )
    return f"{path}: the source is {first}, the target is {second}."


def column_names(path: StrPath, columns: tuple[int, int], fields: Sides, languages: Sides) -> Sides:
    """Return the names of the columns of source and target, which the first line of a table has.

    Empty texts if the first line is a pair, and for records. Raises DataError for a .csv whose
    first line does not name the columns.
    """
    name = plain_name(path)
    if is_dataset(path) or not name.endswith((".csv", ".tsv")):
        return "", ""
    if name.endswith(".csv"):
        _, header, (source, target) = csv_layout(path, fields, languages)
        return header[source].strip(), header[target].strip()
    sides = _first_sides(path, columns)
    return (sides[0].strip(), sides[1].strip()) if names_columns(sides, languages) else ("", "")


def _first_sides(path: StrPath, columns: tuple[int, int]) -> Sides:
    """Return two columns of the first line of a .tsv; empty texts if it has fewer columns."""
    cells = next(read_lines(path), "").split("\t")
    is_there = max(columns) < len(cells)
    return (cells[columns[0]], cells[columns[1]]) if is_there else ("", "")


def jsonl_pairs(path: StrPath, source_field: str, target_field: str) -> Iterator[Sides]:
    """Yield two fields of each line, a JSON object; `translation.en` is a field in a field."""
    names = {part for name in (source_field, target_field) for part in (name, *name.split("."))}
    for number, line in enumerate(read_lines(path), start=1):
        try:
            row = json.loads(line)
            if any(line.count(f'"{name}"') > 1 for name in names):
                json.loads(line, object_pairs_hook=_each_once)
        except (ValueError, RecursionError) as error:
            raise DataError(
                f"{path}, line {number}, is not JSON: {error}.",
                "Write one JSON object a line, and nothing else.",
            ) from None
        where = f"{path}, line {number},"
        if not isinstance(row, dict):
            raise DataError(f"{where} is not a JSON object.", "Write one a line, and nothing else.")
        yield _field(row, source_field, where), _field(row, target_field, where)


def _each_once(items: list[tuple[str, Any]]) -> None:
    """Refuse an object with two fields of one name; Python would take the last one."""
    names = [name for name, _ in items]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"it has two fields '{twice}' in one object")


def parquet_pairs(path: StrPath, source_field: str, target_field: str) -> Iterator[Sides]:
    """Yield two columns of a Parquet file, block by block; needs pyarrow (the extra `data`)."""
    if compression(path):
        raise DataError(
            f"{path} is a compressed Parquet file.",
            "Unpack it; Parquet is compressed by itself.",
        )
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError.of(
            "data", f"Reading {path} needs pyarrow, which is not installed."
        ) from error
    number = 0
    with readable(path) as file:
        try:
            # By default it keeps everything that was read until the file is closed.
            table = parquet.ParquetFile(file, pre_buffer=False, buffer_size=_READ_SIZE)
            known = table.schema_arrow.names
            named = (source_field, target_field)
            # One column, if both fields are in one structure.
            columns = sorted({n if n in known else n.partition(".")[0] for n in named})
            missing = [name for name in columns if name not in known]
            if missing:
                raise _no_field(f"{path}", missing[0], dict.fromkeys(known), "")
            if twice := [name for name in columns if known.count(name) > 1]:
                raise DataError(
                    f"{path} has {known.count(twice[0])} columns '{twice[0]}'.",
                    "Give each its own name, or name others by data.source_field and "
                    "data.target_field.",
                )
            for block in table.iter_batches(columns=columns):
                for row in block.to_pylist():
                    number += 1
                    where = f"{path}, row {number},"
                    yield _field(row, source_field, where), _field(row, target_field, where)
        except (pyarrow.ArrowException, OSError, ValueError) as error:
            raise DataError(
                f"{path} cannot be read as Parquet after row {number}: {error}.",
                "Copy, download or write it again.",
            ) from error


def dataset_pairs(source: StrPath, source_field: str, target_field: str) -> Iterator[Sides]:
    """Yield two fields of each row of a data set of Hugging Face; needs the extra `datasets`."""
    for number, row in enumerate(rows_of(str(source), (source_field, target_field)), start=1):
        where = f"{source}, row {number},"
        yield _field(row, source_field, where), _field(row, target_field, where)


def table_reader(
    source: StrPath, columns: tuple[int, int], fields: Sides, languages: Sides = USUAL_FIELDS
) -> Callable[[StrPath], Iterator[Sides]] | None:
    """Return the reader for a file of this name, or None if it is not a table.

    languages: those of the configuration, which tell the columns of .csv and the texts of .tmx.
    """
    if is_dataset(source):
        return functools.partial(dataset_pairs, source_field=fields[0], target_field=fields[1])
    name = plain_name(source)
    if name.endswith(".tsv"):
        return functools.partial(
            tsv_pairs, source_column=columns[0], target_column=columns[1], languages=languages
        )
    if name.endswith(".csv"):
        return functools.partial(csv_pairs, fields=fields, languages=languages)
    if name.endswith(".tmx"):
        return functools.partial(tmx_pairs, languages=languages)
    if name.endswith((".jsonl", ".ndjson")):
        return functools.partial(jsonl_pairs, source_field=fields[0], target_field=fields[1])
    if name.endswith(".parquet"):
        return functools.partial(parquet_pairs, source_field=fields[0], target_field=fields[1])
    return None


def _field(row: dict[str, Any], name: str, where: str) -> str:
    """Return the text of this field; a name with dots leads through objects in objects."""
    parts = [name] if name in row else name.split(".")  # a name may have a dot in it
    value: Any = row
    for number, part in enumerate(parts):
        if not isinstance(value, dict):
            above = ".".join(parts[:number])
            raise _no_text(where, value, above, f"which has no field for '{name}'")
        if part not in value:
            raise _no_field(where, name, value, ".".join(parts[:number]))
        value = value[part]
    if not isinstance(value, str):
        raise _no_text(where, value, name, "which is not text")
    if not value.isprintable() and any("\ud800" <= letter <= "\udfff" for letter in value):
        raise DataError(
            f"{where} has half a character (a lone surrogate) in field '{name}'.",
            "Write the text again; UTF-8 cannot hold it.",
        )
    return value


def _no_text(where: str, value: Any, name: str, why: str) -> DataError:
    shown = json.dumps(value, ensure_ascii=False, default=str)[:40]
    within = _fields_within(value, name)
    return DataError(
        f"{where} has {shown} in field '{name}', {why}.",
        f"Name a field in it with data.source_field or data.target_field: {', '.join(within)}."
        if within
        else "Name another field, or give text: an empty one if there is none.",
    )


def _no_field(where: str, name: str, fields: dict[str, Any], above: str) -> DataError:
    """Return the error of a missing field. fields: those there are, in the object named `above`."""
    hint = suggest(name.rpartition(".")[2], list(fields)) if fields else ""
    within = _fields_within(fields, above, depth=1)
    named = f"Text in objects: {', '.join(within)}. " if within else ""
    setting = "Name it with data.source_field or data.target_field."
    return DataError(f"{where} has no field '{name}'.", f"{hint} {named}{setting}".strip())


def _fields_within(value: Any, name: str, depth: int = 0) -> list[str]:
    """Return the names of the fields with text in an object, with a dot before each level.

    name: that of the object. depth: levels whose own text is left out. A few are enough.
    """
    if not isinstance(value, dict):
        return []
    fields: list[str] = []
    for key, inner in value.items():
        dotted = f"{name}.{key}" if name else key
        if isinstance(inner, str) and depth == 0:
            fields.append(dotted)
        fields += _fields_within(inner, dotted, max(depth - 1, 0))
    return fields[:_NAMED]
