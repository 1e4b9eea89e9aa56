"""Parts: the translation of a shard on disk, with a manifest that describes it.

The name of a part has its digest. So two workers on one shard, whose texts differ because their
machines do, never write to one file, and a manifest always describes the part that it names.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from headway.bulk.plan import Plan
from headway.bulk.rows import Row, written
from headway.errors import RunError
from headway.json_text import to_json
from headway.runtime.atomic_files import (
    remedy_for,
    write_atomically,
)


@dataclass(frozen=True, slots=True)
class Manifest:
    """The facts of a part. A shard is done when its manifest exists."""

    lines: int
    size: int
    """Bytes of the part."""
    sha256: str
    """Of the part."""
    seconds: float
    failures: int
    host: str


_DIGITS = 16  # of a digest, in a name


def part_path(folder: Path, plan: Plan, shard: int, sha256: str) -> Path:
    """Return the path of a part of a shard with this digest."""
    return folder / "parts" / f"{shard:06d}-{sha256[:_DIGITS]}{plan.ending}"


def manifest_path(folder: Path, shard: int) -> Path:
    """Return the path of the manifest of a part."""
    return folder / "parts" / f"{shard:06d}.json"


def failures_path(folder: Path, shard: int, sha256: str) -> Path:
    """Return the path of the failures of a part; there is no file if it has none."""
    return folder / "failures" / f"{shard:06d}-{sha256[:_DIGITS]}.jsonl"


def is_done(folder: Path, shard: int) -> bool:
    """Return True if a shard is translated and its part written."""
    return manifest_path(folder, shard).exists()


def read_manifest(folder: Path, shard: int) -> Manifest | None:
    """Return the manifest of a part; None if the shard is not done, or its manifest is damaged."""
    try:
        return Manifest(**json.loads(manifest_path(folder, shard).read_bytes()))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def write_part(
    folder: Path, plan: Plan, shard: int, rows: Sequence[Row], *, seconds: float, host: str
) -> Manifest:
    """Write the part of a shard, then its failures, then its manifest, which makes it count.

    If another worker was first, its part counts. RunError if the folder is full or cannot be
    written.
    """
    try:
        content = written(plan, shard, rows)
        sha256 = hashlib.sha256(content).hexdigest()
        write_atomically(part_path(folder, plan, shard, sha256), content)
        failed = [
            {"line": plan.shards[shard].first_line + index, "reason": row.failure}
            for index, row in enumerate(rows, 1)
            if row.failure
        ]
        if failed:
            lines = "".join(to_json(failure) + "\n" for failure in failed)
            write_atomically(failures_path(folder, shard, sha256), lines.encode())
        manifest = Manifest(
            lines=len(rows),
            size=len(content),
            sha256=sha256,
            seconds=round(seconds, 3),
            failures=len(failed),
            host=host,
        )
        if not is_done(folder, shard):
            write_atomically(manifest_path(folder, shard), to_json(asdict(manifest)).encode())
    except OSError as error:
        remedy = "Free some space, or make the folder writable; then work again."
        raise RunError(
            f"The part of shard {shard} cannot be written to {folder} "
            f"({error.strerror or error}); the other parts are not lost.",
            remedy_for(error, remedy),
        ) from error
    return manifest


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
