"""Memory of a process: its peak, freed memory, cached kernels, and sparsely written arrays."""

import contextlib
import ctypes
import gc
import math
import mmap
import os
import platform
import sys
from typing import Any

import numpy as np
import torch
from numpy.typing import DTypeLike, NDArray

from headway.runtime import resident_memory
from headway.runtime.processes import trim_heap

# Names and numbers of glibc's malloc.h; see mallopt(3).
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3
_LARGEST_MMAP_THRESHOLD = 32 * 2**20
_STEPS_BETWEEN_HOLES = 20
# Messages of PyTorch and its back ends; only CUDA has an exception of its own.
_SIGNS = (
    "DefaultCPUAllocator: can't allocate memory",
    "DefaultCPUAllocator: not enough memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "MPS backend out of memory",
)
_KERNELS = 128
_DESCRIPTIONS = 64
# bytes; for larger arrays NumPy asks for huge pages, where one written number takes two megabytes
_HUGE = 4 * 2**20


def is_out_of_memory(error: Exception) -> bool:
    """Return True if an error of PyTorch, or of our kernels, means that memory did not suffice."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(sign in str(error) for sign in _SIGNS)


def prepare_process() -> None:
    """Set this process up for training; call it before the first tensor."""
    keep_freed_memory()
    keep_few_kernels()


def keep_freed_memory() -> bool:
    """Tell glibc to keep freed memory, not to return it to the system; return True if it will.

    Every step frees and takes the same hundreds of megabytes again, and the system fills new pages
    with zeros first: 6 to 11 % of a step of the tiny model (benchmarks/log/001). The setting holds
    for the whole process, so commands change it and the library does not. Without glibc nothing
    happens.
    """
    return _set_thresholds(_LARGEST_MMAP_THRESHOLD, 2**31 - 1, 64 * 2**20)


def hand_back_freed_memory() -> bool:
    """Tell glibc to return freed memory to the system at once; return True if it will.

    If processes divide the weights, each step gathers every layer, in several threads. The memory
    that these threads would keep adds up to more than a whole model
    (docs/en/howto/several-processes.md).
    """
    return _set_thresholds(128 * 2**10, 128 * 2**10, 128 * 2**10)


def collect_only_new_objects() -> None:
    """Exempt all present objects from garbage collection, once a program has loaded what it needs.

    A full collection otherwise visits every object of PyTorch and Numba, which takes some 70 ms in
    the middle of a translation, and frees nothing.
    """
    gc.freeze()


def keep_few_kernels() -> None:
    """Limit the kernels that libraries keep for matrix sizes; call it before the first product.

    Batches of text hardly ever repeat a size, except for layers that learn in bfloat16, whose rows
    are padded to few sizes. By default oneDNN keeps 1,024 kernels: 0.3 GB, so far apart in memory
    that they cost some 5 % of a step of the tiny model. PyTorch keeps 1,024 descriptions of matrix
    products and as many of linear layers, in bfloat16 a quarter of a megabyte each
    (benchmarks/log/029, 059). The limits here are more than a step needs. A number in the
    environment takes precedence. The setting holds for the whole process.
    """
    names = [f"{library}_PRIMITIVE_CACHE_CAPACITY" for library in ("ONEDNN", "DNNL")]
    if not any(name in os.environ for name in names):
        os.environ[names[0]] = str(_KERNELS)
    os.environ.setdefault("LRU_CACHE_CAPACITY", str(_DESCRIPTIONS))  # of ideep, inside PyTorch


def give_back_holes(step: int) -> None:
    """Return to the system, after every 20th step, the free memory between blocks in use.

    Batches of many shapes leave holes that no later tensor fits into: over 8,000 steps of the tiny
    model memory grew threefold. The next step has to take new pages, which costs 6 to 11 % of its
    time, so this is not done after every step.
    """
    if step % _STEPS_BETWEEN_HOLES == 0:
        trim_heap()


def forget_peak(device: torch.device) -> None:
    """Reset the peak of memory to the memory in use; for a CPU this works only on Linux.

    Training a tokenizer may have taken more memory than all later work.
    """
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        return
    trim_heap()
    resident_memory.forget_peak()


def peak_memory(device: torch.device) -> int:
    """Return the most bytes that this process has held on the device since `forget_peak`.

    0 for a CPU under Windows, where the peak is not known.
    """
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    return resident_memory.peak_of_process()


def sparse(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return an array with arbitrary content that takes memory only where it is written.

    A small array may share a huge page with others.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size < _HUGE or not hasattr(mmap, "MADV_NOHUGEPAGE"):  # only Linux has it
        return np.empty(shape, dtype)
    # Private: by default, a forked process and its parent would see each other's writes.
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with contextlib.suppress(OSError):  # a system without huge pages
        memory.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(memory, dtype).reshape(shape)


def _set_thresholds(mmap_threshold: int, trim_threshold: int, top_pad: int) -> bool:
    if sys.platform != "linux" or platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    settings = (
        (_MMAP_THRESHOLD, mmap_threshold),
        (_TRIM_THRESHOLD, trim_threshold),
        (_TOP_PAD, top_pad),
    )
    return all(mallopt(name, value) == 1 for name, value in settings)
