"""Several workers find what one finds; errors in a worker reach the caller."""

import math
import threading
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headway.decoding import workers
from headway.decoding.build_engine import EngineName, build_engine
from headway.decoding.build_search import build_batch
from headway.decoding.engine import Batch
from headway.decoding.options import SearchOptions
from headway.decoding.request import Request
from headway.decoding.workers import even_slots, run_in_parallel, search_with_workers
from headway.errors import DataError
from headway.model.transformer import Transformer
from headway.runtime.openmp import parallel_region


def doubled(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    for number in numbers:
        yield number, 2 * number


@pytest.mark.parametrize("count", [0, 1, 5, 100])
def test_each_item_is_worked_on_once(count: int) -> None:
    results = list(run_in_parallel(doubled, range(count), 3))

    assert sorted(results) == [(number, 2 * number) for number in range(count)]


def test_no_batch_is_made_for_no_requests() -> None:
    def refuses(slots: int) -> Batch:
        raise AssertionError

    assert not list(search_with_workers(refuses, [], workers=2, slots=5))


def test_a_worker_has_no_more_slots_than_its_share(
    tiny: Transformer, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def noted(batch: object, shared: Iterable[Any], *, slots: int, **_: Any) -> Iterator[Any]:
        seen.append((len(list(shared)), slots))
        return iter(())

    monkeypatch.setattr(workers, "run_search", noted)
    make_batch = partial(build_batch, build_engine(tiny), SearchOptions(1))
    requests = [(number, Request([5, 3], 2)) for number in range(12)]
    list(search_with_workers(make_batch, requests, workers=4, slots=20))
    assert {slots for _, slots in seen} == {3}
    assert sum(count for count, _ in seen) == 12


@given(requests=st.integers(1, 999), workers=st.integers(2, 9), most=st.integers(1, 128))
def test_full_batches_give_each_worker_as_many(requests: int, workers: int, most: int) -> None:
    slots = even_slots(requests, workers, most)

    rounds = math.ceil(requests / (workers * most))  # of the largest batches
    assert math.ceil(requests / (workers * slots)) == rounds
    assert slots == min(s for s in range(1, most + 1) if workers * s * rounds >= requests)


def test_one_worker_has_the_most_slots_or_one_for_each_request() -> None:
    assert even_slots(300, 1, 128) == 128
    assert even_slots(7, 1, 128) == 7


def test_each_worker_computes_with_one_thread_and_without_gradients() -> None:
    together = threading.Barrier(2)

    def describe(numbers: Iterable[int]) -> Iterator[tuple[int, int, bool]]:
        together.wait(timeout=30)  # so that neither takes all numbers
        for _ in numbers:
            inference = torch.is_inference_mode_enabled()
            yield threading.get_ident(), torch.get_num_threads(), inference

    before = torch.get_num_threads()
    results = set(run_in_parallel(describe, range(2000), 2))

    assert threading.get_ident() not in {identity for identity, *_ in results}
    assert {(threads, inference) for _, threads, inference in results} == {(1, True)}
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("engine", ["packed", "reference"])
@torch.inference_mode()
def test_several_workers_find_what_one_finds(engine: EngineName, tiny: Transformer) -> None:
    requests = [
        Request([4 + (i * j) % 17 for j in range(1, 3 + i % 7)] + [3], 9) for i in range(40)
    ]
    make_batch = partial(build_batch, build_engine(tiny, engine), SearchOptions(2, n_best=2))

    one, three = (
        dict(search_with_workers(make_batch, enumerate(requests), workers=count, slots=5))
        for count in (1, 3)
    )

    assert one.keys() == three.keys()
    for number, hypotheses in one.items():
        for single, parallel in zip(hypotheses, three[number], strict=True):
            assert single.ids == parallel.ids
            assert single.score == pytest.approx(parallel.score, abs=1e-5)


def test_an_error_in_a_worker_is_raised_and_the_others_stop() -> None:
    running = threading.active_count()

    def fails(numbers: Iterable[int]) -> Iterator[int]:
        for number in numbers:
            if number == 7:
                raise DataError("Line 7 is odd.", "Mend it.")
            yield number

    with pytest.raises(DataError, match=r"Line 7 is odd\. Mend it\.") as caught:
        list(run_in_parallel(fails, range(10_000_000), 2))
    assert caught.value.remedy == "Mend it."
    assert threading.active_count() == running


def test_a_caller_that_stops_early_leaves_no_thread() -> None:
    threads, running = torch.get_num_threads(), threading.active_count()
    results = run_in_parallel(doubled, iter(range(10_000_000)), 2)
    next(results)
    results.close()

    assert torch.get_num_threads() == threads
    assert threading.active_count() == running


@pytest.mark.skipif(not parallel_region(), reason="PyTorch's threads are not GCC's.")
def test_other_threads_of_the_caller_keep_their_number_of_threads() -> None:
    numbers: list[int] = []

    def starts_another(items: Iterable[int]) -> Iterator[int]:
        for _ in items:
            other = threading.Thread(target=lambda: numbers.append(torch.get_num_threads()))
            other.start()
            other.join()
            yield torch.get_num_threads()

    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        assert set(run_in_parallel(starts_another, range(6), 2)) == {1}
    finally:
        torch.set_num_threads(before)
    assert set(numbers) == {3}


def test_where_a_thread_cannot_start_the_others_end(monkeypatch: pytest.MonkeyPatch) -> None:
    running, start, started = threading.active_count(), threading.Thread.start, []

    def limited(thread: threading.Thread) -> None:
        if len(started) == 2:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", limited)
    with pytest.raises(RuntimeError, match="can't start"):
        list(run_in_parallel(doubled, range(10_000_000), 3))
    assert len(started) == 2
    assert threading.active_count() == running
