"""How PyTorch's threads wait for each other: spinning while they are alone, else asleep.

A thread of GCC's OpenMP that has finished its part of an operation spins: it checks some 300,000
times whether the other threads have finished, and then sleeps. So it is awake between two
operations of a training, which is faster than any wake-up call. But where another program holds a
core, the thread that it waits for cannot run while it spins. If the library has more threads than
cores, it spins 100 times only (GOMP_SPINCOUNT in its manual). So while other programs want the
processor, we start more threads, which do nothing: a training next to a busy program is then
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

_BUSY, _QUIET = 0.25, 0.1  # share of time that threads wait for a core; some 0.6 next to a loop
_BETWEEN_LOOKS = 0.5  # seconds
_MOST_CORES = 4  # waking many threads takes longer, and has not been measured
_DIVIDED = 2**18  # numbers; PyTorch gives a thread an eighth of them at least
_STARTED = 1.0  # seconds; it takes some milliseconds


class WaitingThreads:
    """Choose, look by look, how the threads of this process wait."""

    def __init__(self) -> None:
        """Begin with threads that spin."""
        self._crowds = _crowds_needed()
        self._looked, self._waited = time.perf_counter(), _waits_for_cores()
        self._at_work: list[_thread.LockType] = []

    @property
    def asleep(self) -> bool:
        """Whether a waiting thread soon sleeps."""
        return bool(self._at_work)

    def look(self) -> None:
        """Find out whether other programs want the processor; call this between two steps."""
        time_now = time.perf_counter()
        if not self._crowds or time_now - self._looked < _BETWEEN_LOOKS:
            return
        waited = _waits_for_cores()
        more = [waited[name] - self._waited[name] for name in waited.keys() & self._waited.keys()]
        share = sum(more) / (time_now - self._looked)
        self._looked, self._waited = time_now, waited
        if share > _BUSY and not self.asleep:
            for _ in range(self._crowds):
                self._crowd()
        elif share < _QUIET:
            self.close()

    def close(self) -> None:
        """Let the threads spin again, as they did before."""
        while self._at_work:
            self._at_work.pop().release()

    def _crowd(self) -> None:
        """Give OpenMP more threads, until `close`.

        They belong to a new thread, which gets them by dividing an operation. It is not a thread of
        `threading`, because no process is forked while one of these runs. It holds no lock that a
        forked process could wait for.
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

        with suppress(RuntimeError):  # the system may refuse a thread: then nothing changes
            _thread.start_new_thread(hold, ())
            self._at_work.append(at_work)
            started.acquire(timeout=_STARTED)


def _crowds_needed() -> int:
    """Return the number of our threads that make OpenMP's exceed the cores; 0 to change nothing.

    A choice that the user made in the environment stays.
    """
    chosen = {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} & os.environ.keys()
    if sys.platform != "linux" or chosen or not parallel_region():
        return 0
    cores, used = num_cores(), torch.get_num_threads()
    # Each gets the threads that the library starts for it: one less than it divides among.
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
