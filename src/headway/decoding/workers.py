"""Parallel searches, each with its own batch, fed from one queue."""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import torch

from headway.decoding.engine import Batch
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.request import Request
from headway.decoding.run_search import run_search
from headway.runtime.openmp import one_thread

T = TypeVar("T")
R = TypeVar("R")

_SECONDS = 0.02  # between looks at the results: each takes the interpreter from the workers


def search_with_workers(
    make_batch: Callable[[int], Batch],
    requests: Iterable[tuple[int, Request]],
    *,
    workers: int,
    slots: int,
    max_tokens: int | None = None,
) -> Iterator[tuple[int, list[Hypothesis]]]:
    """Yield the results of `run_search`, from several workers that share the requests.

    make_batch: makes a batch with this number of slots. max_tokens and slots are the most of one
    worker (`even_slots`).
    """
    requests = list(requests)
    if not requests:
        return
    slots = even_slots(len(requests), workers, slots)

    def run(shared: Iterable[tuple[int, Request]]) -> Iterator[tuple[int, list[Hypothesis]]]:
        batch = make_batch(slots)
        yield from run_search(batch, shared, slots=slots, max_tokens=max_tokens)
        batch.end()

    yield from run_in_parallel(run, requests, workers)


def even_slots(requests: int, workers: int, limit: int) -> int:
    """Return the slots of each worker, at most `limit`, that give all workers as many requests.

    With the most slots, the first worker to be done would take all the requests that are left, and
    the others would have none.

    >>> even_slots(300, 2, 128)  # two batches for each worker, instead of 128 + 44 and 128
    75
    """
    if workers == 1:
        return min(limit, requests)
    rounds = -(-requests // (workers * limit))
    return -(-requests // (workers * rounds))


def run_in_parallel(
    run: Callable[[Iterable[T]], Iterator[R]], items: Iterable[T], workers: int
) -> Iterator[R]:
    """Yield the results of `run` from several workers that share the items.

    On a CPU the matrix products of one batch are too small to divide among cores, but batches can
    be divided. Each worker is a thread that computes on one core, without gradients. Compiled
    kernels run at the same time; the threads wait for each other while Python runs. If the caller
    stops early, each worker ends after its next result.
    """

    def inferring_run(shared: Iterable[T]) -> Iterator[R]:
        return _inferring(run(shared))

    if workers == 1:
        yield from inferring_run(items)
    else:
        yield from _run_in_threads(inferring_run, items, workers)


def _run_in_threads(
    run: Callable[[Iterable[T]], Iterator[R]], items: Iterable[T], workers: int
) -> Iterator[R]:
    shared = _Shared(items)
    results: deque[R] = deque()
    errors: list[BaseException] = []
    running = workers
    ended, stop = threading.Condition(), threading.Event()

    def work() -> None:
        nonlocal running
        try:
            with one_thread():
                for result in run(shared):
                    results.append(result)
                    if stop.is_set():
                        break
        except BaseException as error:  # raised in the calling thread
            errors.append(error)
        finally:
            with ended:
                running -= 1
                ended.notify()

    threads = [threading.Thread(target=work, daemon=True) for _ in range(workers)]
    try:
        for thread in threads:
            thread.start()
        over = False
        while not over:
            with ended:
                over = ended.wait_for(lambda: errors or not running, timeout=_SECONDS)
            while results:  # after the look at `running`, so that the last ones are among them
                yield results.popleft()
        if errors:
            raise errors[0]
    finally:
        stop.set()
        for thread in threads:
            if thread.ident is not None:  # it was started
                thread.join()


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
