"""Measurements of this machine, kept in the user's cache folder.

A choice that depends on one is then the same in every run, however busy the machine is.
"""

import contextlib
import json
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from headway.home import cache_folder
from headway.runtime.atomic_files import write_atomically
from headway.runtime.locks import lock_file


def measured_once(key: str, known: Collection[str], measure: Callable[[], str]) -> str:
    """Return the kept result for this key, one of those known; measure now if there is none.

    One process at a time measures, so that other processes neither disturb it nor get another
    result. Where nothing can be kept, every call measures.
    """
    if (result := _read().get(key, "")) in known:
        return result
    with _alone():
        if (result := _read().get(key, "")) in known:
            return result
        result = measure()
        _write(_read() | {key: result})
    return result


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Run the block in one process at a time, where a file can be locked."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError, RuntimeError):
            _file().parent.mkdir(parents=True, exist_ok=True)
            lock = stack.enter_context(open(_file().with_name("precision.lock"), "a"))
            lock_file(lock, wait=True)
        yield


def _file() -> Path:
    return cache_folder() / "precision.json"


def _read() -> dict[str, str]:
    try:
        results = json.loads(_file().read_text("utf-8"))
    except (OSError, RuntimeError, ValueError):
        return {}
    return results if isinstance(results, dict) else {}


def _write(results: dict[str, str]) -> None:
    with contextlib.suppress(OSError, RuntimeError):  # no room, no right, no home
        _file().parent.mkdir(parents=True, exist_ok=True)
        write_atomically(_file(), json.dumps(results, indent=1).encode())
