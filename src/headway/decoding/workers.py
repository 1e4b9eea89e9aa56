"""Parallel searches, each with its own batch, fed from one queue."""

import queue
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, TypeVar

import torch

from headway.decoding.engine import Engine
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.request import Request
from headway.decoding.run_search import Search, run_search
from headway.decoding.worker_pool import PoolJob, acquire_pool
from headway.runtime.forking import forked_workers, results_of_workers
from headway.runtime.processes import may_fork

T = TypeVar("T")
R = TypeVar("R")
Result = tuple[int, list[Hypothesis]]

_FIRST_TIME = 16  # requests
_SENT = 10_000  # requests; more are shared with new forks, because a pool needs copies
_used: weakref.WeakSet[Engine[Any]] = weakref.WeakSet()


def search_with_workers(
    engine: Engine,
    search: Callable[[], Search],
    requests: Iterable[tuple[int, Request]],
    *,
    workers: int,
    slots: int,
    max_tokens: int | None = None,
    lasting: bool = False,
) -> Iterator[Result]:
    """Yield the results of `run_search`, from several workers that share the requests.

    An engine's first few requests are computed in this process, so that the workers inherit all
    that is loaded or compiled at first use. max_tokens and slots are those of one worker, which has
    at most its share of the requests as slots. lasting: the search can be pickled and depends on
    nothing that changes, so the processes may be kept for the next call.
    """

    def run(slots: int, shared: Iterable[tuple[int, Request]]) -> Iterator[Result]:
        return run_search(engine, search(), shared, slots=slots, max_tokens=max_tokens)

    requests = list(requests)
    if workers > 1 and engine not in _used:
        _used.add(engine)
        # The last requests are the shortest. Their number makes both few and many rows occur.
        first = partial(run, min(slots, _FIRST_TIME))
        yield from run_in_parallel(first, requests[-_FIRST_TIME:], 1)
        requests = requests[:-_FIRST_TIME]
    if not requests:
        return
    slots = min(slots, max(len(requests) // workers, 1))
    lasting = lasting and engine.copies_weights and len(requests) <= _SENT
    if workers > 1 and lasting and (pool := acquire_pool(engine, workers)):
        yield from pool.work(PoolJob(search, requests, slots, max_tokens), workers)
    else:
        yield from run_in_parallel(partial(run, slots), requests, workers)


def run_in_parallel(
    run: Callable[[Iterable[T]], Iterator[R]], items: Iterable[T], workers: int
) -> Iterator[R]:
    """Yield the results of `run` from several workers that share the items.

    On a CPU the matrix products of one batch are too small to divide among cores, but batches can
    be divided. Each worker computes on one core, without gradients. Workers are forked processes
    that share the weights, if the system can fork: threads of Python wait for each other between
    matrix products.
    """

    def inferring_run(shared: Iterable[T]) -> Iterator[R]:
        return _inferring(run(shared))

    if workers == 1:
        yield from inferring_run(items)
        return
    items = list(items)
    if may_fork() and (processes := forked_workers(inferring_run, items, workers)):
        yield from results_of_workers(processes)
    else:
        yield from _run_in_threads(inferring_run, items, workers)


def _run_in_threads(
    run: Callable[[Iterable[T]], Iterator[R]], items: Iterable[T], workers: int
) -> Iterator[R]:
    shared = _Shared(items)
    results: queue.Queue[tuple[R] | BaseException | None] = queue.Queue()
    stop = threading.Event()

    def work() -> None:
        try:
            torch.set_num_threads(1)
            for result in run(shared):
                results.put((result,))
                if stop.is_set():
                    return
            results.put(None)
        except BaseException as error:  # raised in the calling thread
            results.put(error)

    cores = torch.get_num_threads()
    threads = [threading.Thread(target=work, daemon=True) for _ in range(workers)]
    for thread in threads:
        thread.start()
    try:
        running = workers
        while running:
            result = results.get()
            if result is None:
                running -= 1
            elif isinstance(result, BaseException):
                raise result
            else:
                yield result[0]
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        torch.set_num_threads(cores)


def _inferring(results: Iterator[T]) -> Iterator[T]:
    """Compute each result in inference mode, outside which the caller receives it."""
    while True:
        with torch.inference_mode():
            result = next(results, None)
        if result is None:
            return
        yield result


class _Shared(Iterator[T]):
    """An iterator for several threads."""

    def __init__(self, items: Iterable[T]) -> None:
        self.items = iter(items)
        self.lock = threading.Lock()

    def __next__(self) -> T:
        with self.lock:
            return next(self.items)
