"""Work divided among PyTorch's own threads.

A second pool beside it would make both slow: after each of its operations PyTorch's threads wait
for the next one at full speed. So we ask the library that holds them, OpenMP of GCC, for a parallel
region as its compiler would. Where PyTorch has another one, as on macOS, the caller does it all.
"""

import contextlib
import ctypes
import functools
import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

_Work = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def can_divide() -> bool:
    """Tell whether `divide` uses as many threads as PyTorch does."""
    return _library() is not None or torch.get_num_threads() == 1


def divide(work: Callable[[int, int], object], count: int) -> None:
    """Call work(first, last) for parts that make up 0 to count, one for each thread.

    It pays where `work` gives up Python's lock at once, as compiled loops do, and takes long beside
    the 30 to 100 microseconds of this. An exception in one of them is raised when all have ended.
    """
    library, threads = _library(), min(torch.get_num_threads(), count)
    if library is None or threads < 2:
        work(0, count)
        return
    bounds = [count * part // threads for part in range(threads + 1)]
    parts = iter(list(itertools.pairwise(bounds)))
    errors: list[BaseException] = []
    # 0 is as many threads as PyTorch has: asked for fewer, GCC's pool would end the others, and
    # start new ones for PyTorch's next operation. Each goes on while there are parts.
    library.GOMP_parallel(_Work(lambda _: _take(work, parts, errors)), None, 0, 0)
    _take(work, parts, errors)  # what is left if an interrupt came before a thread had begun
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
        with contextlib.suppress(OSError, AttributeError):  # another one is there in its place
            library = ctypes.CDLL(str(path), mode=os.RTLD_NOLOAD)
            if hasattr(library, "GOMP_parallel"):
                return library
    return None
