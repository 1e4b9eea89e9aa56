"""GCC's OpenMP library, whose threads PyTorch computes with on Linux."""

import contextlib
import ctypes
import functools
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from headway.runtime.processor import num_cores


@functools.cache
def _library() -> Any:
    """Return the library; None where PyTorch uses another one, as on macOS and Windows."""
    for path in sorted((Path(torch.__file__).parent / "lib").glob("libgomp*.so*")):
        with contextlib.suppress(OSError, AttributeError):  # PyTorch has loaded another library
            return ctypes.CDLL(str(path), mode=os.RTLD_NOLOAD)
    return None


@functools.cache
def parallel_region() -> int:
    """Return the address of the function that begins a parallel region of PyTorch's threads.

    0 where PyTorch computes with the threads of another library.
    """
    library = _library()
    return 0 if library is None else ctypes.cast(library.GOMP_parallel, ctypes.c_void_p).value or 0


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Let PyTorch compute with one thread in this thread of Python; other threads do not change.

    Where PyTorch uses another OpenMP library, `torch.set_num_threads` also limits all threads of
    Python that begin meanwhile.
    """
    library = _library()
    if library is None:
        with _one_for_all():
            yield
        return
    before = torch.get_num_threads()  # this call also sets the number in a new thread of Python
    library.omp_set_num_threads(1)
    try:
        yield
    finally:
        library.omp_set_num_threads(before)


@contextlib.contextmanager
def idle_cores(are_idle: bool) -> Iterator[None]:
    """Let compiled matrix products of this thread use the other cores, if these are idle.

    PyTorch still computes with one thread within `one_thread`.
    """
    _other_cores.idle = are_idle
    try:
        yield
    finally:
        _other_cores.idle = False


def usable_cores() -> int:
    """Return the number of cores that compiled matrix products of this thread may use.

    Other limits may be lower.
    """
    return num_cores() if getattr(_other_cores, "idle", False) else torch.get_num_threads()


@contextlib.contextmanager
def _one_for_all() -> Iterator[None]:
    """Set one thread when the first caller enters, and restore the number when the last leaves."""
    global _callers, _threads_before
    with _entry_lock:
        if _callers == 0:
            _threads_before = torch.get_num_threads()
        _callers += 1
        torch.set_num_threads(1)
    try:
        yield
    finally:
        with _entry_lock:
            _callers -= 1
            if _callers == 0:
                torch.set_num_threads(_threads_before)


_entry_lock, _callers, _threads_before = threading.Lock(), 0, 1
_other_cores = threading.local()
