"""Processes: whether there may be others, work that they share, and memory to give back."""

import ctypes
import gc
import multiprocessing
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain, islice
from typing import Any, Generic, TypeVar, cast

import torch
from torch.utils.data import DataLoader, Dataset

from headway.errors import HeadwayError
from headway.runtime.processor import num_cores

T = TypeVar("T")
R = TypeVar("R")


def after_fork(work: Callable[[], object]) -> None:
    """Have every process that is forked from this one begin with this work."""
    if sys.platform != "win32":
        os.register_at_fork(after_in_child=work)


# A forked child, such as a server's worker, has none of the threads that PyTorch computes with, and
# would wait for them for ever.
after_fork(lambda: torch.set_num_threads(1))


def may_fork() -> bool:
    """Tell whether processes can be forked here and now.

    Only on Linux: elsewhere system libraries do not survive it. Only while no other thread of
    Python runs: a lock that it holds would stay locked in the new process. And not in a daemon of
    `multiprocessing`, which may have no processes of its own.
    """
    alone = threading.active_count() == 1
    return sys.platform == "linux" and alone and not multiprocessing.current_process().daemon


@contextmanager
def forking() -> Iterator[None]:
    """Let processes be forked without a warning of Python 3.12, which counts libraries' threads.

    The new processes ask for none of those threads.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*fork.*", category=DeprecationWarning)
        yield


def cores() -> int:
    """Return how many processes can compute at once, each with one of the threads we may use."""
    return min(torch.get_num_threads(), num_cores() if may_fork() else 1)


def mapped(work: Callable[[T], R], items: Iterable[T], processes: int) -> Iterator[R]:
    """Yield what `work` makes of each item, in their order; several processes do it.

    Items are asked for in this process, a few more than are in work, and sent to the others, which
    have all else from the moment in which they are forked. Few items are worked on here, and so
    are all where the system refuses more processes.
    """
    items = iter(items)
    # As many as a loader asks for while it starts, so that none is lost if it cannot.
    first = list(islice(items, 2 * processes))
    if processes > 1 and len(first) == 2 * processes:
        results = _started(work, chain(first, items), processes)
        if results is not None:
            yield from results
            return
    yield from map(work, chain(first, items))


def _started(work: Callable[[T], R], items: Iterator[T], processes: int) -> Iterator[R] | None:
    """Start the processes; None where the system has no semaphores, memory or descriptors left."""
    loader = DataLoader(
        _Worked(work),
        sampler=items,  # a loader sends what a sampler says; elsewhere these are row numbers
        batch_size=None,
        collate_fn=_as_it_is,
        num_workers=processes,
        multiprocessing_context="fork",
        generator=torch.Generator(),  # of its own: the global one is what a run repeats by
    )
    children = multiprocessing.active_children()
    with _finalizers_unheard(), forking():
        try:
            return iter(loader)
        except OSError:
            pass  # here the error ends, and with it the last reference to what has not started
        gc.collect()
    for child in multiprocessing.active_children():
        if child not in children:
            child.kill()
            child.join()
    return None


@contextmanager
def _finalizers_unheard() -> Iterator[None]:
    """Ignore errors of finalizers: a loader that has not started raises one when it is deleted."""
    hook = sys.unraisablehook
    sys.unraisablehook = lambda unraisable: None
    try:
        yield
    finally:
        sys.unraisablehook = hook


@contextmanager
def ending_is_named() -> Iterator[None]:
    """Say in one sentence that a process of `mapped` was ended, wherever PyTorch notices it."""
    try:
        yield
    except RuntimeError as error:
        if "DataLoader worker" not in str(error):
            raise
        raise HeadwayError(
            "A process that worked beside this one was ended, perhaps because memory did not "
            "suffice.",
            "Allow fewer threads, for example with OMP_NUM_THREADS=1, or give more memory.",
        ) from error


class _Worked(Dataset[R], Generic[T, R]):
    """What a loader takes for data of which each index is an item."""

    def __init__(self, work: Callable[[T], R]) -> None:
        self.work = work

    def __getitem__(self, index: Any) -> R:
        return self.work(cast("T", index))


def _as_it_is(result: R) -> R:
    return result


def trim_heap() -> None:
    """Return the free parts of the heap to the system, which glibc alone has to be told."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
