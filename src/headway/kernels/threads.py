"""Work divided among PyTorch's own threads.

A second pool would slow both down, because PyTorch's threads spin after each operation while they
wait for the next. So `divide` begins a parallel region in PyTorch's OpenMP library, GCC's, as code
compiled by GCC does. Where PyTorch has another OpenMP, as on macOS, the calling thread does all the
work.
"""

from collections.abc import Callable
from typing import Any

import torch

from headway.runtime.openmp import parallel_region


def can_divide() -> bool:
    """Return True if `divide` uses as many threads as PyTorch does."""
    return parallel_region() != 0 or torch.get_num_threads() == 1


def divide(kernel: Callable[..., bool], *arguments: Any, count: int) -> None:
    """Call a kernel of `parallel.in_parts`: kernel(*arguments, count, parts, region)."""
    threads = min(torch.get_num_threads(), count)
    region = parallel_region() if threads > 1 else 0
    if not kernel(*arguments, count, threads, region):
        raise MemoryError("There is no memory left for a kernel's intermediate results.")
