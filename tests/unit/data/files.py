"""Writes files for tests, compressed as their names say."""

import bz2
import gzip
import lzma
from pathlib import Path

from backports import zstd

ENDINGS = ["", ".gz", ".bz2", ".xz", ".zst"]


def write(path: Path, data: bytes | str) -> Path:
    raw = data if isinstance(data, bytes) else data.encode("utf-8")
    path.write_bytes(compress(raw, path.suffix))
    return path


def compress(raw: bytes, ending: str) -> bytes:
    """Return bytes as a file with this ending holds them."""
    compressions = {
        ".gz": gzip.compress,
        ".bz2": bz2.compress,
        ".xz": lzma.compress,
        ".zst": zstd.compress,
    }
    return compressions.get(ending, bytes)(raw)
