"""The reporter records means over 50 updates, prints validations, and can be quiet."""

import io
import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from headway.errors import RunError
from headway.training.not_finite import TextPlace
from headway.training.reporting import Reporter
from headway.training.update import StepResult

VALIDATION = {
    "step": 1200,
    "epoch": 3,
    "loss": 1.25,
    "perplexity": 3.49,
    "scores": {"bleu": 12.25},
    "target_tokens": 9000,
    "seconds": 90.0,
    "best": True,
    "samples": [{"source": "하나 둘", "reference": "one two", "translation": "one one"}],
}


def make(terminal: bool = False, quiet: bool = False) -> tuple[Reporter, io.StringIO]:
    text = io.StringIO()
    console = Console(file=text, force_terminal=terminal, quiet=quiet, width=100)
    return Reporter(quiet, console), text


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_terminal_shows_how_much_is_prepared_without_a_thread_for_it() -> None:
    reporter, text = make(terminal=True)
    threads = threading.active_count()

    with reporter.preparing("Encoding text") as show:
        show(12_345)
        assert threading.active_count() == threads

    assert "Encoding text: 12,345 pairs" in text.getvalue()


def test_elsewhere_a_line_is_printed_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter((50, 51, 60, 60, 61, 119, 120, 120))
    monkeypatch.setattr(time, "monotonic", lambda: next(seconds))
    reporter, text = make()

    with reporter.preparing("Encoding text") as show:
        for count in (10, 20, 30, 40, 5_000):  # after 1, 10, 11, 69 and 70 seconds
            show(count)

    assert text.getvalue().splitlines() == [
        "Encoding text: 20 pairs so far.",
        "Encoding text: 5,000 pairs so far.",
    ]


def test_a_record_of_steps_has_their_mean_and_what_the_last_was_like(tmp_path: Path) -> None:
    reporter, _ = make()
    reporter.start(tmp_path / "m", 0, 200)

    for step in (49, 50):
        reporter.step(step, StepResult(1.0, 2, 1.5, 0.01))
    reporter.record_step(50, 3, 2.02, StepResult(1.0, 2, 1.5, 0.01))
    reporter.stop()

    (record,) = records(tmp_path / "m")
    assert record.pop("target_tokens_per_second") > 0
    assert record == {
        "kind": "step",
        "step": 50,
        "epoch": 3,
        "loss": 2.02,
        "rate": 0.01,
        "gradient_norm": 1.5,
    }


def test_a_validation_is_printed_and_recorded(tmp_path: Path) -> None:
    reporter, text = make()
    reporter.start(tmp_path / "m", 0, 200)

    reporter.validation(VALIDATION)

    assert records(tmp_path / "m") == [{"kind": "validation", **VALIDATION}]
    line = text.getvalue()
    for part in (
        "step 1,200",
        "loss 1.2500",
        "perplexity 3.49",
        "bleu 12.25",
        "1.5 min",
        "best loss",
    ):
        assert part in line


def test_a_validation_before_the_first_step_is_called_the_starting_model(tmp_path: Path) -> None:
    reporter, text = make()
    reporter.start(tmp_path / "m", 0, 200)

    reporter.validation(VALIDATION | {"step": 0})

    line = text.getvalue().splitlines()[0]
    assert line.startswith("step 0 ")
    assert line.endswith("the starting model")


def test_a_diagnosis_is_printed_and_recorded(tmp_path: Path) -> None:
    reporter, text = make()
    reporter.start(tmp_path / "m", 0, 200)

    reporter.diagnosis(1200, "rising loss", "The [loss] rises.")
    places = [TextPlace(1, 17), TextPlace(2, 3)]
    reporter.diagnosis(1300, "not finite", "It is not.", places=places, say=False)

    assert text.getvalue() == "step 1,200  The [loss] rises.\n"
    assert records(tmp_path / "m") == [
        {
            "kind": "diagnosis",
            "step": 1200,
            "problem": "rising loss",
            "message": "The [loss] rises.",
        },
        {
            "kind": "diagnosis",
            "step": 1300,
            "problem": "not finite",
            "message": "It is not.",
            "lines": [17, 3],
            "corpora": [1, 2],
        },
    ]


def test_quiet_prints_nothing_and_records_all(tmp_path: Path) -> None:
    reporter, text = make(terminal=True, quiet=True)
    reporter.start(tmp_path / "m", 0, 200)

    reporter.say("hello")
    reporter.step(1, StepResult(1.0, 3, 1.0, 0.1))
    reporter.validation(VALIDATION)
    reporter.stop()

    assert text.getvalue() == ""
    assert len(records(tmp_path / "m")) == 1


def test_a_terminal_has_a_bar_that_goes_away(tmp_path: Path) -> None:
    reporter, text = make(terminal=True)
    reporter.start(tmp_path / "m", 7, 200)
    for step in (8, 9):
        reporter.step(step, StepResult(1.234, 3, 1.0, 0.1))
    reporter.stop()

    assert "step 9/200" in text.getvalue()
    assert "loss 1.234" in text.getvalue()
    reporter.stop()  # twice does no harm


def test_square_brackets_are_text(tmp_path: Path) -> None:
    reporter, text = make()

    reporter.say("[red]a folder[/red]")

    assert text.getvalue() == "[red]a folder[/red]\n"


def test_a_full_disk_is_a_run_error(tmp_path: Path) -> None:
    reporter, _ = make()
    reporter.start(Path("/dev/full"), 0, 200)

    with pytest.raises(RunError, match=r"/dev/full cannot be written \(No space left on device\)"):
        reporter.validation(VALIDATION)


def test_a_validation_shows_its_samples_and_what_its_scores_mean() -> None:
    reporter, text = make()

    reporter.validation(VALIDATION)
    reporter.validation(VALIDATION | {"scores": {"bleu": 12.5}})

    lines = [line.split(maxsplit=1) for line in text.getvalue().splitlines()]
    shown = [["source", "하나 둘"], ["reference", "one two"], ["translation", "one one"]]
    assert lines[1:4] == shown
    assert lines[4][0] == "bleu"
    assert lines[6:] == shown  # what a score means is said again only where it has changed


def test_in_a_log_a_line_a_minute_has_the_mean_loss_of_the_latest_updates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    monkeypatch.setattr(time, "perf_counter", lambda: now)
    reporter, text = make()
    reporter.start(None, 0, 100)

    for step, (loss, pieces) in enumerate(((5.0, 100), (2.0, 300), (3.0, 100), (9.0, 100)), 1):
        now = 30.0 * step
        reporter.step(step, StepResult(loss, pieces, 1.0, 0.01))

    first, second = text.getvalue().splitlines()
    assert first.startswith("step 2 of 100  mean loss 2.750  ")  # (5 · 100 + 2 · 300) / 400
    assert first.endswith("about 49.0 minutes left")
    assert second.startswith("step 4 of 100  mean loss 3.833  ")
    assert "  6 target tokens/s  about" in second  # (300 + 100 + 100) / 90 s


def test_the_line_of_the_first_update_after_a_validation_leaves_the_speed_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    monkeypatch.setattr(time, "perf_counter", lambda: now)
    reporter, text = make()
    reporter.start(None, 0, 100)
    reporter.validation(VALIDATION)
    now = 60.0
    reporter.step(2, StepResult(5.0, 100, 1.0, 0.01))
    line = text.getvalue().splitlines()[-1]
    assert line == "step 2 of 100  mean loss 5.000  about 49.0 minutes left"
