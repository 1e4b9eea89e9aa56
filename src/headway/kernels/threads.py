"""Work divided among PyTorch's own threads.

A second pool beside it would make both slow: after each of its operations PyTorch's threads wait
for the next one at full speed. So we ask the library that holds them, OpenMP of GCC, for a parallel
region as its compiler would. Where PyTorch has another one, as on macOS, the caller does it all.
"""

import contextlib
import ctypes
import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch


def can_divide() -> bool:
    """Tell whether `divide` uses as many threads as PyTorch does."""
    return _region() != 0 or torch.get_num_threads() == 1


def divide(loop: Callable[..., bool], *arguments: Any, count: int) -> None:
    """Call a loop of `parallel.in_parts`: loop(*arguments, count, parts, region)."""
    threads = min(torch.get_num_threads(), count)
    region = _region() if threads > 1 else 0
    if not loop(*arguments, count, threads, region):
        raise MemoryError("There is no memory left for what loops keep beside their arguments.")


@functools.cache
def _region() -> int:
    """Return the address of what begins a region; 0 if PyTorch's threads are not those of GCC."""
    for path in sorted((Path(torch.__file__).parent / "lib").glob("libgomp*.so*")):
        with contextlib.suppress(OSError, AttributeError):  # another one is there in its place
            library = ctypes.CDLL(str(path), mode=os.RTLD_NOLOAD)
            return ctypes.cast(library.GOMP_parallel, ctypes.c_void_p).value or 0
    return 0
