"""How PyTorch's threads wait for each other: they spin, or sleep while other programs are busy.

A thread of GCC's OpenMP that has finished its part of an operation spins: it checks some 300,000
times whether the other threads have finished, and then sleeps. So between two operations of a
training it is awake, which is faster than waking it. But if another program uses a core, a spinning
thread may occupy the core that the thread it waits for needs. If the library has more threads than
cores, its threads spin only 100 times (GOMP_SPINCOUNT in its manual). So while other programs want
the processor, we start more threads, which do nothing: a training next to a busy program is then
several times as fast.
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

_BUSY, _QUIET = 0.25, 0.1  # share of time that threads wait for a core; a busy loop costs some 0.6
_LOOK_INTERVAL = 0.5  # seconds
_MOST_CORES = 4  # waking many threads takes longer, and has not been measured
_NUMBERS = 2**18  # enough to be divided: PyTorch gives each thread an eighth of them at least
_START_TIMEOUT = 1.0  # seconds; a start takes some milliseconds


class WaitingThreads:
    """Choose from time to time how the waiting threads of this process wait."""

    def __init__(self) -> None:
        """Begin with threads that spin."""
        self._num_extra = _extra_threads_needed()
        self._looked, self._waited = time.perf_counter(), _waits_for_cores()
        self._at_work: list[_thread.LockType] = []

    @property
    def asleep(self) -> bool:
        """Whether a waiting thread soon sleeps."""
        return bool(self._at_work)

    def look(self) -> None:
        """Change the way to wait if other programs want the processor; call this between steps."""
        time_now = time.perf_counter()
        if not self._num_extra or time_now - self._looked < _LOOK_INTERVAL:
            return
        waited = _waits_for_cores()
        both = waited.keys() & self._waited.keys()
        new_waits = [waited[name] - self._waited[name] for name in both]
        share = sum(new_waits) / (time_now - self._looked)
        self._looked, self._waited = time_now, waited
        if share > _BUSY and not self.asleep:
            for _ in range(self._num_extra):
                self._start_extra()
        elif share < _QUIET:
            self.close()

    def close(self) -> None:
        """Let the threads spin again, as they did before."""
        while self._at_work:
            self._at_work.pop().release()

    def _start_extra(self) -> None:
        """Give OpenMP more threads, until `close`.

        A new thread divides an operation, for which the library starts threads. It is not a thread
        of `threading`, because `may_fork` counts those. A fork may happen while it runs, because it
        holds no lock that a forked process could wait for.
        """
        started, at_work = _thread.allocate_lock(), _thread.allocate_lock()
        started.acquire()
        at_work.acquire()

        def hold() -> None:
            try:
                torch.zeros(_NUMBERS, device="cpu").add_(1)
            finally:
                started.release()
            at_work.acquire()

        with suppress(RuntimeError):  # the system may refuse a thread: then nothing changes
            _thread.start_new_thread(hold, ())
            self._at_work.append(at_work)
            started.acquire(timeout=_START_TIMEOUT)


def _extra_threads_needed() -> int:
    """Return how many threads to start, so that OpenMP has more threads than cores.

    0 if nothing is to change, as when the user has chosen in the environment how threads wait.
    """
    user_choices = {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} & os.environ.keys()
    if sys.platform != "linux" or user_choices or not parallel_region():
        return 0
    cores, used = num_cores(), torch.get_num_threads()
    # For each of them the library starts `used - 1` threads; it is itself the last of its team.
    return (cores - used) // (used - 1) + 1 if 1 < used <= cores <= _MOST_CORES else 0


def _waits_for_cores() -> dict[str, float]:
    """Return the seconds that each thread of this process has waited for a core.

    This is the second number of schedstat (sched-stats.rst of the kernel); not every kernel has it.
    """
    waits: dict[str, float] = {}
    with suppress(OSError):
        for thread in Path("/proc/self/task").iterdir():
            with suppress(OSError, IndexError):  # it may have ended since it was listed
                waits[thread.name] = int((thread / "schedstat").read_text().split()[1]) / 1e9
    return waits
