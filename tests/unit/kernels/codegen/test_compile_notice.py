"""Who waits for loops to be compiled is told so, once."""

from collections.abc import Iterator
from itertools import accumulate

import pytest

from headway.kernels.codegen import compile_notice
from headway.kernels.codegen.compile_notice import CompilingTime, tell_of_compiling


@pytest.fixture
def told() -> Iterator[list[str]]:
    messages: list[str] = []
    tell_of_compiling(messages.append)
    yield messages
    tell_of_compiling(None)


def at(monkeypatch: pytest.MonkeyPatch, *gaps: float) -> None:
    """Let so many seconds lie before each look at the clock."""
    times = accumulate(gaps, initial=100.0)
    monkeypatch.setattr(compile_notice, "monotonic", lambda: next(times))


def test_a_moment_is_not_worth_a_word(monkeypatch: pytest.MonkeyPatch, told: list[str]) -> None:
    at(monkeypatch, 0.5, 60.0, 0.4, 60.0)  # twice, and what lies between is not counted
    time_spent = CompilingTime()
    for _ in range(2):
        time_spent.begin()
        time_spent.end()
    time_spent.begin()

    assert time_spent.taken == pytest.approx(0.9)
    assert told == []


def test_more_than_that_is_said_once(monkeypatch: pytest.MonkeyPatch, told: list[str]) -> None:
    at(monkeypatch, 0.7, 0.5, 3.0, 3.0, 3.0)
    time_spent = CompilingTime()
    time_spent.begin()  # at 0
    time_spent.begin()  # one inside it, at 0.7
    assert told == []
    time_spent.begin()  # another one, at 1.2
    assert len(told) == 1
    time_spent.end()
    time_spent.end()
    time_spent.end()
    time_spent.begin()

    assert len(told) == 1
    assert "Compiling kernels for this processor" in told[0]


def test_nobody_is_told_unless_asked(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    at(monkeypatch, 50.0, 50.0)
    time_spent = CompilingTime()
    time_spent.begin()
    time_spent.begin()

    assert time_spent.depth == 2
    assert capfd.readouterr() == ("", "")


def test_what_numba_compiles_is_heard_of(told: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    numba = pytest.importorskip("numba")
    pytest.importorskip("headway.kernels.codegen.numba_compiler")
    monkeypatch.setattr(compile_notice, "_MOMENT", -1.0)

    @numba.njit
    def twice(x: float) -> float:
        return 2 * x

    assert twice(1.5) == 3.0
    assert len(told) == 1
    assert twice(2.5) == 5.0
    assert len(told) == 1
