"""Messages that cannot be written are dropped, whatever the reason, and end nothing."""

import errno
import io
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO, cast

import pytest

from headway.cli.app import _explain
from headway.data.store import writing_to
from headway.errors import HeadwayError, RunError
from headway.messages import Messages, message_console, unfailing_messages
from headway.progress import progress
from headway.runtime.atomic_files import writing
from headway.training.reporting import Reporter
from headway.training.tensorboard import _writing


def _keep_encoded(folder: Path, error: OSError) -> None:
    with writing_to(folder / "pairs"):
        raise error


def _keep_events(folder: Path, error: OSError) -> None:
    with _writing(folder):
        raise error


class Failing(io.StringIO):
    """A stream that takes nothing."""

    encoding = "utf-8"

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error

    def write(self, text: str) -> int:
        raise self.error

    def flush(self) -> None:
        raise self.error


ERRORS = [
    OSError(number, os.strerror(number))
    for number in (errno.EIO, errno.ENOSPC, errno.EPIPE, errno.EFBIG, errno.EDQUOT)
] + [ValueError("I/O operation on closed file."), UnicodeEncodeError("ascii", "é", 0, 1, "no")]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: str(error)[:30])
def test_print_goes_on(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    failing = Failing(error)
    monkeypatch.setattr(sys, "stderr", failing)
    with unfailing_messages():
        print("Note: one", file=sys.stderr, flush=True)
        sys.stderr.writelines(["two"])
        message_console().print("three")
    assert sys.stderr is failing


def test_what_can_be_written_is() -> None:
    stream = io.StringIO()
    messages = Messages(stream)
    print("Note: 저는", file=cast(TextIO, messages), flush=True)
    assert stream.getvalue() == "Note: 저는\n"
    assert not messages.isatty()
    assert messages.closed is False


def test_no_stream_at_all_is_no_obstacle() -> None:
    messages = Messages(None)
    assert messages.write("text") == 4
    messages.flush()
    assert not messages.isatty()


def test_other_faults_are_not_hidden() -> None:
    with pytest.raises(TypeError):
        Messages(io.StringIO()).write(b"bytes")  # pyright: ignore[reportArgumentType]


@pytest.fixture
def closed_terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[TextIO]:
    """Make standard error a terminal whose window was closed."""
    window, terminal = os.openpty()
    stream = open(terminal, "w", encoding="utf-8", buffering=1)  # noqa: SIM115
    assert stream.isatty()
    monkeypatch.setattr(sys, "stderr", stream)
    os.close(window)
    with pytest.raises(OSError, match="Input/output error"):
        stream.write("this terminal is gone\n")
    yield stream
    with pytest.raises(OSError, match="Input/output error"):
        stream.close()


@pytest.mark.usefixtures("closed_terminal")
def test_a_run_goes_on_without_its_terminal(tmp_path: Path) -> None:
    reporter = Reporter()
    reporter.start(tmp_path / "metrics.jsonl", 0, 10)
    reporter.say("a message")
    with reporter.preparing("text") as show:
        show(3)
    reporter.diagnosis(2, "spike", "a diagnosis")
    reporter.stop()
    with progress("Translation", 10) as advance:
        advance(10)
    assert (tmp_path / "metrics.jsonl").read_text().count("\n") == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is full")
def test_a_full_log_costs_neither_lines_nor_the_status() -> None:
    program = """
import sys
from headway.messages import unfailing_messages

with unfailing_messages():
    for number in range(2000):
        print("Note: a line of some length", number, file=sys.stderr)
print("the result")
"""
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [sys.executable, "-c", program], stderr=full, stdout=subprocess.PIPE, check=False
        )
    assert (ended.returncode, ended.stdout) == (0, b"the result\n")


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.EFBIG, "Raise the limit on the size of a file (`ulimit -f`) and run it again."),
        (errno.ENOSPC, "Free some space and run it again."),
        (errno.EIO, "Check the disk, or the terminal, and run it again."),
    ],
)
def test_standard_output_that_takes_no_more_is_no_fault_of_ours(
    capsys: pytest.CaptureFixture[str], number: int, remedy: str
) -> None:
    assert _explain(OSError(number, os.strerror(number))) == 1
    assert capsys.readouterr().err.endswith(f"({os.strerror(number)}). {remedy}\n")


@pytest.mark.parametrize("keep", [_keep_encoded, _keep_events], ids=["text", "events"])
def test_other_writers_have_that_remedy_too(tmp_path: Path, keep: Any) -> None:
    with pytest.raises(HeadwayError, match=r"File too large.*Raise the limit on the size"):
        keep(tmp_path, OSError(errno.EFBIG, os.strerror(errno.EFBIG)))


def test_a_limit_on_the_size_of_files_has_a_remedy_of_its_own() -> None:
    with (
        pytest.raises(RunError, match=r"Raise the limit.*`ulimit -f`\), then go on"),
        writing("x", RunError, "Free some space, then go on."),
    ):
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
