"""How PyTorch's threads wait for each other: asked for before PyTorch is imported."""

import os
import sys

_LOOKS = 1000
_MOST_CORES = 4


def let_waiting_threads_sleep() -> None:
    """Have waiting threads soon leave the processor, here and in processes that this one starts.

    GCC's OpenMP has a thread that is done with its part of an operation look for the others some
    300,000 times before it sleeps, milliseconds in which the one it waits for could run where
    another program holds a core; only of threads beyond the number of cores, 1,000 times. With that
    for all, on two cores, training beside a busy program is 1.5 times as fast, and alone as fast
    as before (benchmarks/NOTES.md). To wake many threads takes longer than to wake one, so
    processors with more cores keep what GCC does. A policy in the environment stays.
    """
    chosen = {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} & os.environ.keys()
    if sys.platform == "linux" and not chosen and len(os.sched_getaffinity(0)) <= _MOST_CORES:
        os.environ["GOMP_SPINCOUNT"] = str(_LOOKS)
