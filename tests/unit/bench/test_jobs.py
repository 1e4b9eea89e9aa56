"""The memory of workers counts, whether they have ended or live on."""

import json
import subprocess
import sys

import pytest

# In a process of its own: what a worker has is taken beside what its parent has, and in the process
# that runs all tests that is a great deal, which a fork does not take along.
_PROGRAM = """
import json
import multiprocessing

from headway.bench.jobs import workers_memory_mb


def hold(connection):
    held = bytearray(b"x" * 100 * 2**20)
    connection.send(len(held))
    connection.recv()


context = multiprocessing.get_context("fork")
ours, theirs = context.Pipe()
worker = context.Process(target=hold, args=(theirs,))
before = workers_memory_mb(1)
worker.start()
ours.recv()
living = workers_memory_mb(2)
ours.send(None)
worker.join()
print(json.dumps([before, living, workers_memory_mb(2), workers_memory_mb(1)]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux only")
def test_a_worker_counts_while_it_lives_and_when_it_has_ended() -> None:
    said = subprocess.run(
        [sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True, timeout=120
    )
    before, living, ended, alone = json.loads(said.stdout)
    assert (before, alone) == (0, 0)
    # Less than 100, because not all that the parent has is in the worker's memory, too.
    assert min(living, ended) > 2 * 50
