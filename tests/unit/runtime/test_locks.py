"""A lock is held by one at a time, and gone with the file that it is on."""

import threading
from pathlib import Path

import pytest

from headway.runtime.locks import (
    is_folder_locked,
    lock_file,
    locked_folder,
    one_process_at_a_time,
)


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


def test_a_block_runs_in_one_thread_at_a_time(tmp_path: Path) -> None:
    at_work, most = [], []

    def work() -> None:
        with one_process_at_a_time(tmp_path / "new folder" / "lock"):
            at_work.append(1)
            most.append(len(at_work))
            threading.Event().wait(0.02)
            at_work.pop()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1, 1, 1]


def test_where_no_lock_can_be_made_a_block_runs_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ran = False
    with one_process_at_a_time(tmp_path / "file" / "lock"):
        ran = True
    assert ran


def test_an_error_of_the_block_is_not_hidden(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="of the block"), one_process_at_a_time(tmp_path / "lock"):
        raise OSError("of the block")
