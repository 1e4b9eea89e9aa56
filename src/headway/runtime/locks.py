"""Locks on files and folders. A lock is released when its file is closed or its process ends.

POSIX systems lock both. Windows locks only files; there a folder is changed without a lock.
"""

import contextlib
import errno
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_RETRY_INTERVAL = 0.1  # seconds; `msvcrt` itself tries ten times, once a second, then gives up


def lock_file(file: IO[Any], *, wait: bool) -> None:
    """Lock an open file until it is closed.

    wait: whether to wait while another process holds the lock, instead of raising BlockingIOError.
    A file system without locks raises another OSError.
    """
    if sys.platform == "win32":
        _lock_first_byte(file, wait=wait)
    else:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextlib.contextmanager
def one_process_at_a_time(path: Path) -> Iterator[None]:
    """Run the block in one process, or thread, at a time; the others wait.

    path: the lock file, created here. If it cannot be created or locked, the block runs at once.
    """
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            lock_file(stack.enter_context(open(path, "a")), wait=True)
        yield


@contextlib.contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder in the block; wait while another process has it.

    The block runs without a lock where the system locks no folders, as on NFS and Windows.
    """
    with contextlib.ExitStack() as stack:
        if sys.platform != "win32":
            descriptor = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, descriptor)
            with contextlib.suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


def is_folder_locked(folder: Path) -> bool | None:
    """Return whether a process holds the lock of a folder; None where folders are not locked.

    Raises OSError if the folder no longer exists.
    """
    if sys.platform == "win32":
        return None
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return False


if sys.platform == "win32":

    def _lock_first_byte(file: IO[Any], *, wait: bool) -> None:
        """Lock the first byte of a file; Windows can lock even a byte beyond the end of a file."""
        file.seek(0)
        while True:
            try:
                msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
                return
            except PermissionError as error:
                if not wait:
                    raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from error
            time.sleep(_RETRY_INTERVAL)
