"""The texts of a shard, and its part: the same rows with their translations."""

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headway.bulk.inputs import read_range, read_table
from headway.bulk.plan import Plan, Shard
from headway.data.lines import decode_line
from headway.errors import DataError, HeadwayError

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(slots=True)
class Row:
    """A line of the input, and its translation."""

    raw: bytes = b""
    """The line as it is, without its end; empty for Parquet."""
    text: str | None = None
    """None if there is nothing to translate: a failure, or a field that is null."""
    failure: str = ""
    """The reason for which it is not translated."""
    translation: str | None = None


def read_rows(plan: Plan, number: int) -> list[Row]:
    """Return the rows of a shard; a line that cannot be read has a failure."""
    shard = plan.shards[number]
    if plan.form == "parquet":
        return _parquet_rows(plan, shard)
    content = read_range(plan, shard)
    lines = content.removesuffix(b"\n").split(b"\n")
    if shard.first_line == 0:
        lines[0] = lines[0].removeprefix(_BYTE_ORDER_MARK)
    path = plan.inputs[shard.input].path
    rows = []
    for index, line in enumerate(lines, shard.first_line + 1):
        row = Row(line)
        try:
            text = decode_line(line, path=path, number=index)
            row.text = text if plan.form == "text" or not text.strip() else _field(text, plan)
        except HeadwayError as error:
            row.failure = error.message
        rows.append(row)
    return rows


def _field(line: str, plan: Plan) -> str | None:
    """Return the text to translate of a JSON object; DataError if there is none."""
    try:
        values = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"The line is not JSON: {error}.") from None
    if not isinstance(values, dict):
        raise DataError("The line is not a JSON object.")
    if plan.column not in values:
        raise DataError(f"There is no field '{plan.column}'.")
    if plan.into in values:
        raise DataError(f"There is already a field '{plan.into}'.")
    return _text(values[plan.column])


def _text(value: Any) -> str | None:
    if not isinstance(value, str | None):
        raise DataError(f"The value is not text but {type(value).__name__}.")
    if value is not None and any("\ud800" <= letter <= "\udfff" for letter in value):
        raise DataError("The text has half a character (a lone surrogate).")
    return value


def _parquet_rows(plan: Plan, shard: Shard) -> list[Row]:
    column = read_table(plan, shard).column(plan.column)
    rows = []
    for value in column.to_pylist():
        row = Row()
        try:
            row.text = _text(value)
        except DataError as error:
            row.failure = error.message
        rows.append(row)
    return rows


def written(plan: Plan, number: int, rows: Sequence[Row]) -> bytes:
    """Return the content of the part of a shard."""
    if plan.form == "parquet":
        return _parquet(plan, plan.shards[number], rows)
    encode = _json_line if plan.form == "jsonl" else _line
    return b"".join(encode(row, plan) + b"\n" for row in rows)


def _line(row: Row, plan: Plan) -> bytes:
    return (row.translation or "").encode()


def _json_line(row: Row, plan: Plan) -> bytes:
    """Return the line with one more field; the others stay as they are written.

    An object that already has a field of this name stays as it is, and a blank line stays blank. A
    line that is not an object becomes empty.
    """
    line = row.raw.rstrip()
    if not line:
        return b""
    if row.failure:
        names = _names(line)
        if names is None or plan.into in names:
            return b"" if names is None else line
    field = json.dumps({plan.into: row.translation}, ensure_ascii=False).encode()
    before = line[:-1].rstrip()
    comma = b"" if before.endswith(b"{") else b", "
    return before + comma + field[1:]


def _names(line: bytes) -> set[str] | None:
    """Return the names of the fields of a JSON object; None for anything else."""
    try:
        values = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return set(values) if isinstance(values, dict) else None


def _parquet(plan: Plan, shard: Shard, rows: Sequence[Row]) -> bytes:
    import pyarrow
    from pyarrow import parquet

    table = read_table(plan, shard)
    column = pyarrow.array([row.translation for row in rows], pyarrow.string())
    file = io.BytesIO()
    parquet.write_table(table.append_column(plan.into, column), file, compression="zstd")
    return file.getvalue()
