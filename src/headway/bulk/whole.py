"""The whole of a bulk translation: its state, its check, and its merged text."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from headway.bulk.claims import claim_path
from headway.bulk.inputs import parquet_file
from headway.bulk.parts import digest_of, manifest_path, part_path, read_manifest
from headway.bulk.plan import Plan
from headway.counted import counted
from headway.data.compression import compressing, compression, plain_name
from headway.errors import ConfigError, DataError, RunError
from headway.runtime.atomic_files import (
    check_file_place,
    keep_access,
    partial_path,
    replace,
    writing,
)

_BLOCK = 1 << 20  # bytes
_NAMED = 5
"""Problems that an error names."""


@dataclass(frozen=True, slots=True)
class Status:
    """The progress of a bulk translation."""

    shards: int
    done: int
    claimed: int
    """Shards that a worker is translating, or had claimed when it was killed."""
    lines: int
    lines_done: int
    failures: int
    seconds: float
    """The sum of the times of all shards that are done."""


def status(folder: Path, plan: Plan) -> Status:
    """Return the progress of a bulk translation."""
    manifests = [read_manifest(folder, shard) for shard in range(len(plan.shards))]
    done = [manifest for manifest in manifests if manifest is not None]
    claimed = sum(
        manifest is None and claim_path(folder, shard).exists()
        for shard, manifest in enumerate(manifests)
    )
    return Status(
        shards=len(plan.shards),
        done=len(done),
        claimed=claimed,
        lines=plan.lines,
        lines_done=sum(manifest.lines for manifest in done),
        failures=sum(manifest.failures for manifest in done),
        seconds=sum(manifest.seconds for manifest in done),
    )


def problems(folder: Path, plan: Plan) -> Iterator[tuple[int, str]]:
    """Yield the number of each shard whose part is missing, damaged or too short, and the fault."""
    for number, shard in enumerate(plan.shards):
        manifest = read_manifest(folder, number)
        if manifest is None:
            damaged = manifest_path(folder, number).exists()
            yield number, "has a damaged manifest" if damaged else "is not done"
            continue
        part = part_path(folder, plan, number, manifest.sha256)
        if manifest.lines != shard.lines:
            lines = counted(shard.lines, "line")
            yield number, f"has {lines}, but its part has {manifest.lines:,}"
        elif not part.exists():
            yield number, "has lost its part"
        elif digest_of(part) != manifest.sha256:
            yield number, "has a damaged part"


def reopen(folder: Path, plan: Plan) -> list[int]:
    """Remove the manifests of damaged parts, so that workers translate their shards again.

    Returns the numbers of these shards.
    """
    again = [n for n, _ in problems(folder, plan) if manifest_path(folder, n).exists()]
    for number in again:
        manifest_path(folder, number).unlink()
    return again


def check(folder: Path, plan: Plan) -> None:
    """Raise RunError if a part is missing or damaged."""
    faults = [f"Shard {number} {fault}." for number, fault in problems(folder, plan)]
    if faults:
        more = f" And {len(faults) - _NAMED:,} more." if len(faults) > _NAMED else ""
        raise RunError(
            " ".join(faults[:_NAMED]) + more,
            f"Remove damaged parts with: headway bulk verify {folder} --repair; then translate "
            f"with: headway bulk work {folder}",
        )


def merge(folder: Path, plan: Plan, out: Path, *, allow_failures: bool = False) -> None:
    """Write all parts, in order, into one file that appears once it is whole.

    out: compressed if its name ends in .gz, .bz2, .xz or .zst. Raises RunError for parts that are
    missing, damaged or, unless they are allowed, have failures.
    """
    check_file_place(out, DataError)
    _check_name(plan, out)
    check(folder, plan)
    failures = status(folder, plan).failures
    if failures and not allow_failures:
        raise RunError(
            f"{counted(failures, 'line')} could not be translated; {folder / 'failures'} has the "
            "reasons.",
            "Correct them and plan again, or merge with --allow-failures, which leaves them empty.",
        )
    fresh = partial_path(out)
    try:
        with writing(out, RunError, "Free some space, or choose another file."):
            with open(fresh, "xb") as file:
                if plan.form == "parquet":
                    _merge_tables(folder, plan, file)
                else:
                    _merge_lines(folder, plan, file, out)
            keep_access(fresh, out)
            replace(fresh, out)
    finally:
        fresh.unlink(missing_ok=True)


def _part(folder: Path, plan: Plan, number: int) -> Path:
    """Return the path of the part that the manifest of a shard, which is done, names."""
    manifest = read_manifest(folder, number)
    assert manifest is not None
    return part_path(folder, plan, number, manifest.sha256)


def _check_name(plan: Plan, out: Path) -> None:
    is_parquet = plain_name(out).endswith(".parquet")
    if is_parquet != (plan.form == "parquet") or (is_parquet and compression(out)):
        form = "a Parquet file" if plan.form == "parquet" else f"lines of {plan.form}"
        raise ConfigError(
            f"The result is {form}, but {out.name} has the ending of another form.",
            f"Name a file with the ending {plan.ending}.",
        )


def _merge_lines(folder: Path, plan: Plan, file: IO[bytes], out: Path) -> None:
    compressed = compressing(file, out)
    for number in range(len(plan.shards)):
        with open(_part(folder, plan, number), "rb") as part:
            while block := part.read(_BLOCK):
                (compressed or file).write(block)
    if compressed is not None:
        compressed.close()


def _merge_tables(folder: Path, plan: Plan, file: IO[bytes]) -> None:
    from pyarrow import parquet

    writer = None
    for number in range(len(plan.shards)):
        part = parquet_file(_part(folder, plan, number))
        if writer is None:
            writer = parquet.ParquetWriter(file, part.schema_arrow, compression="zstd")
        if not part.schema_arrow.equals(writer.schema):
            raise DataError(
                f"The inputs have different columns: {plan.inputs[plan.shards[number].input].path} "
                f"differs from {plan.inputs[0].path}.",
                "Plan inputs with the same columns together, and others separately.",
            )
        for group in range(part.num_row_groups):
            writer.write_table(part.read_row_group(group))
    if writer is not None:
        writer.close()
