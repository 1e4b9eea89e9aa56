"""Memory on huge pages, for the weights that every step reads.

A base model's weights are on 7,000 pages of 4 KB. The processor forgets most of their addresses
between two steps, and its prefetchers stop at the end of each page. Arrays follow one another,
because a huge page for each small array would waste most of it.
"""

import contextlib
import math
import mmap
import threading
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

_PAGE = 2**21
_CHUNK = 8 * _PAGE  # that arrays share
_LINE = 64  # bytes of a cache line


class _Chunks:
    """Chunks of memory. Each lives as long as an array in it, or as it is the newest."""

    def __init__(self) -> None:
        self.newest = np.empty(0, np.uint8)
        self.used = 0
        self.lock = threading.Lock()

    def take(self, size: int) -> NDArray[np.uint8]:
        with self.lock:
            if self.used + size > self.newest.size:
                self.newest, self.used = _chunk(max(_CHUNK, size)), 0
            room = self.newest[self.used : self.used + size]
            self.used += -(-size // _LINE) * _LINE
            return room


_chunks = _Chunks()


def copy_to_huge_pages(array: NDArray[Any]) -> NDArray[Any]:
    """Return a contiguous copy that begins with a cache line, on huge pages where there are some.

    Its memory is freed when no other array in its chunk is left either.
    """
    copy = room_on_huge_pages(array.shape, array.dtype)
    copy[:] = array
    return copy


def room_on_huge_pages(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return an array with arbitrary content in the same kind of memory."""
    dtype = np.dtype(dtype)
    return _chunks.take(math.prod(shape) * dtype.itemsize).view(dtype).reshape(shape)


def _chunk(size: int) -> NDArray[np.uint8]:
    """Return memory that begins with a page, of this many bytes or more."""
    if not hasattr(mmap, "MADV_HUGEPAGE"):  # absent on other systems than Linux
        return _from(np.empty(size + _LINE, np.uint8), _LINE)
    # Private: by default, a forked process and its parent would see what the other writes.
    memory = mmap.mmap(-1, size + _PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with contextlib.suppress(OSError):  # a system without huge pages
        memory.madvise(mmap.MADV_HUGEPAGE)
    return _from(np.frombuffer(memory, np.uint8), _PAGE)


def _from(memory: NDArray[np.uint8], unit: int) -> NDArray[np.uint8]:
    """Return the memory from the first multiple of `unit` bytes on."""
    return memory[-memory.ctypes.data % unit :]
