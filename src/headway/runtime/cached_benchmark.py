"""Measurements of this machine, kept in the user's cache folder.

A choice that depends on a measurement is then the same in every run, however busy the machine is.
"""

import contextlib
import json
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from pathlib import Path

from headway.home import cache_folder
from headway.runtime.atomic_files import write_atomically
from headway.runtime.locks import one_process_at_a_time


def measured_once(key: str, known: Collection[str], measure: Callable[[], str]) -> str:
    """Return the cached result for this key; measure now if there is none among those known.

    One process at a time measures, so that other processes neither disturb it nor get another
    result. Where nothing can be cached, every call measures.
    """
    if (result := _read().get(key, "")) in known:
        return result
    with _one_process_at_a_time():
        if (result := _read().get(key, "")) in known:
            return result
        result = measure()
        _write(_read() | {key: result})
    return result


def _one_process_at_a_time() -> AbstractContextManager[None]:
    """Run a block in one process at a time, where a file can be locked."""
    try:
        return one_process_at_a_time(_file().with_name("precision.lock"))
    except RuntimeError:  # no home folder
        return contextlib.nullcontext()


def _file() -> Path:
    return cache_folder() / "precision.json"


def _read() -> dict[str, str]:
    try:
        results = json.loads(_file().read_text("utf-8"))
    except (OSError, RuntimeError, ValueError):
        return {}
    return results if isinstance(results, dict) else {}


def _write(results: dict[str, str]) -> None:
    with contextlib.suppress(OSError, RuntimeError):  # no space, permission or home folder
        _file().parent.mkdir(parents=True, exist_ok=True)
        write_atomically(_file(), json.dumps(results, indent=1).encode())
