"""The processor: its name, the cores that this process may use, its tile registers."""

import contextlib
import ctypes
import functools
import math
import os
import platform
import sys
from pathlib import Path

_CPU_INFO = Path("/proc/cpuinfo")
_QUOTA = Path("/sys/fs/cgroup/cpu.max")
_ARCH_PRCTL, _REQUEST, _TILE_DATA = 158, 0x1023, 18  # of Linux on x86-64


def processor_name() -> str:
    """Return the name of the CPU; Python's `platform` knows it on some systems only."""
    if _CPU_INFO.exists():
        for line in _CPU_INFO.read_text("utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def num_cores() -> int:
    """Return the number of cores that this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@functools.cache
def quota() -> float:
    """Return the processor time that the container allows, in cores; infinity without a limit."""
    with contextlib.suppress(OSError, ValueError):
        limit, period = _QUOTA.read_text("utf-8").split()
        return int(limit) / int(period)  # without a limit the file says "max": a ValueError
    return math.inf


def request_tiles() -> bool:
    """Ask Linux on x86-64 for the tile registers (AMX); return True if this process may use them.

    Call it only on a processor that has them.
    """
    if sys.platform != "linux":
        return False
    return ctypes.CDLL(None).syscall(_ARCH_PRCTL, _REQUEST, _TILE_DATA) == 0
