"""All parts of divided work are done, once each, whatever the number of threads."""

import itertools
import threading
from collections.abc import Iterator

import pytest
import torch

from headway.loops import threads
from headway.loops.threads import divide


@pytest.fixture(params=[1, 2, 3])
def number(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.mark.parametrize("count", [1, 2, 7, 100])
def test_parts_make_up_the_whole(count: int, number: int) -> None:
    parts: list[tuple[int, int]] = []

    divide(lambda first, last: parts.append((first, last)), count)

    assert list(itertools.chain(*(range(*part) for part in sorted(parts)))) == list(range(count))
    assert len(parts) <= number


@pytest.mark.skipif(threads._library() is None, reason="PyTorch's threads are not GCC's")
def test_parts_are_done_at_the_same_time(number: int) -> None:
    together = threading.Barrier(number, timeout=60)  # breaks unless all are there at once

    divide(lambda first, last: together.wait(), number)


def test_an_error_is_raised_when_all_have_ended(number: int) -> None:
    done: list[int] = []

    def work(first: int, last: int) -> None:
        done.append(first)
        raise ZeroDivisionError(str(first))

    with pytest.raises(ZeroDivisionError):
        divide(work, 6)

    assert sorted(done) == [6 * part // number for part in range(number)]


def test_without_that_library_the_caller_does_it_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_library", lambda: None)
    parts: list[tuple[int, int]] = []

    divide(lambda first, last: parts.append((first, last)), 5)

    assert parts == [(0, 5)]
