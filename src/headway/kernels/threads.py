"""Work divided among PyTorch's own threads.

A second pool beside it would make both slow: after each of its operations PyTorch's threads wait
for the next one at full speed. So we ask the library that holds them, OpenMP of GCC, for a parallel
region as its compiler would. Where PyTorch has another one, as on macOS, the caller does it all.
"""

from collections.abc import Callable
from typing import Any

import torch

from headway.runtime.openmp import parallel_region


def can_divide() -> bool:
    """Tell whether `divide` uses as many threads as PyTorch does."""
    return parallel_region() != 0 or torch.get_num_threads() == 1


def divide(loop: Callable[..., bool], *arguments: Any, count: int) -> None:
    """Call a loop of `parallel.in_parts`: loop(*arguments, count, parts, region)."""
    threads = min(torch.get_num_threads(), count)
    region = parallel_region() if threads > 1 else 0
    if not loop(*arguments, count, threads, region):
        raise MemoryError("There is no memory left for what loops keep beside their arguments.")
