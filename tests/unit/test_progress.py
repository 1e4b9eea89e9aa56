"""Progress: a bar on a terminal, a line a minute elsewhere, a sentence at Ctrl-C."""

import errno
import io
from collections.abc import Callable
from typing import Any

import pytest
from rich.console import Console

import headway.progress
from headway.progress import progress

Clock = Callable[[float], None]


class FullDisk(io.StringIO):
    """A standard error that goes to a full disk."""

    def write(self, text: str) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Return a function that lets time pass; else none passes."""
    now = [1000.0]
    monkeypatch.setattr(headway.progress.time, "monotonic", lambda: now[0])

    def wait(seconds: float) -> None:
        now[0] += seconds

    return wait


def test_in_a_log_there_is_one_line_a_minute(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress("Translation", 1000) as advance:
        advance(100)
        clock(59.0)
        advance(100)
        assert capsys.readouterr().err == ""
        clock(1.0)
        advance(50)
        clock(59.9)
        advance(50)
        clock(0.1)
        advance(200)

    assert capsys.readouterr().err.splitlines() == [
        "Translation: 250 of 1,000 sentences, about 3.0 minutes left.",
        "Translation: 500 of 1,000 sentences, about 2.0 minutes left.",
    ]


def test_the_first_units_tell_no_time(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    with progress("Translation", 20) as advance:
        clock(60.0)
        advance(9)
        clock(60.0)
        advance(1)

    assert capsys.readouterr().err.splitlines() == [
        "Translation: 9 of 20 sentences.",
        "Translation: 10 of 20 sentences, about 2.0 minutes left.",
    ]


def test_a_terminal_shows_how_many_are_done_of_how_many(clock: Clock) -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=80)

    with progress("Translation", 1234, console=console) as advance:
        clock(10.0)
        advance(617)
        assert "617 of 1,234 sentences" in screen.getvalue()
        drawn = len(screen.getvalue())
        advance(1)  # at once again: not worth drawing
        assert len(screen.getvalue()) == drawn


def interrupted(done: int, total: int, **options: Any) -> None:
    with progress("Translation", total, **options) as advance:
        advance(done)
        raise KeyboardInterrupt


@pytest.mark.parametrize("terminal", [True, False])
def test_quiet_says_nothing(terminal: bool) -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=terminal, quiet=True)

    with pytest.raises(KeyboardInterrupt):
        interrupted(5, 9, console=console)

    assert screen.getvalue() == ""


def test_ctrl_c_says_how_much_was_done(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt) as stopped:
        interrupted(1500, 2000, stopped="No file was written.")

    expected = "Stopped after 1,500 of 2,000 sentences. No file was written."
    assert stopped.value.__notes__ == [expected]
    assert capsys.readouterr().err == ""  # the command line says it


def test_an_error_stays_what_it_is_and_is_not_told_twice(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(ValueError, match="its own"), progress("Translation", 2):
        raise ValueError("its own")

    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("terminal", [True, False])
def test_a_standard_error_on_a_full_disk_ends_no_work(clock: Clock, terminal: bool) -> None:
    console = Console(file=FullDisk(), force_terminal=terminal)
    done = 0

    with progress("Translation", 3, console=console) as advance:
        for _ in range(3):
            clock(61.0)
            advance(1)
            done += 1

    assert done == 3
