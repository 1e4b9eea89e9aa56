"""Claims: a worker has a shard as long as it touches the shard's claim.

A claim is a file that can be created only once. Its age is judged by the clock of the shared file
system, so the clocks of machines need not agree. Two workers on one shard would do the work twice,
and nothing worse: both write the same part.
"""

import contextlib
import json
import os
import secrets
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

from headway.errors import RunError
from headway.runtime.atomic_files import PARTIAL, replace, writing
from headway.runtime.processes import has_ended

_TOUCHES = 4
"""A worker touches its claim this many times within a lease."""


def claim_path(folder: Path, shard: int) -> Path:
    """Return the path of the claim of a shard."""
    return folder / "claims" / f"{shard:06d}"


def claim(folder: Path, shard: int, lease: float) -> bool:
    """Claim a shard; return False while another worker has it.

    lease: seconds after which a claim that was not touched is taken over. RunError if the folder
    cannot be written.
    """
    with writing(folder / "claims", RunError, "Make the folder writable, then work again."):
        return _claim(claim_path(folder, shard), lease)


def _claim(path: Path, lease: float) -> bool:
    if _create(path):
        return True
    old = _content(path)
    if not (_has_no_owner(old) or is_expired(path, lease)):
        return False
    aside = path.with_name(f"{path.name}-{secrets.token_hex(8)}{PARTIAL}")
    try:
        replace(path, aside)  # of several workers, one succeeds
    except FileNotFoundError:
        return False
    taken = _content(aside)
    if taken != old:  # between the two, another worker took over and made a claim of its own
        with contextlib.suppress(OSError):
            replace(aside, path)
        return False
    aside.unlink(missing_ok=True)
    return _create(path)


def _has_no_owner(content: bytes | None) -> bool:
    """Return True if the worker of a claim was on this machine, and its process has ended."""
    try:
        owner = json.loads(content or b"")
        return owner["host"] == socket.gethostname() and has_ended(owner["pid"])
    except (ValueError, TypeError, KeyError):  # it is being written, or was in a full folder
        return False


def is_expired(path: Path, lease: float) -> bool:
    """Return True if a claim exists and was not touched within the lease, in seconds."""
    probe = path.with_name(f"clock-{secrets.token_hex(8)}{PARTIAL}")
    try:
        probe.touch()
        return probe.stat().st_mtime - path.stat().st_mtime > lease
    except FileNotFoundError:  # the claim was released meanwhile
        return False
    finally:
        probe.unlink(missing_ok=True)


@contextlib.contextmanager
def kept(folder: Path, shard: int, lease: float) -> Iterator[None]:
    """Touch the claim of a shard during the block, and remove it at the end."""
    path = claim_path(folder, shard)
    ended = threading.Event()

    def touch() -> None:
        while not ended.wait(lease / _TOUCHES):
            with contextlib.suppress(OSError):  # taken over, or the file system is away for now
                os.utime(path)

    thread = threading.Thread(target=touch, name=f"claim of shard {shard}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        release(folder, shard)


def release(folder: Path, shard: int) -> None:
    """Remove the claim of a shard."""
    with contextlib.suppress(OSError):  # the lease will end
        claim_path(folder, shard).unlink()


def _create(path: Path) -> bool:
    content = {"host": socket.gethostname(), "pid": os.getpid(), "nonce": secrets.token_hex(8)}
    try:
        with open(path, "x", encoding="utf-8") as file:
            json.dump(content, file)
    except FileExistsError:
        return False
    return True


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
