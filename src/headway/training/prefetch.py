"""Prepare the next items in a thread, while a GPU or other code works."""

from collections import deque
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def ahead(items: Iterator[T], count: int) -> Generator[T]:
    """Yield the same items in the same order, while a thread prepares the next `count`.

    An exception of an item is raised in its place. Closing the generator ends the thread.
    """
    end = object()
    pool = ThreadPoolExecutor(max_workers=1)
    try:
        coming = deque(pool.submit(next, items, end) for _ in range(count))
        while (item := coming.popleft().result()) is not end:
            coming.append(pool.submit(next, items, end))
            yield item  # type: ignore[misc]
    finally:
        pool.shutdown(cancel_futures=True)
