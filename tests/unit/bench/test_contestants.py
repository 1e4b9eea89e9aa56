"""Processes take turns; what goes wrong in one is said in the other."""

import atexit
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from headway.bench import contestants
from headway.bench.contestants import Contestant, in_turns, take_turns
from headway.errors import MissingExtraError, RunError


def sleeper(seconds: float) -> Callable[[], object]:
    return lambda: time.sleep(seconds)


def without_its_extra() -> Callable[[], object]:
    raise MissingExtraError("It is not installed.", "Install it.")


def killed() -> Callable[[], object]:
    return lambda: os._exit(9)


def growing() -> Callable[[], object]:
    """Return work that takes longer each time: 0, 0, then 50 ms more every time."""
    calls = []

    def work() -> None:
        calls.append(None)
        time.sleep(max(len(calls) - 2, 0) * 0.05)

    return work


def test_the_median_of_the_turns_counts_and_warming_up_does_not() -> None:
    with Contestant(growing) as one, Contestant(sleeper, 0.01) as other:
        seconds = take_turns({"one": one, "other": other}, rounds=3)
    assert list(seconds) == ["one", "other"]
    assert seconds["one"] >= 0.1  # of 50, 100 and 150 ms: sleeping never ends early
    assert seconds["other"] >= 0.01


class Sleepy:
    """Takes longer the longer ago it was done."""

    def __init__(self) -> None:
        self.rested = 1

    def __call__(self) -> int:
        time.sleep(0.2 * self.rested)
        self.rested, before = 0, self.rested
        return before

    def rest(self) -> None:
        self.rested = 1


def test_who_makes_room_for_the_others_is_awake_before_time_is_taken() -> None:
    with Contestant(Sleepy) as one:
        assert one.seconds() < 0.2
        assert one.seconds() < 0.2
        assert one.result() == 0


def test_an_error_of_the_process_arrives() -> None:
    one = Contestant(without_its_extra)
    with pytest.raises(MissingExtraError, match=r"It is not installed\. Install it\."):
        one.wait()
    one._process.join(timeout=30)
    assert one._process.exitcode is not None


def killed_while_preparing() -> Callable[[], object]:
    os._exit(9)


@pytest.mark.parametrize("prepare", [killed, killed_while_preparing])
def test_a_process_that_dies_is_noticed(prepare: Callable[..., Callable[[], object]]) -> None:
    with pytest.raises(RunError, match="has died"), Contestant(prepare):
        pass


def met(here: str, there: str) -> Callable[[], object]:
    """Prepare by leaving a file here and waiting for one there."""
    Path(here).touch()
    end = time.monotonic() + 30
    while not Path(there).exists():
        assert time.monotonic() < end
        time.sleep(0.01)
    return lambda: None


def test_processes_prepare_side_by_side(tmp_path: Path) -> None:
    names = str(tmp_path / "one"), str(tmp_path / "other")
    both = [Contestant(met, *names), Contestant(met, *names[::-1])]
    for each in both:
        each.wait()
        each.close()


def holding(left: str) -> Callable[[], object]:
    """Prepare what must be given back at the end."""
    atexit.register(Path(left).touch)
    return lambda: None


def test_a_process_without_work_ends_by_itself(tmp_path: Path) -> None:
    with Contestant(holding, str(tmp_path / "left")) as one:
        pass
    assert (tmp_path / "left").exists()
    assert one._process.exitcode == 0


def test_a_process_that_is_not_done_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contestants, "_PATIENCE", 0.1)
    one = Contestant(sleeper, 600.0)
    one.close()
    assert one._process.exitcode == -signal.SIGTERM


def adder(first: int) -> Callable[[int], int]:
    return lambda second: first + second


def test_what_came_of_the_work_is_brought_when_asked_for() -> None:
    with Contestant(adder, 2, warm_up=0) as one:
        assert [one.result(3), one.result(4)] == [5, 6]


def test_each_turn_calls_everybody_once() -> None:
    called: list[str] = []

    def call(name: str) -> Callable[[], int]:
        return lambda: called.append(name) or len(called)

    assert in_turns({"a": call("a"), "b": call("b")}, 2) == {"a": [1, 3], "b": [2, 4]}
    assert called == ["a", "b", "a", "b"]
