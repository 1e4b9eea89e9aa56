"""Several searches side by side, each with a batch of its own, all fed from one queue."""

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import torch

from headway.decoding.engine import Engine
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.search import Request, Search, run_search

T = TypeVar("T")
Found = tuple[int, list[Hypothesis]]


def search_with_workers(
    engine: Engine,
    search: Callable[[], Search],
    requests: Iterable[tuple[int, Request]],
    *,
    workers: int,
    slots: int,
    max_tokens: int | None = None,
) -> Iterator[Found]:
    """Yield what `run_search` yields, of several that share the requests.

    On a CPU a product of one batch is too small to be worth dividing among cores; whole batches
    are not. Each worker computes with one core; PyTorch lets the others go on meanwhile.
    max_tokens and slots are those of one worker.
    """
    if workers == 1:
        one = run_search(engine, search(), requests, slots=slots, max_tokens=max_tokens)
        yield from _inferring(one)
        return
    shared = _Shared(requests)
    found: queue.Queue[Found | BaseException | None] = queue.Queue()
    stop = threading.Event()

    def work() -> None:
        try:
            torch.set_num_threads(1)
            mine = run_search(engine, search(), shared, slots=slots, max_tokens=max_tokens)
            for result in _inferring(mine):
                found.put(result)
                if stop.is_set():
                    return
            found.put(None)
        except BaseException as error:  # the caller gets it
            found.put(error)

    cores = torch.get_num_threads()
    threads = [threading.Thread(target=work, daemon=True) for _ in range(workers)]
    for thread in threads:
        thread.start()
    try:
        running = workers
        while running:
            result = found.get()
            if result is None:
                running -= 1
            elif isinstance(result, BaseException):
                raise result
            else:
                yield result
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        torch.set_num_threads(cores)


def _inferring(results: Iterator[T]) -> Iterator[T]:
    """Compute each result without gradients; whoever takes them keeps a mode of its own."""
    while True:
        with torch.inference_mode():
            result = next(results, None)
        if result is None:
            return
        yield result


class _Shared(Iterator[T]):
    """An iterator that several threads may draw from."""

    def __init__(self, items: Iterable[T]) -> None:
        self.items = iter(items)
        self.lock = threading.Lock()

    def __next__(self) -> T:
        with self.lock:
            return next(self.items)
