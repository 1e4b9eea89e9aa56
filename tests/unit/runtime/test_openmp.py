"""One thread of Python may compute with one thread of PyTorch while others keep theirs."""

import threading

import pytest
import torch

from headway.runtime import openmp
from headway.runtime.openmp import one_thread, parallel_region


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


def test_with_another_library_pytorch_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[int] = []
    monkeypatch.setattr(openmp, "_library", lambda: None)
    monkeypatch.setattr(torch, "set_num_threads", chosen.append)
    before = torch.get_num_threads()

    with one_thread():
        pass

    assert chosen == [1, before]
