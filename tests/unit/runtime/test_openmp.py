"""One thread of Python may compute with one thread of PyTorch while others keep theirs."""

import threading

import pytest
import torch

from headway.runtime import openmp
from headway.runtime.openmp import idle_cores, one_thread, parallel_region, usable_cores


@pytest.mark.skipif(not parallel_region(), reason="PyTorch's threads are not GCC's.")
def test_one_thread_is_of_the_calling_thread_alone() -> None:
    before = torch.get_num_threads()
    seen: list[int] = []
    torch.set_num_threads(3)
    try:
        with one_thread():
            assert torch.get_num_threads() == 1
            other = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
            other.start()
            other.join()
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)
    assert seen == [3]


def test_with_another_library_the_last_thread_restores_the_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(openmp, "_library", lambda: None)
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    together = threading.Barrier(4)
    inside: list[int] = []

    def work() -> None:
        with one_thread():
            together.wait(timeout=30)
            inside.append(torch.get_num_threads())
            together.wait(timeout=30)

    try:
        for _ in range(3):
            threads = [threading.Thread(target=work) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            fresh: list[int] = []
            other = threading.Thread(
                target=lambda fresh=fresh: fresh.append(torch.get_num_threads())
            )
            other.start()
            other.join()
            assert fresh == [3]
    finally:
        torch.set_num_threads(before)
    assert set(inside) == {1}


def test_idle_cores_are_for_the_calling_thread_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openmp, "num_cores", lambda: 7)
    seen: list[int] = []
    with one_thread():
        assert usable_cores() == 1
        with idle_cores(True):
            assert (usable_cores(), torch.get_num_threads()) == (7, 1)
            other = threading.Thread(target=lambda: seen.append(usable_cores()))
            other.start()
            other.join()
        with idle_cores(False):
            assert usable_cores() == 1
    assert seen == [usable_cores()] == [torch.get_num_threads()]
