"""How PyTorch's threads wait for each other: awake while they are alone, asleep beside others.

A thread of GCC's OpenMP that is done with its part of an operation looks some 300,000 times whether
the others are, and then sleeps. Between two operations of a training it is awake so, which no call
for it to wake up can match; but where another program holds a core, the one that it looks for
cannot run while it looks. Where the library knows of more threads than cores it looks 100 times
only (GOMP_SPINCOUNT in its manual). So while others want the processor, we let it know of one more,
which has nothing to do: a training beside a busy program is several times as fast.
"""

import _thread
import os
import sys
import time
from contextlib import suppress
from pathlib import Path

import torch

from headway.loops import threads

_BUSY, _QUIET = 0.25, 0.1  # seconds a second that threads wait for a core; some 0.6 beside a loop
_BETWEEN_LOOKS = 0.5  # seconds
_MOST_CORES = 4  # to wake many threads takes longer; nobody has measured it there
_DIVIDED = 2**18  # numbers, eight times of what PyTorch gives a thread at least
_STARTED = 1.0  # seconds; it takes some milliseconds


class WaitingThreads:
    """Chooses, look by look, how the threads of this process wait."""

    def __init__(self) -> None:
        """Begin; they are awake."""
        self._can_choose = _can_choose()
        self._looked, self._waited = time.perf_counter(), _waited_for_cores()
        self._at_work: _thread.LockType | None = None

    @property
    def asleep(self) -> bool:
        """Whether a thread that waits soon sleeps."""
        return self._at_work is not None

    def look(self) -> None:
        """Find out whether other programs want the processor; call it between two steps."""
        now = time.perf_counter()
        if not self._can_choose or now - self._looked < _BETWEEN_LOOKS:
            return
        waited = _waited_for_cores()
        share = (waited - self._waited) / (now - self._looked)
        self._looked, self._waited = now, waited
        if share > _BUSY and not self.asleep:
            self._at_work = _crowd()
        elif share < _QUIET:
            self.close()

    def close(self) -> None:
        """Have them wait awake again, as they did before."""
        if self._at_work is not None:
            self._at_work.release()
            self._at_work = None


def _can_choose() -> bool:
    """Tell whether one thread more is what it takes; what a person has chosen stays."""
    chosen = {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"} & os.environ.keys()
    if sys.platform != "linux" or chosen:
        return False
    cores = len(os.sched_getaffinity(0))
    return 1 < cores <= _MOST_CORES and torch.get_num_threads() == cores and threads.can_divide()


def _waited_for_cores() -> float:
    """Return for how many seconds threads of this process could have run and did not.

    The second number of schedstat (sched-stats.rst of the kernel); a kernel without it says 0.
    """
    waited = 0
    with suppress(OSError):  # a thread may have ended since it was listed
        for thread in Path("/proc/self/task").iterdir():
            waited += int((thread / "schedstat").read_text().split()[1])
    return waited / 1e9


def _crowd() -> _thread.LockType:
    """Let OpenMP know of a thread more, until what is returned is released.

    It belongs to a thread of ours, which asks for it by dividing an operation. That is none of
    `threading`, for where one of those runs, no process is forked, and it holds nothing that a
    forked process could wait for.
    """
    started, at_work = _thread.allocate_lock(), _thread.allocate_lock()
    started.acquire()
    at_work.acquire()

    def hold() -> None:
        torch.zeros(_DIVIDED, device="cpu").add_(1)
        started.release()
        at_work.acquire()

    _thread.start_new_thread(hold, ())
    started.acquire(timeout=_STARTED)
    return at_work
