"""Workers, threads or forked processes, give what one gives; what goes wrong in one is told."""

import itertools
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import pytest
import torch

from headway.decoding import workers
from headway.decoding.build_engine import build_engine
from headway.decoding.build_search import build_search
from headway.decoding.options import SearchOptions
from headway.decoding.request import Request
from headway.decoding.workers import run_in_parallel, search_with_workers
from headway.errors import DataError, HeadwayError
from headway.model.transformer import Transformer
from headway.runtime import forking

KINDS = ["threads", pytest.param("processes", marks=pytest.mark.skipif(
    sys.platform != "linux", reason="processes are forked on Linux only"
))]  # fmt: skip


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    # Tests may run beside a thread of the test runner, which does nothing meanwhile.
    monkeypatch.setattr(workers, "may_fork", lambda: request.param == "processes")
    return request.param


def doubled(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    for number in numbers:
        yield number, 2 * number


@pytest.mark.parametrize("count", [0, 1, 5, 100])
def test_each_item_is_worked_on_once(kind: str, count: int) -> None:
    found = list(run_in_parallel(doubled, range(count), 3))

    assert sorted(found) == [(number, 2 * number) for number in range(count)]


def test_nobody_is_started_for_no_requests(
    tiny: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forks(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(workers, "run_in_parallel", forks)
    monkeypatch.setattr(workers, "acquire_pool", forks)
    engine = build_engine(tiny)
    workers._used.add(engine)
    search = partial(build_search, SearchOptions(1))
    assert not list(search_with_workers(engine, search, [], workers=2, slots=5, lasting=True))


def test_a_worker_has_no_more_slots_than_its_share(
    tiny: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def noted(engine: object, search: object, mine: Iterable[Any], *, slots: int, **_: Any) -> Any:
        seen.append((len(list(mine)), slots))
        return iter(())

    monkeypatch.setattr(workers, "run_search", noted)
    monkeypatch.setattr(workers, "may_fork", lambda: False)
    engine, search = build_engine(tiny), partial(build_search, SearchOptions(1))
    requests = [(number, Request([5, 3], 2)) for number in range(28)]
    list(search_with_workers(engine, search, requests, workers=4, slots=20))
    assert seen[0] == (16, 16)
    assert {slots for _, slots in seen[1:]} == {3}
    assert sum(count for count, _ in seen) == 28


def test_workers_are_what_they_are_said_to_be(kind: str) -> None:
    def where(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
        for _ in numbers:
            yield os.getpid(), torch.get_num_threads()

    found = set(run_in_parallel(where, range(40), 2))

    assert ({pid for pid, _ in found} == {os.getpid()}) == (kind == "threads")
    assert {threads for _, threads in found} == {1}


@torch.inference_mode()
def test_two_workers_find_what_one_finds(kind: str, tiny: Transformer) -> None:
    engine = build_engine(tiny)
    requests = [
        Request([4 + (i * j) % 17 for j in range(1, 3 + i % 7)] + [3], 9) for i in range(40)
    ]

    def found(count: int) -> dict[int, object]:
        options = SearchOptions(2, n_best=2)
        return dict(
            search_with_workers(
                engine, lambda: build_search(options), enumerate(requests), workers=count, slots=5
            )
        )

    one, two = found(1), found(2)

    assert one.keys() == two.keys()
    for number, hypotheses in one.items():
        for mine, other in zip(hypotheses, two[number], strict=True):  # type: ignore[call-overload]
            assert mine.ids == other.ids
            assert mine.score == pytest.approx(other.score, abs=1e-5)


def test_an_error_in_a_worker_is_raised(kind: str) -> None:
    def fails(numbers: Iterable[int]) -> Iterator[int]:
        for number in numbers:
            if number == 7:
                raise DataError("Line 7 is odd.", "Mend it.")
            yield number

    with pytest.raises(DataError, match=r"Line 7 is odd\. Mend it\.") as caught:
        list(run_in_parallel(fails, range(20), 2))
    assert caught.value.remedy == "Mend it."


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux only")
def test_an_error_that_cannot_be_sent_is_told_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    class OddError(Exception):  # of a function, and so cannot be pickled
        pass

    def fails(numbers: Iterable[int]) -> Iterator[int]:
        for number in numbers:
            raise OddError("odd")
            yield number

    monkeypatch.setattr(workers, "may_fork", lambda: True)
    with pytest.raises(HeadwayError, match=r"A worker process failed: .*OddError\('odd'\)"):
        list(run_in_parallel(fails, range(4), 2))


def test_whoever_stops_early_leaves_nothing_behind(kind: str) -> None:
    threads, running = torch.get_num_threads(), threading.active_count()
    before = multiprocessing.active_children()
    results = run_in_parallel(doubled, iter(range(10_000)), 2)
    next(results)
    assert (len(multiprocessing.active_children()) > len(before)) == (kind == "processes")
    results.close()

    assert torch.get_num_threads() == threads
    assert threading.active_count() == running
    assert set(multiprocessing.active_children()) == set(before)


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux only")
def test_a_worker_that_is_killed_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    def dies(numbers: Iterable[int]) -> Iterator[int]:
        for number in numbers:
            if number == 5:
                os.kill(os.getpid(), signal.SIGKILL)
            yield number

    monkeypatch.setattr(workers, "may_fork", lambda: True)
    with pytest.raises(HeadwayError, match=r"worker process ended \(exit status -9\)"):
        list(run_in_parallel(dies, range(50), 2))


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux only")
def test_workers_end_whatever_the_caller_does_with_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(numbers: Iterable[int]) -> Iterator[int]:
        yield from numbers
        yield from itertools.repeat(0)

    monkeypatch.setattr(workers, "may_fork", lambda: True)
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        results = run_in_parallel(endless, range(50), 2)
        next(results)
        closing = threading.Thread(target=results.close, daemon=True)
        closing.start()
        closing.join(timeout=30)
        assert not closing.is_alive()
    finally:
        signal.signal(signal.SIGTERM, before)
        for child in multiprocessing.active_children():
            child.kill()


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux only")
@pytest.mark.parametrize("allowed", [0, 1])
def test_where_the_system_refuses_processes_those_there_are_or_threads_do_the_work(
    monkeypatch: pytest.MonkeyPatch, allowed: int
) -> None:
    asked = itertools.count()
    fork = forking.fork

    def limited(*given: Any) -> Any:
        if next(asked) >= allowed:
            raise BlockingIOError("no more processes")
        return fork(*given)

    monkeypatch.setattr(workers, "may_fork", lambda: True)
    monkeypatch.setattr(forking, "fork", limited)
    found = list(run_in_parallel(doubled, range(50), 3))

    assert sorted(found) == [(number, 2 * number) for number in range(50)]
    assert next(asked) == allowed + 1


KILLED = """
import os, signal, sys, threading
from headway.decoding.workers import run_in_parallel

def endless(numbers):
    for number in numbers:
        while True:
            yield os.getpid(), b"x" * 10_000

pids = set()
for pid, _ in run_in_parallel(endless, range(2), 2):
    pids.add(pid)
    if len(pids) == 2:
        print(*pids, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux only")
def test_workers_do_not_outlive_a_parent_that_was_killed() -> None:
    # Their standard output is its own, which this waits for the end of.
    done = subprocess.run(
        [sys.executable, "-c", KILLED], capture_output=True, text=True, timeout=120
    )

    assert done.returncode == -signal.SIGKILL
    assert len(done.stdout.split()) == 2
