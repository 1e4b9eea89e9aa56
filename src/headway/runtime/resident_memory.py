"""The memory that this process holds, read from the system.

This module does not import PyTorch, whose memory would count in programs that do not use it.
"""

import sys
from contextlib import suppress
from pathlib import Path

if sys.platform != "win32":
    import resource


def peak_of_process() -> int:
    """Return the most bytes that this process has held; 0 under Windows, where it is not known."""
    # On Linux `ru_maxrss` of a new process begins with its parent's.
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text("utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0 if sys.platform == "win32" else _most_bytes()


def forget_peak() -> None:
    """Reset the peak of this process to the memory in use; this works only on Linux."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # see proc(5)


if sys.platform != "win32":

    def _most_bytes() -> int:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
