"""How PyTorch's threads wait for each other: awake while they are alone, asleep beside others.

A thread of GCC's OpenMP that is done with its part of an operation looks some 300,000 times whether
the others are, and then sleeps. Between two operations of a training it is awake so, which no call
for it to wake up can match; but where another program holds a core, the one that it looks for
cannot run while it looks. Where the library knows of more threads than cores it looks 100 times
only (GOMP_SPINCOUNT in its manual). So while others want the processor, we let it know of more,
which have nothing to do: a training beside a busy program is several times as fast.
"""

import _thread
import os
import sys
import time
from contextlib import suppress
from pathlib import Path

import torch

from headway.runtime.openmp import parallel_region
from headway.runtime.processor import num_cores

_BUSY, _QUIET = 0.25, 0.1  # seconds a second that threads wait for a core; some 0.6 beside a loop
_BETWEEN_LOOKS = 0.5  # seconds
_MOST_CORES = 4  # to wake many threads takes longer; nobody has measured it there
_DIVIDED = 2**18  # numbers, eight times of what PyTorch gives a thread at least
_STARTED = 1.0  # seconds; it takes some milliseconds


class WaitingThreads:
    """Chooses, look by look, how the threads of this process wait."""

    def __init__(self) -> None:
        """Begin; they are awake."""
        self._crowds = _crowds_needed()
        self._looked, self._waited = time.perf_counter(), _waits_for_cores()
        self._at_work: list[_thread.LockType] = []

    @property
    def asleep(self) -> bool:
        """Whether a thread that waits soon sleeps."""
        return bool(self._at_work)

    def look(self) -> None:
        """Find out whether other programs want the processor; call it between two steps."""
        now = time.perf_counter()
        if not self._crowds or now - self._looked < _BETWEEN_LOOKS:
            return
        waited = _waits_for_cores()
        more = [waited[each] - self._waited[each] for each in waited.keys() & self._waited.keys()]
        share = sum(more) / (now - self._looked)
        self._looked, self._waited = now, waited
        if share > _BUSY and not self.asleep:
            for _ in range(self._crowds):
                self._crowd()
        elif share < _QUIET:
            self.close()

    def close(self) -> None:
        """Have them wait awake again, as they did before."""
        while self._at_work:
            self._at_work.pop().release()

    def _crowd(self) -> None:
        """Let OpenMP know of more threads, until we close.

        They belong to a thread of ours, which asks for them by dividing an operation. That is none
        of `threading`, for where one of those runs, no process is forked, and it holds nothing that
        a forked process could wait for.
        """
        started, at_work = _thread.allocate_lock(), _thread.allocate_lock()
        started.acquire()
        at_work.acquire()

        def hold() -> None:
            try:
                torch.zeros(_DIVIDED, device="cpu").add_(1)
            finally:
                started.release()
            at_work.acquire()

        with suppress(RuntimeError):  # there may be no more threads: then they wait as they did
            _thread.start_new_thread(hold, ())
            self._at_work.append(at_work)
            started.acquire(timeout=_STARTED)


def _crowds_needed() -> int:
    """Return how many times as many threads are more than cores; 0 where nothing is to be chosen.

    What a person has chosen stays.
    """
    chosen = {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} & os.environ.keys()
    if sys.platform != "linux" or chosen or not parallel_region():
        return 0
    cores, used = num_cores(), torch.get_num_threads()
    # Each brings what the library starts for it, one thread less than it divides among.
    return (cores - used) // (used - 1) + 1 if 1 < used <= cores <= _MOST_CORES else 0


def _waits_for_cores() -> dict[str, float]:
    """Return for how many seconds each thread of this process could have run and did not.

    The second number of schedstat (sched-stats.rst of the kernel), which not every kernel has.
    """
    waits: dict[str, float] = {}
    with suppress(OSError):
        for thread in Path("/proc/self/task").iterdir():
            with suppress(OSError, IndexError):  # it may have ended since it was listed
                waits[thread.name] = int((thread / "schedstat").read_text().split()[1]) / 1e9
    return waits
