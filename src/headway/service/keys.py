"""API keys: each line of a file has a key and the name of its owner."""

import hmac
import logging
from dataclasses import dataclass
from pathlib import Path

from headway.data.lines import read_lines
from headway.errors import DataError

_log = logging.getLogger("headway.service")


@dataclass(frozen=True, slots=True)
class Client:
    """The sender of a request: the owner of its key, or else its address."""

    name: str
    has_key: bool


class Keys:
    """The keys of a file, which is read again when it changes."""

    def __init__(self, path: Path | None) -> None:
        """Read the file; DataError names the first key without a name, or with two names."""
        self.path = path
        self._stamp: tuple[int, int] | None = None
        """Time and size of the file at the last look; None if there was no file."""
        self._names: dict[bytes, str] = {}
        if path is not None:
            self._stamp = _stamp(path)
            self._names = _names(path)

    def owner(self, key: str) -> str | None:
        """Return the name of a key's owner; None for an invalid key.

        The time does not depend on where an invalid key differs from a valid one.
        """
        self._refresh()
        sent, owner = key.encode("utf-8", "replace"), None
        for valid, name in self._names.items():
            if hmac.compare_digest(valid, sent):
                owner = name
        return owner

    def _refresh(self) -> None:
        """Read the file if it has changed; if it is invalid, log that and keep the old keys."""
        if self.path is None:
            return
        if (stamp := _stamp(self.path)) == self._stamp:
            return
        self._stamp = stamp
        try:
            self._names = _names(self.path)
        except (OSError, DataError) as error:
            _log.warning("The keys stay as they were: %s", error)


def _names(path: Path) -> dict[bytes, str]:
    """Return the names of the owners by key."""
    names: dict[bytes, str] = {}
    for number, line in enumerate(read_lines(path), start=1):
        key, _, name = line.strip().partition(" ")
        if not key or key.startswith("#"):
            continue
        if not name.strip():
            raise DataError(
                f"{path}, line {number} has no name after its key.",
                "Write a key, a space and the name of its owner into each line.",
            )
        if key.encode() in names:
            raise DataError(
                f"{path}, line {number} has the key of an earlier line.", "Leave one of them out."
            )
        names[key.encode()] = name.strip()
    return names


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
