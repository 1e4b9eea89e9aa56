"""Room of which only what is written takes memory, and that no other process sees."""

import os
import sys
from multiprocessing import get_context

import numpy as np
import pytest

from headway.runtime.sparse import sparse

ROWS, WIDTH = 160, 2**17  # bytes: 20 MB

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="/proc is of Linux")


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("shape", [(3, 5), (ROWS, WIDTH // 2), (0, 7)])
@pytest.mark.parametrize("dtype", [np.uint16, np.float32])
def test_it_is_an_array_like_any_other(shape: tuple[int, ...], dtype: type) -> None:
    array = sparse(shape, dtype)

    assert (array.shape, array.dtype) == (shape, dtype)
    assert array.flags.c_contiguous
    assert array.flags.writeable
    assert array.flags.aligned
    array[...] = 7
    assert (array == 7).all()


@on_linux
def test_what_is_not_written_takes_no_memory() -> None:
    before = resident()

    array = sparse((ROWS, WIDTH), np.uint8)
    array[:, :1000] = 1

    # NumPy's own would take nearly all of it where the system has huge pages.
    assert resident() - before < ROWS * WIDTH / 4
    array[:] = 1
    assert resident() - before > ROWS * WIDTH / 2


@on_linux
def test_what_a_forked_process_writes_does_not_show() -> None:
    array = sparse((ROWS, WIDTH), np.uint8)
    writer = get_context("fork").Process(target=array.fill, args=(9,))

    writer.start()
    writer.join()

    assert writer.exitcode == 0
    assert not array.any()
