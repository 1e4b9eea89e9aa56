"""Event files hold what metrics.jsonl holds, each step once."""

import json
import sys
from pathlib import Path

import pytest

from headway.errors import MissingExtraError, RunError
from headway.training.reporting import Reporter
from headway.training.tensorboard import EventFiles, require_tensorboard
from headway.training.update import StepResult

pytest.importorskip("tensorboard")

Scalars = dict[str, list[tuple[int, float]]]


def read(folder: Path) -> Scalars:
    """Return what TensorBoard itself would draw."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    events.Reload()
    return {
        name: [(event.step, pytest.approx(event.value, rel=1e-6)) for event in events.Scalars(name)]
        for name in events.Tags()["scalars"]
    }


def record(reporter: Reporter, step: int, loss: float) -> None:
    reporter.record_step(step, 0, loss, StepResult(loss, 9, 1.5, 0.01 / step))


def validate(reporter: Reporter, step: int, loss: float) -> None:
    values = {"loss": loss, "perplexity": 2 * loss, "scores": {"bleu": 40.5, "exact": 0.25}}
    reporter.validation(
        {"step": step, "epoch": 1, **values, "seconds": 1.0, "best": True, "samples": []}
    )


def test_every_record_is_a_scalar_of_its_step(tmp_path: Path) -> None:
    reporter = Reporter(quiet=True)
    reporter.start(tmp_path / "metrics.jsonl", 0, 9)
    reporter.write_events(tmp_path / "tensorboard", 0)

    record(reporter, 2, 3.5)
    record(reporter, 4, 3.25)
    validate(reporter, 4, 3.125)
    reporter.stop()

    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    *steps, validation = (json.loads(line) for line in lines)
    keys = ("loss", "rate", "gradient_norm", "target_tokens_per_second")
    expected: Scalars = {f"train/{key}": [(r["step"], r[key]) for r in steps] for key in keys}
    expected |= {f"validation/{key}": [(4, validation[key])] for key in ("loss", "perplexity")}
    expected |= {f"validation/{key}": [(4, v)] for key, v in validation["scores"].items()}
    assert read(tmp_path / "tensorboard") == expected


def test_repeated_steps_appear_once(tmp_path: Path) -> None:
    for begun, steps in ((0, (2, 4, 6)), (4, (6, 8))):
        reporter = Reporter(quiet=True)
        reporter.start(tmp_path / "metrics.jsonl", begun, 9)
        reporter.write_events(tmp_path / "tensorboard", begun)
        for step in steps:
            record(reporter, step, step + begun / 8)
        reporter.stop()

    assert len(list((tmp_path / "tensorboard").iterdir())) == 2
    found = read(tmp_path / "tensorboard")["train/loss"]
    assert found == [(2, 2.0), (4, 4.0), (6, 6.5), (8, 8.5)]


def test_what_is_recorded_can_be_read_at_once(tmp_path: Path) -> None:
    reporter = Reporter(quiet=True)
    reporter.start(tmp_path / "metrics.jsonl", 0, 9)
    reporter.write_events(tmp_path / "tensorboard", 0)

    record(reporter, 3, 1.5)

    assert read(tmp_path / "tensorboard")["train/loss"] == [(3, 1.5)]
    reporter.stop()
    reporter.stop()  # twice does no harm


def test_a_folder_that_cannot_be_written_is_a_run_error(tmp_path: Path) -> None:
    (tmp_path / "tensorboard").write_text("a file")

    with pytest.raises(RunError, match="tensorboard cannot be written"):
        EventFiles(tmp_path / "tensorboard", 0)


def test_what_another_library_finds_wrong_with_the_folder_is_a_run_error_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class OwnError(Exception):
        pass

    def refuse(*_: object, **__: object) -> None:
        raise OwnError("it is not a directory")

    events = EventFiles(tmp_path / "tensorboard", 0)
    monkeypatch.setattr(events._writer, "add_scalar", refuse)

    with pytest.raises(RunError, match=r"tensorboard cannot be written \(it is not a directory\)"):
        events.validation({"step": 1, "loss": 1.5, "perplexity": 3.0, "scores": {}})
    events.close()


def test_without_tensorboard_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)

    with pytest.raises(MissingExtraError, match=r"pip install 'headway\[tensorboard\]'"):
        require_tensorboard()
