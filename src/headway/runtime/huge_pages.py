"""Memory on huge pages, for the weights that every step reads.

A base model's weights are on 7,000 pages of 4 KB. The processor forgets most of their addresses
between two steps, and its prefetchers stop at the end of each page. Arrays follow one another,
because a huge page for each small array would waste most of it.
"""

import contextlib
import mmap
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    copy = _chunks.take(array.nbytes).view(array.dtype).reshape(array.shape)
    copy[:] = array
    return copy


def _chunk(size: int) -> NDArray[np.uint8]:
    """Return this many bytes, which begin with a page where there are huge pages."""
    if not hasattr(mmap, "MADV_HUGEPAGE"):  # absent on other systems than Linux
        return _aligned(np.empty(size + _LINE, np.uint8), _LINE, size)
    # Private: by default, a forked process and its parent would see what the other writes.
    memory = mmap.mmap(-1, size + _PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with contextlib.suppress(OSError):  # a system without huge pages
        memory.madvise(mmap.MADV_HUGEPAGE)
    return _aligned(np.frombuffer(memory, np.uint8), _PAGE, size)


def _aligned(memory: NDArray[np.uint8], unit: int, size: int) -> NDArray[np.uint8]:
    """Return `size` bytes of the memory that begin at a multiple of `unit`."""
    begin = -memory.ctypes.data % unit
    return memory[begin : begin + size]
