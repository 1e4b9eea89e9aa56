"""GCC's OpenMP library, which holds the threads that PyTorch computes with on Linux."""

import contextlib
import ctypes
import functools
import os
from collections.abc import Iterator
from pathlib import Path

import torch


@functools.cache
def _library() -> ctypes.CDLL | None:
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

    `torch.set_num_threads` also sets the number of every thread of Python that begins later. It is
    called only where PyTorch has another OpenMP library.
    """
    before = torch.get_num_threads()  # a new thread gets its number at this question
    library = _library()
    choose = torch.set_num_threads if library is None else library.omp_set_num_threads
    choose(1)
    try:
        yield
    finally:
        choose(before)
