"""API keys: a file with a key and the name of its owner on each line."""

import hmac
from dataclasses import dataclass
from pathlib import Path

from headway.data.lines import read_lines
from headway.errors import DataError


@dataclass(frozen=True, slots=True)
class Client:
    """The sender of a request: the owner of a key, or else an address."""

    name: str
    has_key: bool


class Keys:
    """The keys of a file, which is read again when it changes."""

    def __init__(self, path: Path | None) -> None:
        """Read the file; DataError names the first line that has no key with a name."""
        self.path = path
        self._stamp: tuple[int, int] | None = None
        self._names: dict[bytes, str] = {}
        if path is not None:
            self._read(path)

    def owner(self, key: str) -> str | None:
        """Return the name of a key's owner; None for a wrong key.

        The time does not depend on where a wrong key differs from a right one.
        """
        self._refresh()
        given, owner = key.encode("utf-8", "replace"), None
        for known, name in self._names.items():
            if hmac.compare_digest(known, given):
                owner = name
        return owner

    def _refresh(self) -> None:
        """Read a changed file; one that cannot be used now leaves the keys as they are."""
        if self.path is None:
            return
        try:
            if _stamp(self.path) != self._stamp:
                self._read(self.path)
        except (OSError, DataError):
            return

    def _read(self, path: Path) -> None:
        stamp, names = _stamp(path), {}
        for number, line in enumerate(read_lines(path), start=1):
            key, _, name = line.strip().partition(" ")
            if not key:
                continue
            if not name.strip():
                raise DataError(
                    f"{path}, line {number} has no name after its key.",
                    "Write a key, a space and the name of its owner into each line.",
                )
            names[key.encode()] = name.strip()
        self._stamp, self._names = stamp, names


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_mtime_ns, status.st_size
