"""Arrays that take memory only where they are written."""

import contextlib
import math
import mmap
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

# From here on NumPy asks for huge pages: one written number would take two megabytes.
_HUGE = 4 * 2**20


def sparse(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return an array with arbitrary content that takes memory only where it is written.

    A small array may share a huge page with others.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size < _HUGE or not hasattr(mmap, "MADV_NOHUGEPAGE"):  # absent on other systems than Linux
        return np.empty(shape, dtype)
    # Private to this process: by default, all workers would see what one of them writes.
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with contextlib.suppress(OSError):  # a system without huge pages
        memory.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(memory, dtype).reshape(shape)
