"""The same items in the same order, but begun before they are asked for."""

import threading
import time
from collections.abc import Iterator

import pytest

from headway.training.prefetch import ahead


def counted(limit: int, made: list[int]) -> Iterator[int]:
    for number in range(limit):
        made.append(number)
        yield number


@pytest.mark.parametrize("count", [1, 2, 7])
@pytest.mark.parametrize("limit", [0, 1, 5])
def test_all_items_come_in_order(limit: int, count: int) -> None:
    assert list(ahead(counted(limit, []), count)) == list(range(limit))


def test_so_many_are_prepared_and_no_more() -> None:
    made: list[int] = []
    items = ahead(counted(100, made), 3)

    assert next(items) == 0
    end = time.monotonic() + 20
    while len(made) < 4 and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(0.05)

    assert made == [0, 1, 2, 3]
    items.close()


def test_an_item_is_prepared_while_another_is_at_work() -> None:
    prepared = threading.Event()

    def two() -> Iterator[int]:
        yield 1
        prepared.set()
        yield 2

    items = ahead(two(), 1)

    assert next(items) == 1
    assert prepared.wait(timeout=20)
    assert list(items) == [2]


def test_an_error_comes_where_its_item_would() -> None:
    def breaking() -> Iterator[int]:
        yield 1
        yield 2
        raise ValueError("no third")

    items = ahead(breaking(), 3)

    assert [next(items), next(items)] == [1, 2]
    with pytest.raises(ValueError, match="no third"):
        next(items)


def test_no_thread_is_left_behind() -> None:
    before = threading.active_count()
    items = ahead(counted(100, []), 2)
    next(items)
    assert threading.active_count() == before + 1

    items.close()

    assert threading.active_count() == before
