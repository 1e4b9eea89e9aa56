"""Work divided among PyTorch's own threads.

A second pool beside it would make both slow: after each of its operations PyTorch's threads wait
for the next one at full speed. So we ask the library that holds them, OpenMP of GCC, for a parallel
region as its compiler would. Where PyTorch has another one, as on macOS, the caller does it all.
"""

import ctypes
import functools
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

_Work = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def divide(work: Callable[[int, int], object], count: int) -> None:
    """Call work(first, last) for parts that make up 0 to count, one for each thread.

    It pays where `work` gives up Python's lock at once, as compiled loops do, and takes long beside
    the 20 microseconds of this. An exception in one of them is raised when all have ended.
    """
    library, threads = _library(), min(torch.get_num_threads(), count)
    if library is None or threads < 2:
        work(0, count)
        return
    bounds = [count * part // threads for part in range(threads + 1)]
    parts = iter(list(itertools.pairwise(bounds)))
    errors: list[BaseException] = []
    # OpenMP may start fewer threads than it is asked for: each goes on while there are parts.
    library.GOMP_parallel(_Work(lambda _: _take(work, parts, errors)), None, threads, 0)
    if errors:
        raise errors[0]


def _take(
    work: Callable[[int, int], object],
    parts: Iterator[tuple[int, int]],
    errors: list[BaseException],
) -> None:
    try:
        for first, last in parts:
            work(first, last)
    except BaseException as error:  # nobody above would hear it: above is C
        errors.append(error)


@functools.cache
def _library() -> ctypes.CDLL | None:
    """Return the OpenMP library that PyTorch has loaded, if it is that of GCC and came with it."""
    for path in sorted((Path(torch.__file__).parent / "lib").glob("libgomp*.so*")):
        library = ctypes.CDLL(str(path))
        if hasattr(library, "GOMP_parallel"):
            return library
    return None
