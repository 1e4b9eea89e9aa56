"""The line of units: nothing is lost, and clients and kinds take turns."""

from collections import Counter
from queue import SimpleQueue
from threading import Thread
from time import sleep
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headway.decoding.options import SearchOptions
from headway.decoding.request import Request
from headway.service.engine.texts import Text, Unit
from headway.service.engine.waiting import WaitingLine
from headway.service.engine.wishes import Kind

KINDS = [Kind(SearchOptions(size), False, False, None) for size in (1, 2)]


def _units(job: int, count: int, kind: int = 0, pieces: int = 4) -> list[Unit]:
    text = Text(job, "", "", [], [], KINDS[kind].options, False, lambda found: None)
    return [Unit(text, n, Request(range(pieces), 9), KINDS[kind]) for n in range(count)]


def _clients(line: WaitingLine, most: int) -> list[int]:
    kind = line.next_kind()
    assert kind is not None
    return [unit.text.job for unit in line.take(kind, most, 10**9)]


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(1, 5), st.integers(0, 1)), max_size=12),
    st.integers(1, 4),
    st.integers(1, 40),
)
def test_every_unit_is_taken_once_and_a_clients_units_keep_their_order(
    added: list[tuple[int, int, int]], most: int, pieces: int
) -> None:
    line = WaitingLine()
    expected: dict[tuple[int, Kind], list[Unit]] = {}
    for client, count, kind in added:
        units = _units(client, count, kind)
        expected.setdefault((client, KINDS[kind]), []).extend(units)
        line.add(str(client), units)
    line.close()
    taken: dict[Any, list[Unit]] = {}
    while (kind := line.next_kind()) is not None:
        units = line.take(kind, most, pieces)
        assert 1 <= len(units) <= most
        assert len(units) == 1 or sum(unit.pieces for unit in units) <= pieces
        for unit in units:
            assert unit.kind == kind
            taken.setdefault((unit.text.job, kind), []).append(unit)
    assert taken == expected
    assert len(line) == 0


@given(st.integers(1, 200), st.integers(1, 20))
def test_a_client_with_many_sentences_delays_another_by_one_place(many: int, most: int) -> None:
    line = WaitingLine()
    line.add("many", _units(1, many))
    line.add("one", _units(2, 1))
    order: list[int] = []
    while len(line):
        order += _clients(line, most)
    assert order.index(2) <= 1
    assert Counter(order) == {1: many, 2: 1}


def test_kinds_take_turns() -> None:
    line = WaitingLine()
    line.add("a", _units(1, 3, kind=0))
    line.add("b", _units(2, 3, kind=1))
    assert [_clients(line, 1) for _ in range(4)] == [[1], [2], [1], [2]]
    assert line.others_wait(KINDS[0])


def test_dropped_jobs_leave_the_line() -> None:
    line = WaitingLine()
    calls: list[int] = []
    line.arrived = lambda: calls.append(len(line))
    line.add("a", _units(1, 3))
    line.add("b", _units(2, 2))
    line.drop(1)
    assert (len(line), calls) == (2, [3, 5])
    line.drop(2)
    line.close()
    assert line.next_kind() is None


def test_an_idle_worker_leaves_units_for_the_other_idle_one() -> None:
    line = WaitingLine()
    line.add("a", _units(1, 10))
    kinds = [line.next_kind(), line.next_kind()]  # two workers have seen the units
    assert kinds[0] is not None
    assert len(line.take(kinds[0], 64, 10**9, first=True)) == 5
    assert len(line.take(kinds[0], 64, 10**9, first=True)) == 5


def test_the_worker_that_began_to_wait_last_wakes_first() -> None:
    line = WaitingLine()
    woken: SimpleQueue[int] = SimpleQueue()

    def work(number: int) -> None:
        while line.next_kind() is not None:
            woken.put(number)
            line.take(KINDS[0], 1, 10**9, first=True)

    threads = [Thread(target=work, args=(number,)) for number in range(3)]
    for idle, thread in enumerate(threads, 1):
        thread.start()
        while not line.only_works(idle + 1):  # until so many wait
            sleep(0.001)
    for job in range(3):
        line.add("a", _units(job, 1))
        assert woken.get(timeout=10) == 2
        while not line.only_works(4):
            sleep(0.001)
    line.close()
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()
