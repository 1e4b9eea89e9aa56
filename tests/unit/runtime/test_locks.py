"""A lock is held by one at a time, and gone with the file that it is on."""

import threading
from pathlib import Path

import pytest

from headway.runtime.locks import is_folder_locked, lock_file, locked_folder


def test_a_file_is_locked_until_it_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with path.open("a") as first, path.open("a") as second:
        lock_file(first, wait=True)
        with pytest.raises(BlockingIOError):
            lock_file(second, wait=False)
        first.close()
        lock_file(second, wait=False)


def test_a_waiting_caller_gets_the_lock_once_it_is_free(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    locked = threading.Event()
    with path.open("a") as first, path.open("a") as second:
        lock_file(first, wait=True)

        def wait() -> None:
            lock_file(second, wait=True)
            locked.set()

        waiting = threading.Thread(target=wait)
        waiting.start()
        assert not locked.wait(0.05)
        first.close()
        assert locked.wait(10)
        waiting.join()


def test_a_folder_is_locked_within_the_block(tmp_path: Path) -> None:
    assert is_folder_locked(tmp_path) is False
    with locked_folder(tmp_path):
        assert is_folder_locked(tmp_path) is True
    assert is_folder_locked(tmp_path) is False
