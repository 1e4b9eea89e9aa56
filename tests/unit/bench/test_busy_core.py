"""A core is busy during a block, and the process ends with it."""

import multiprocessing
import threading
import time
from multiprocessing.process import BaseProcess

import pytest

from headway.bench.busy_core import _compute_until_closed, one_core_busy


def test_the_process_ends_with_the_block_even_by_an_error() -> None:
    running: list[BaseProcess] = []

    def fail() -> None:
        with one_core_busy():
            running.extend(multiprocessing.active_children())
            assert running[0].is_alive()
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    (process,) = running
    assert process.exitcode is not None


def test_it_computes_until_the_other_end_is_closed() -> None:
    here, there = multiprocessing.Pipe()
    thread = threading.Thread(target=_compute_until_closed, args=(there,))
    thread.start()
    here.recv()
    before = time.process_time()
    time.sleep(0.1)
    assert time.process_time() - before > 0.01  # the test itself sleeps
    assert thread.is_alive()
    here.close()  # as the end of the process that started it would
    thread.join(timeout=30)
    assert not thread.is_alive()
