"""A process that keeps one core busy, as another program of the machine would."""

import contextlib
import multiprocessing
from collections.abc import Iterator
from multiprocessing.connection import Connection

_TURNS = 100_000  # of the loop between two looks; a few milliseconds


@contextlib.contextmanager
def one_core_busy() -> Iterator[None]:
    """Keep one core busy during the block, with a process that ends with it.

    It also ends if this process is killed.
    """
    context = multiprocessing.get_context("spawn")
    connection, theirs = context.Pipe()
    process = context.Process(target=_compute_until_closed, args=(theirs,))
    process.start()
    theirs.close()
    try:
        connection.recv()  # it computes now
        yield
    finally:
        connection.close()
        process.terminate()
        process.join()


def _compute_until_closed(connection: Connection) -> None:
    connection.send(None)
    with contextlib.suppress(KeyboardInterrupt):
        while not connection.poll():  # True when the other end is closed
            for _ in range(_TURNS):
                pass
