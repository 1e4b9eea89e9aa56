"""GCC's OpenMP library, which holds the threads that PyTorch computes with on Linux."""

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
    """Return the library; None where PyTorch has another one, as on macOS and Windows."""
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
    """Let PyTorch compute with one thread in this thread of Python, and leave all others alone.

    Where PyTorch has another OpenMP library, all threads of Python that begin meanwhile have one,
    too: `torch.set_num_threads` knows no other way.
    """
    library = _library()
    if library is None:
        with _one_for_all():
            yield
        return
    before = torch.get_num_threads()  # a new thread gets its number at this question
    library.omp_set_num_threads(1)
    try:
        yield
    finally:
        library.omp_set_num_threads(before)


@contextlib.contextmanager
def idle_cores(are_idle: bool) -> Iterator[None]:
    """Let compiled products of this thread use cores beside its own, if these are idle.

    PyTorch still computes with one thread within `one_thread`.
    """
    _others.idle = are_idle
    try:
        yield
    finally:
        _others.idle = False


def usable_cores() -> int:
    """Return the cores that compiled products of this thread may use; other limits may be lower."""
    return num_cores() if getattr(_others, "idle", False) else torch.get_num_threads()


@contextlib.contextmanager
def _one_for_all() -> Iterator[None]:
    """Set the number when the first thread comes, and restore it when the last one leaves."""
    global _inside, _before
    with _entrance:
        if _inside == 0:
            _before = torch.get_num_threads()
        _inside += 1
        torch.set_num_threads(1)
    try:
        yield
    finally:
        with _entrance:
            _inside -= 1
            if _inside == 0:
                torch.set_num_threads(_before)


_entrance, _inside, _before = threading.Lock(), 0, 1
_others = threading.local()
