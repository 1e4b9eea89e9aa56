"""The memory that processes hold, read from the system; without PyTorch, which some do not load."""

import sys
from contextlib import suppress
from pathlib import Path

if sys.platform != "win32":
    import resource


def peak_of_process() -> int:
    """Return the most bytes that this process has held; 0 under Windows, where it is not known."""
    # On Linux `ru_maxrss` of a new process begins with its parent's.
    with suppress(OSError):
        return held_by("self", "VmHWM")
    return 0 if sys.platform == "win32" else _most(resource.RUSAGE_SELF)


def peak_of_ended_children() -> int:
    """Return the most bytes that one of the ended child processes has held; 0 under Windows."""
    return 0 if sys.platform == "win32" else _most(resource.RUSAGE_CHILDREN)


def held_by(process: str, field: str) -> int:
    """Return the bytes of VmHWM (the peak) or VmRSS (now) of a process, named by its id or self.

    OSError where the process has gone or the system is not Linux.
    """
    for line in Path(f"/proc/{process}/status").read_text("utf-8").splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise ProcessLookupError(f"process {process} has ended")


def forget_peak() -> None:
    """Let the peak of this process begin with the memory in use, where the system is Linux."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # see proc(5)


if sys.platform != "win32":

    def _most(processes: int) -> int:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(processes).ru_maxrss * unit
