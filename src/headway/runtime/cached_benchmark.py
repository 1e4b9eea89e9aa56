"""What was measured on this machine and is kept in the user's cache folder.

So that what is chosen by it does not depend on how busy the machine was at the moment: equal runs
are to be equal.
"""

import contextlib
import json
import os
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from headway.runtime.atomic_files import write_atomically
from headway.runtime.locks import lock_file


def measured_once(key: str, known: Collection[str], measure: Callable[[], str]) -> str:
    """Return what was found for this key, one of those known; measured now if nothing was.

    One process at a time measures, so that others neither disturb it nor find something else. Where
    nothing can be kept, it is measured each time.
    """
    if (found := _read().get(key, "")) in known:
        return found
    with _alone():
        if (found := _read().get(key, "")) in known:
            return found
        found = measure()
        _write(_read() | {key: found})
    return found


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Let one process at a time in, where a file can be locked."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError, RuntimeError):
            _file().parent.mkdir(parents=True, exist_ok=True)
            lock = stack.enter_context(open(_file().with_name("precision.lock"), "a"))
            lock_file(lock, wait=True)
        yield


def _file() -> Path:
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "headway" / "precision.json"


def _read() -> dict[str, str]:
    try:
        found = json.loads(_file().read_text("utf-8"))
    except (OSError, RuntimeError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _write(found: dict[str, str]) -> None:
    with contextlib.suppress(OSError, RuntimeError):  # no room, no right, no home
        _file().parent.mkdir(parents=True, exist_ok=True)
        write_atomically(_file(), json.dumps(found, indent=1).encode())
