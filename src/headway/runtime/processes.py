"""Processes: whether this one may fork, work divided among several, and freed memory."""

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
    """Call this function first in every process that is forked from this one."""
    if sys.platform != "win32":
        os.register_at_fork(after_in_child=work)


# A forked child, such as a server's worker, has none of the threads that PyTorch computes with, and
# would wait for them forever.
after_fork(lambda: torch.set_num_threads(1))


def may_fork() -> bool:
    """Return True if processes can be forked here and now.

    Only on Linux: on other systems libraries do not survive a fork. Only while no other thread of
    Python runs: a lock that it holds would stay locked in the new process. And not in a daemon of
    `multiprocessing`, which may not have child processes.
    """
    alone = threading.active_count() == 1
    return sys.platform == "linux" and alone and not multiprocessing.current_process().daemon


@contextmanager
def forking() -> Iterator[None]:
    """Suppress the warning of Python 3.12 about a fork while threads of libraries run.

    The new processes use none of those threads.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*fork.*", category=DeprecationWarning)
        yield


def has_ended(process: int) -> bool:
    """Return True if no process of this machine has this id; False if that is unknown."""
    if sys.platform == "win32":  # there, `os.kill` would end the process
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def cores() -> int:
    """Return the number of processes that can compute at once, each with one thread."""
    return min(torch.get_num_threads(), num_cores() if may_fork() else 1)


def mapped(work: Callable[[T], R], items: Iterable[T], processes: int) -> Iterator[R]:
    """Yield the result of `work` for each item, in order, computed by several processes.

    This process takes the items, a few in advance, and sends them to the other processes, which
    have a copy of everything else from the moment of the fork. If the items are few, or the system
    refuses more processes, this process does the work.
    """
    items = iter(items)
    # A loader takes this many while it starts; they are kept in case it cannot start.
    first = list(islice(items, 2 * processes))
    if processes > 1 and len(first) == 2 * processes:
        results = _started(work, chain(first, items), processes)
        if results is not None:
            yield from results
            return
    yield from map(work, chain(first, items))


def _started(work: Callable[[T], R], items: Iterator[T], processes: int) -> Iterator[R] | None:
    """Start the processes; None if the system has no semaphores, memory or descriptors left."""
    loader = DataLoader(
        _Results(work),
        sampler=items,  # a loader sends what a sampler yields, usually row numbers
        batch_size=None,
        collate_fn=_unchanged,
        num_workers=processes,
        multiprocessing_context="fork",
        generator=torch.Generator(),  # the global one must not change, so that runs can be repeated
    )
    children = multiprocessing.active_children()
    with _without_finalizer_errors(), forking():
        try:
            return iter(loader)
        except OSError:
            pass  # the error is deleted here, and with it the last reference to the loader
        gc.collect()
    for child in multiprocessing.active_children():
        if child not in children:
            child.kill()
            child.join()
    return None


@contextmanager
def _without_finalizer_errors() -> Iterator[None]:
    """Ignore errors of finalizers, because a loader that has not started raises one."""
    hook = sys.unraisablehook
    sys.unraisablehook = lambda unraisable: None
    try:
        yield
    finally:
        sys.unraisablehook = hook


@contextmanager
def ending_is_named() -> Iterator[None]:
    """Raise HeadwayError if PyTorch reports that a process of `mapped` was ended."""
    try:
        yield
    except RuntimeError as error:
        if "DataLoader worker" not in str(error):
            raise
        raise HeadwayError(
            "A worker process was ended, perhaps because there was not enough memory.",
            "Allow fewer threads, for example with OMP_NUM_THREADS=1, or give more memory.",
        ) from error


class _Results(Dataset[R], Generic[T, R]):
    """The results as a data set for a loader: an index is an item, and its row the result."""

    def __init__(self, work: Callable[[T], R]) -> None:
        self.work = work

    def __getitem__(self, index: Any) -> R:
        return self.work(cast("T", index))


def _unchanged(result: R) -> R:
    return result


def trim_heap() -> None:
    """Return the free parts of the heap to the system; only glibc needs this call."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
