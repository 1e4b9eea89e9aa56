"""Arrays of which only what is written takes memory."""

import contextlib
import math
import mmap
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

# From here on NumPy asks for huge pages: one written number would take two megabytes.
_HUGE = 4 * 2**20


def sparse(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return an array with any numbers in it, whose memory is taken where it is written.

    A small one may be on a huge page with others.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size < _HUGE or not hasattr(mmap, "MADV_NOHUGEPAGE"):  # the latter elsewhere than on Linux
        return np.empty(shape, dtype)
    # Of this process alone: by default, what a worker writes would show in all of them.
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with contextlib.suppress(OSError):  # a system without huge pages
        memory.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(memory, dtype).reshape(shape)
