"""Worker processes that live as long as their engine, so that small calls need no fork."""

import contextlib
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import ForkingPickler
from typing import Any

import torch

from headway.decoding.engine import Engine
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.request import Request
from headway.decoding.run_search import Search, run_search
from headway.runtime.forking import (
    Taken,
    become_lasting,
    fork,
    lists_open_files,
    refusals_accepted,
    results_of,
    send_results,
    shared_counter,
)
from headway.runtime.processes import may_fork, trim_heap

_SECONDS = 1.0  # an idle worker checks this often whether its parent still lives
_pools: "weakref.WeakKeyDictionary[Engine[Any], WorkerPool]" = weakref.WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class PoolJob:
    """Requests that workers share. A job is pickled, so `search` must have plain arguments."""

    search: Callable[[], Search]
    requests: list[tuple[int, Request]]
    slots: int
    max_tokens: int | None


class WorkerPool:
    """Processes that inherit an engine when they are forked.

    They end with the engine, with this process however it ends, and with the first job that is not
    completed, because their state after an error is unknown.
    """

    def __init__(self) -> None:
        """Start without workers."""
        self.owner = os.getpid()
        self.claimed = threading.Lock()
        self.taken: Any = None  # number of requests of a job that are taken
        self.members: dict[Connection, BaseProcess] = {}

    def grow(self, engine: Engine[Any], workers: int) -> None:
        """Fork until there are `workers` processes, or the system refuses more."""
        with refusals_accepted():
            if not self.members:  # a killed worker may hold the lock of an older one
                self.taken = shared_counter()
            while len(self.members) < workers:
                ours, theirs = Pipe()
                self.members[ours] = fork(_serve, engine, theirs, self.taken)
                theirs.close()

    def work(self, job: PoolJob, workers: int) -> Iterator[tuple[int, list[Hypothesis]]]:
        """Yield the results of at most `workers` processes; release the claim."""
        completed = False
        try:
            self.taken.value = 0
            members = dict(list(self.members.items())[:workers])
            sent = ForkingPickler.dumps(job)
            for connection in members:
                with contextlib.suppress(ConnectionError):  # it has ended: `results_of` raises
                    connection.send_bytes(sent)
            yield from results_of(members)
            completed = True
        finally:
            if not completed:
                self.end()
            self.claimed.release()

    def alive(self) -> bool:
        """Return True if all workers can take a job."""
        return all(process.is_alive() for process in self.members.values())

    def end(self) -> None:
        """End all workers; does nothing in a fork of the process that owns them."""
        if os.getpid() != self.owner:
            return
        for connection, process in self.members.items():
            process.kill()
            process.join()
            connection.close()
        self.members.clear()


def acquire_pool(engine: Engine[Any], workers: int) -> WorkerPool | None:
    """Claim the engine's workers, and fork missing ones; None if that is impossible.

    The caller must call `work`, which releases the claim. Meanwhile other threads get None.
    """
    pool = _pools.get(engine)
    if pool is None or pool.owner != os.getpid():
        if not (may_fork() and lists_open_files()):
            return None
        pool = _pools[engine] = WorkerPool()
        weakref.finalize(engine, pool.end)
    if not pool.claimed.acquire(blocking=False):
        return None
    try:
        if not pool.alive():
            pool.end()
        if len(pool.members) < workers and may_fork():
            pool.grow(engine, workers)
    except BaseException:
        pool.end()
        pool.claimed.release()
        raise
    if pool.members:
        return pool
    pool.claimed.release()
    return None


def _serve(engine: Engine[Any], connection: Connection, taken: Any) -> None:
    """Do one job after the other, with one thread, while the parent lives."""
    parent = os.getppid()
    become_lasting(connection)
    with contextlib.suppress(EOFError, ConnectionError), torch.inference_mode():
        is_trimmed = True
        while True:
            while not connection.poll(_SECONDS):
                if os.getppid() != parent:
                    return
                if not is_trimmed:  # the job's caches were large
                    trim_heap()
                is_trimmed = True
            _do(connection.recv(), engine, connection, taken)
            is_trimmed = False


def _do(job: PoolJob, engine: Engine[Any], connection: Connection, taken: Any) -> None:
    def run(requests: Iterable[tuple[int, Request]]) -> Iterator[tuple[int, list[Hypothesis]]]:
        search = job.search()
        return run_search(engine, search, requests, slots=job.slots, max_tokens=job.max_tokens)

    send_results(run, Taken(job.requests, taken), connection)
