r"""Cut inputs into shards, and read the bytes of a shard again, checked.

Lines end at `\n` only. A shard of text is a range of bytes after decompression; one of a Parquet
file is a range of whole row groups, which lie one after the other in the file.
"""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from headway.bulk.plan import Input, Plan, Shard
from headway.data.compression import compression, document, plain_name, readable, signature
from headway.data.lines import check_only_line
from headway.errors import ConfigError, DataError, MissingExtraError

_BLOCK = 1 << 20  # bytes
_PARQUET_MAGIC = 4  # bytes at the beginning of a Parquet file
_SIGNATURE = 16  # bytes, enough to recognize files that are not text
_PARQUET_END = 8  # bytes after its metadata


def inputs_of(paths: Sequence[Path]) -> tuple[Input, ...]:
    """Return the inputs with these paths; ConfigError if their forms differ."""
    inputs = tuple(_input(path) for path in paths)
    if len({entry.form for entry in inputs}) > 1:
        raise ConfigError(
            "The inputs have several forms: "
            + ", ".join(f"{Path(entry.path).name} is {entry.form}" for entry in inputs[:4])
            + ".",
            "Make a separate plan for each form.",
        )
    return inputs


def _input(path: Path) -> Input:
    with readable(path, decompress=False) as file:  # raises if it is missing or a folder
        start = file.read(_SIGNATURE)
    name = plain_name(path)
    form = "jsonl" if name.endswith((".jsonl", ".ndjson")) else "text"
    if name.endswith(".parquet"):
        form = "parquet"
    elif not compression(path) and (kind := document(start) or signature(start)):
        raise DataError(
            f"{path} begins as {kind} does, so it is not text.",
            "Give text, JSON lines or Parquet, with the usual ending of the file name.",
        )
    return Input(str(path.absolute()), form, path.stat().st_size)


def shards_of_input(number: int, entry: Input, lines: int) -> Iterator[Shard]:
    """Yield the shards of an input, of this many lines each; the last may have fewer."""
    if entry.form == "parquet":
        yield from _parquet_shards(number, entry, lines)
    else:
        yield from _line_shards(number, entry, lines)


def _line_shards(number: int, entry: Input, most: int) -> Iterator[Shard]:
    first = offset = lines = size = 0
    digest = hashlib.sha256()
    with readable(entry.path) as file:
        line = b""
        for line in file:
            lines, size = lines + 1, size + len(line)
            digest.update(line)
            if lines == most:
                yield Shard(number, first, lines, offset, size, digest.hexdigest())
                first, offset, lines, size = first + lines, offset + size, 0, 0
                digest = hashlib.sha256()
        if first + lines == 1:
            check_only_line(line, entry.path)
        if lines:
            yield Shard(number, first, lines, offset, size, digest.hexdigest())


def _parquet_shards(number: int, entry: Input, most: int) -> Iterator[Shard]:
    metadata = parquet_file(entry.path).metadata
    starts = [_group_start(metadata.row_group(g)) for g in range(metadata.num_row_groups)]
    ends = [*starts[1:], entry.size - _PARQUET_END - metadata.serialized_size]
    if starts:
        starts[0] = _PARQUET_MAGIC
    first = group = 0
    with readable(entry.path, decompress=False) as file:
        while group < len(starts):
            begin, lines = group, 0
            while group < len(starts) and (group == begin or lines < most):
                lines += metadata.row_group(group).num_rows
                group += 1
            offset, size = starts[begin], ends[group - 1] - starts[begin]
            if size < 0:
                raise DataError(
                    f"{entry.path} has row groups that do not follow each other.",
                    "Write it again, for example with pyarrow.",
                )
            digest = _digest_of(file, offset, size)
            yield Shard(number, first, lines, offset, size, digest, begin, group - begin)
            first += lines


def _group_start(group: Any) -> int:
    columns = [group.column(index) for index in range(group.num_columns)]
    return min(
        column.data_page_offset
        if column.dictionary_page_offset is None
        else min(column.dictionary_page_offset, column.data_page_offset)
        for column in columns
    )


def parquet_file(path: str | Path) -> Any:
    """Return an open Parquet file; MissingExtraError without pyarrow, DataError if damaged."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError.of(
            "data", f"Reading {path} needs pyarrow, which is not installed."
        ) from error
    try:
        return parquet.ParquetFile(path, pre_buffer=False)
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(
            f"{path} cannot be read as Parquet: {error}.", "Copy, download or write it again."
        ) from error


def _digest_of(file: IO[bytes], offset: int, size: int) -> str:
    digest = hashlib.sha256()
    for block in _blocks(file, offset, size):
        digest.update(block)
    return digest.hexdigest()


def _blocks(file: IO[bytes], offset: int, size: int) -> Iterator[bytes]:
    """Yield the bytes of a range. A compressed file is read from its beginning."""
    if file.seekable():
        file.seek(offset)
    else:
        for block in _read_blocks(file, offset):
            del block
    yield from _read_blocks(file, size)


def _read_blocks(file: IO[bytes], size: int) -> Iterator[bytes]:
    """Yield the next bytes of a file, at most as many as it has."""
    while size and (block := file.read(min(size, _BLOCK))):
        size -= len(block)
        yield block


def read_range(plan: Plan, shard: Shard) -> bytes:
    """Return the bytes of a shard; DataError if they are not those of the plan."""
    entry = plan.inputs[shard.input]
    with readable(entry.path, decompress=entry.form != "parquet") as file:
        content = b"".join(_blocks(file, shard.offset, shard.size))
    if hashlib.sha256(content).hexdigest() != shard.sha256:
        raise DataError(
            f"{entry.path} has changed since it was planned (lines {shard.first_line + 1:,} to "
            f"{shard.first_line + shard.lines:,}).",
            "Restore the file, or plan again in a new folder.",
        )
    return content


def read_table(plan: Plan, shard: Shard) -> Any:
    """Return the rows of a shard of a Parquet file as a table of pyarrow, checked like bytes."""
    read_range(plan, shard)
    groups = range(shard.first_group, shard.first_group + shard.groups)
    return parquet_file(plan.inputs[shard.input].path).read_row_groups(list(groups))
