"""The memory of workers counts, whether they have ended or live on."""

import multiprocessing
import sys
from multiprocessing.connection import Connection

import pytest

from headway.benchmark.jobs import workers_memory_mb

MB = 2**20


def _hold(connection: Connection) -> None:
    held = bytearray(b"x" * 100 * MB)
    connection.send(len(held))
    connection.recv()


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux only")
def test_a_worker_counts_while_it_lives_and_when_it_has_ended() -> None:
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    worker = context.Process(target=_hold, args=(theirs,))
    worker.start()
    ours.recv()
    living = workers_memory_mb(2)
    ours.send(None)
    worker.join()

    assert workers_memory_mb(1) == 0
    # Less than 100, because not all that this process has is in the worker's memory, too.
    assert min(living, workers_memory_mb(2)) > 2 * 50
