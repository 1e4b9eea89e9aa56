"""Memory that a training step frees stays with the process, for the next step to use."""

import ctypes
import platform

# Names and numbers of glibc's malloc.h; see mallopt(3).
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3
_LARGEST_MMAP_THRESHOLD = 32 * 2**20


def keep_freed_memory() -> bool:
    """Tell glibc not to hand freed memory back to the system; return whether it will.

    Every step frees and takes the same hundreds of megabytes again, and pages fresh from the
    system are filled with zeros first: 6 to 11 % of a step of the tiny model
    (benchmarks/NOTES.md). It holds for the whole process, so commands call it and the library
    does not. Elsewhere than under glibc nothing happens.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    mallopt = ctypes.CDLL(None).mallopt
    settings = (
        (_MMAP_THRESHOLD, _LARGEST_MMAP_THRESHOLD),
        (_TRIM_THRESHOLD, 2**31 - 1),
        (_TOP_PAD, 64 * 2**20),
    )
    return all(mallopt(name, value) == 1 for name, value in settings)
