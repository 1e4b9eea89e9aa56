"""How PyTorch's threads wait for each other: asked for before PyTorch is imported."""

import os
import sys

_MOST_CORES = 4


def let_waiting_threads_sleep() -> None:
    """Have threads leave the processor while they wait, here and in processes that this one starts.

    GCC's OpenMP has a thread that is done with its part of an operation look for the others some
    300,000 times before it sleeps. Where another program holds a core, that is the time in which
    the one they wait for could run: on two cores, one of them busy, training is 1.8 times as fast
    without, and alone no slower (benchmarks/NOTES.md). To wake many threads takes longer than to
    wake one, so processors with more cores keep what GCC does. A policy in the environment stays.
    """
    chosen = {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} & os.environ.keys()
    if sys.platform == "linux" and not chosen and len(os.sched_getaffinity(0)) <= _MOST_CORES:
        os.environ["GOMP_SPINCOUNT"] = "0"
