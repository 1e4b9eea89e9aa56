"""Memory on huge pages, for the weights that every step reads.

A base model's weights are on 7,000 pages of 4 KB. The processor's TLB loses most of their addresses
between two steps, and its prefetchers stop at the end of each page. Several arrays share a huge
page, because a small array would leave most of it unused.
"""

import contextlib
import mmap
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

_PAGE = 2**21
_CHUNK = 8 * _PAGE  # bytes; arrays share a chunk
_LINE = 64  # bytes of a cache line


class _Chunks:
    """Chunks of memory. A chunk is freed when it is not the newest and no array in it is left."""

    def __init__(self) -> None:
        self.newest = np.empty(0, np.uint8)
        self.used = 0
        self.lock = threading.Lock()

    def take(self, size: int) -> NDArray[np.uint8]:
        with self.lock:
            if self.used + size > self.newest.size:
                self.newest, self.used = _chunk(max(_CHUNK, size)), 0
            block = self.newest[self.used : self.used + size]
            self.used += -(-size // _LINE) * _LINE
            return block


_chunks = _Chunks()


def copy_to_huge_pages(array: NDArray[Any]) -> NDArray[Any]:
    """Return a contiguous copy, aligned to a cache line, on huge pages where the system has them.

    Its memory is freed when no other array in its chunk is left either.
    """
    copy = _chunks.take(array.nbytes).view(array.dtype).reshape(array.shape)
    copy[:] = array
    return copy


def _chunk(size: int) -> NDArray[np.uint8]:
    """Return `size` bytes: on Linux aligned to a huge page, elsewhere to a cache line."""
    if not hasattr(mmap, "MADV_HUGEPAGE"):  # only Linux has it
        return _aligned(np.empty(size + _LINE, np.uint8), _LINE, size)
    # Private: by default, a forked process and its parent would see each other's writes.
    memory = mmap.mmap(-1, size + _PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with contextlib.suppress(OSError):  # a system without huge pages
        memory.madvise(mmap.MADV_HUGEPAGE)
    return _aligned(np.frombuffer(memory, np.uint8), _PAGE, size)


def _aligned(memory: NDArray[np.uint8], unit: int, size: int) -> NDArray[np.uint8]:
    """Return `size` bytes of the memory that begin at a multiple of `unit`."""
    begin = -memory.ctypes.data % unit
    return memory[begin : begin + size]
