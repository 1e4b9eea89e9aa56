"""Copies on huge pages: equal, aligned, apart from each other, and freed."""

import gc
import weakref
from typing import Any

import numpy as np
import pytest

from headway.runtime import huge_pages
from headway.runtime.huge_pages import copy_to_huge_pages


@pytest.fixture(autouse=True)
def new_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huge_pages, "_chunks", huge_pages._Chunks())


def test_copies_are_equal_aligned_and_apart() -> None:
    arrays: list[Any] = [
        np.arange(7, dtype=np.int8),
        np.arange(24, dtype=np.float32).reshape(2, 3, 4).transpose(1, 0, 2),
        np.arange(130, dtype=np.uint16)[::2],
        np.empty((0, 5), np.float32),
    ]

    copies = [copy_to_huge_pages(array) for array in arrays]

    for array, copy in zip(arrays, copies, strict=True):
        assert (copy.dtype, copy.shape) == (array.dtype, array.shape)
        assert (copy == array).all()
        assert copy.flags.c_contiguous
        assert copy.ctypes.data % 64 == 0
    copies[1].fill(9)
    assert all((copies[i] == arrays[i]).all() for i in (0, 2, 3))


def test_an_array_larger_than_a_chunk_has_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huge_pages, "_CHUNK", 2**12)
    large = np.arange(5000, dtype=np.int32)
    small = np.arange(50, dtype=np.int32)

    copies = [copy_to_huge_pages(array) for array in (small, large, small, large[:60])]

    for array, copy in zip((small, large, small, large[:60]), copies, strict=True):
        assert (copy == array).all()


def test_memory_is_freed_with_the_last_array_of_its_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huge_pages, "_CHUNK", 2**12)
    first, second = (copy_to_huge_pages(np.zeros(500, np.float32)) for _ in range(2))
    memory = weakref.ref(huge_pages._chunks.newest.base)
    copy_to_huge_pages(np.zeros(500, np.float32))  # a new chunk

    del first
    gc.collect()
    assert memory() is not None
    del second
    gc.collect()
    assert memory() is None


def test_without_huge_pages_the_copy_is_aligned_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("mmap.MADV_HUGEPAGE", raising=False)
    array = np.arange(33, dtype=np.int16)

    copy = copy_to_huge_pages(array)

    assert (copy == array).all()
    assert copy.ctypes.data % 64 == 0
