"""Worker processes that live as long as their engine, so that a small call pays for no fork."""

import contextlib
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing import get_context
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
    may_keep_forks,
    refusals_accepted,
    results_of,
    send_results,
)
from headway.runtime.processes import may_fork, trim_heap

_SECONDS = 1.0  # between two looks of an idle worker whether anybody is left to work for
_pools: "weakref.WeakKeyDictionary[Engine[Any], WorkerPool]" = weakref.WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class PoolJob:
    """Requests that some workers share. They are sent, so the search must be of plain values."""

    search: Callable[[], Search]
    requests: list[tuple[int, Request]]
    slots: int
    max_tokens: int | None


class WorkerPool:
    """Processes that have an engine from the moment in which they were forked.

    They end with the engine, with this process however it ends, and with the first job that is
    not done to its end: nobody has to know in which state an error has left them.
    """

    def __init__(self) -> None:
        """Begin without workers."""
        self.owner = os.getpid()
        self.claimed = threading.Lock()
        self.taken: Any = None  # how many requests of a job are taken
        self.members: dict[Connection, BaseProcess] = {}

    def grow(self, engine: Engine[Any], workers: int) -> None:
        """Fork until there are so many, or the system refuses more."""
        with refusals_accepted():
            if not self.members:  # who was killed may have had the lock of an older number
                self.taken = get_context("fork").Value("q", 0)
            while len(self.members) < workers:
                ours, theirs = get_context("fork").Pipe()
                self.members[ours] = fork(_serve, engine, theirs, self.taken)
                theirs.close()

    def work(self, job: PoolJob, workers: int) -> Iterator[tuple[int, list[Hypothesis]]]:
        """Yield what so many of the workers find, or all if they are fewer; give the claim back."""
        whole = False
        try:
            self.taken.value = 0
            members = dict(list(self.members.items())[:workers])
            sent = ForkingPickler.dumps(job)
            for connection in members:
                with contextlib.suppress(ConnectionError):  # it has ended: `results_of` says so
                    connection.send_bytes(sent)
            yield from results_of(members)
            whole = True
        finally:
            if not whole:
                self.end()
            self.claimed.release()

    def alive(self) -> bool:
        """Tell whether all workers there are can be given work."""
        return all(process.is_alive() for process in self.members.values())

    def end(self) -> None:
        """End all workers; in a fork of the process that has them, nothing."""
        if os.getpid() != self.owner:
            return
        for connection, process in self.members.items():
            process.kill()
            process.join()
            connection.close()
        self.members.clear()


def acquire_pool(engine: Engine[Any], workers: int) -> WorkerPool | None:
    """Return the engine's workers, forked where there are none yet; None where that cannot be.

    Whoever claims them lets them `work`, which gives them back. While they are claimed, another
    thread goes without.
    """
    pool = _pools.get(engine)
    if pool is None or pool.owner != os.getpid():
        if not may_keep_forks():
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
    """Do one job after the other, with one thread, as long as the parent lives."""
    parent = os.getppid()
    become_lasting(connection)
    with contextlib.suppress(EOFError, ConnectionError), torch.inference_mode():
        is_rested = True
        while True:
            while not connection.poll(_SECONDS):
                if os.getppid() != parent:
                    return
                if not is_rested:  # the caches of the job were large, and another may not come
                    trim_heap()
                is_rested = True
            _do(connection.recv(), engine, connection, taken)
            is_rested = False


def _do(job: PoolJob, engine: Engine[Any], connection: Connection, taken: Any) -> None:
    def run(mine: Iterable[tuple[int, Request]]) -> Iterator[tuple[int, list[Hypothesis]]]:
        return run_search(engine, job.search(), mine, slots=job.slots, max_tokens=job.max_tokens)

    send_results(run, Taken(job.requests, taken), connection)
