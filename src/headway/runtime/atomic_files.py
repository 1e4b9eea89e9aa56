"""Replace files and folders in one step, whole or not at all."""

import contextlib
import errno
import os
import secrets
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from headway.errors import HeadwayError

PARTIAL = ".partial"
"""The ending of a file or folder that is being written."""

_RETRY_SECONDS, _RETRY_INTERVAL = 1.0, 0.02

SIZE_LIMIT = "Raise the limit on the size of a file (`ulimit -f`)"


@contextlib.contextmanager
def writing(target: object, kind: type[HeadwayError], remedy: str) -> Iterator[None]:
    """Raise an error of this kind if the system refuses to write, as on a full disk."""
    try:
        yield
    except OSError as error:
        raise kind(
            f"{target} cannot be written ({error.strerror or error}).", remedy_for(error, remedy)
        ) from error


def remedy_for(error: Exception, remedy: str) -> str:
    """Return the remedy; for a file over the size limit, it raises the limit, not the space."""
    too_large = isinstance(error, OSError) and error.errno == errno.EFBIG
    return remedy.replace("Free some space", SIZE_LIMIT) if too_large else remedy


def write_atomically(path: Path, data: bytes | Iterator[bytes | memoryview]) -> None:
    """Replace a file in one step, so that a stop at any moment leaves the old or the new file.

    The new file gets the owner and mode of the old one, and a link stays a link. data: the content,
    as a whole or in parts.
    """
    path = Path(os.path.realpath(path))
    fresh = partial_path(path)
    try:
        with open(fresh, "xb") as file:
            file.writelines([data] if isinstance(data, bytes) else data)
            file.flush()
            os.fsync(file.fileno())
        keep_access(fresh, path)
        replace(fresh, path)
        sync_folder(path.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            fresh.unlink()
        raise


def check_file_place(path: Path, kind: type[HeadwayError]) -> None:
    """Refuse, before the work, a path at which no file can be written."""
    folder = path.parent
    if path.is_dir():
        problem, remedy = f"{path} is a folder", "Name a file in it, or choose another place."
    elif not folder.is_dir():
        problem, remedy = f"There is no folder {folder}", "Make it, or choose another place."
    elif not os.access(path if path.exists() else folder, os.W_OK):
        problem, remedy = f"{path} may not be written by this user", "Choose another place."
    else:
        return
    raise kind(f"{problem}.", remedy)


def replace(source: Path, target: Path) -> None:
    """Rename a file or folder in one step; a file that has the new name is replaced.

    Windows refuses this while another program, such as a virus scanner, has the file open. The
    renaming is then tried again for a second.
    """
    end = time.monotonic() + (_RETRY_SECONDS if sys.platform == "win32" else 0)
    while True:
        try:
            os.replace(source, target)
            return
        except PermissionError:
            if time.monotonic() >= end:
                raise
        time.sleep(_RETRY_INTERVAL)


def keep_access(fresh: Path, old: Path) -> None:
    """Give a file the owner and mode of the file that it replaces, if that exists."""
    with contextlib.suppress(OSError):
        status = old.stat()
        fresh.chmod(stat.S_IMODE(status.st_mode))
        if sys.platform != "win32":  # Windows has no `chown`
            os.chown(fresh, status.st_uid, status.st_gid)


def partial_path(path: Path) -> Path:
    """Return an unused path in the same folder, for the new content while it is being written."""
    return path.with_name(f".{path.name}-{secrets.token_hex(4)}{PARTIAL}")


def sync_folder(folder: Path) -> None:
    """Make a new name in the folder survive a power failure, where the system can do that."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
