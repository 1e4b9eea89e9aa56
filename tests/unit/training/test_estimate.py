"""The estimate is that of the steps alone, and the end of the run says how far it was off."""

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from headway.config.run import RunConfig
from headway.runtime.memory import peak_memory
from headway.training import estimate as estimate_module
from headway.training.checkpoint import Progress
from headway.training.estimate import (
    StepClock,
    compare,
    comparison_in_words,
)
from headway.training.reporting import Reporter
from headway.training.run import train
from headway.training.update import StepResult, TrainingStep

MakeConfig = Callable[..., RunConfig]
CPU = torch.device("cpu")


class Clock:
    """Time that passes only when a test says so."""

    now = 100.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(estimate_module, "time", clock)
    monkeypatch.setattr(estimate_module, "peak_memory", lambda _: 2_000_000_000)
    return clock


def make_steps(
    progress: Progress,
    clock: Clock,
    seconds: list[float],
    most: int | None,
    could_record: bool = False,
) -> list:
    timer = StepClock(progress, CPU, could_record=could_record)
    said = []
    for step_seconds in seconds:
        with timer.step():
            clock.now += step_seconds
        clock.now += 1000  # a validation
        progress.step += 1
        said.append(timer.estimate(progress.step, most))
    return said


def test_the_estimate_is_of_the_steps_after_the_first_ones(clock: Clock) -> None:
    progress = Progress()

    said = make_steps(progress, clock, [50.0] * 5 + [2.0, 4.0] * 10 + [9.0] * 5, most=1025)

    assert [step for step, message in enumerate(said, 1) if message] == [25]
    assert said[24] == (
        "About 50 minutes to go for 1,000 steps at most, and 2.0 GB of memory; validation takes "
        "more of both."
    )
    assert progress.estimate == {"step_seconds": 3.0, "memory": 2_000_000_000}
    assert progress.step_seconds == 250 + 60 + 45
    assert compare(progress)["estimate"] == {
        "seconds": 3.0 * 30,
        "memory": 2_000_000_000,
        "took_seconds": 355.0,
        "preparing_seconds": 0.0,
        "took_memory": 2_000_000_000,
    }


def test_steps_that_prepare_later_ones_are_no_measure(clock: Clock) -> None:
    progress, prepared = Progress(), 0
    timer = StepClock(progress, CPU, lambda: prepared)
    said = []
    for number in range(100):
        with timer.step():
            clock.now += 2.0
            if number % 3:
                prepared += 1
                clock.now += 40.0
        progress.step += 1
        said.append(timer.estimate(progress.step, 1064))

    # Of five that are left out at first, one had prepared nothing; then it is each third.
    assert [step for step, message in enumerate(said, 1) if message] == [64]
    assert said[63] == (
        "About 33 minutes to go for 1,000 steps at most, and 2.0 GB of memory; new shapes and "
        "validation take more of both."
    )
    assert progress.estimate is not None
    assert progress.estimate["step_seconds"] == 2.0


def test_where_the_end_is_not_known_it_is_for_1000_steps(clock: Clock) -> None:
    said = make_steps(Progress(), clock, [0.05] * 25, most=None)
    assert said[-1] == (
        "1,000 steps take about 50.0 seconds, and 2.0 GB of memory; validation takes more of both."
    )


@pytest.mark.parametrize(
    ("most", "could_record", "advised"),
    [
        (25 + 301, True, True),
        (25 + 300, True, False),  # ten minutes, some of which compiling would take
        (25 + 301, False, False),
        (None, True, False),  # which may be short
    ],
)
def test_a_long_run_that_a_gpu_could_record_is_told_so(
    clock: Clock, most: int | None, could_record: bool, advised: bool
) -> None:
    said = make_steps(Progress(), clock, [2.0] * 25, most, could_record)

    assert ("training.compile=true" in said[-1]) == advised


def test_a_later_process_adds_its_steps_and_keeps_the_first_estimate(clock: Clock) -> None:
    progress = Progress()
    make_steps(progress, clock, [2.0] * 40, most=100)

    said = make_steps(progress, clock, [3.0] * 60, most=100)

    assert said == [None] * 60
    assert compare(progress)["estimate"]["seconds"] == 200.0
    assert compare(progress)["estimate"]["took_seconds"] == 80.0 + 180.0


def test_a_stop_before_the_estimate_leaves_it_to_the_next_process(clock: Clock) -> None:
    progress = Progress()
    make_steps(progress, clock, [2.0] * 12, most=100)

    said = make_steps(progress, clock, [9.0] * 5 + [3.0] * 21, most=100)

    assert [step for step, message in enumerate(said, 13) if message] == [37]
    assert progress.estimate is not None
    assert progress.estimate["step_seconds"] == 3.0


def test_without_an_estimate_nothing_is_said(clock: Clock) -> None:
    progress = Progress()
    assert make_steps(progress, clock, [2.0] * 24, most=24) == [None] * 24
    assert compare(progress) == {}
    assert compare(Progress(step=40, estimate={})) == {}  # the hardware has changed


def test_how_far_it_was_off_in_words() -> None:
    values = {"seconds": 4260, "memory": 1.9e9, "took_seconds": 4516, "took_memory": 1.976e9}
    assert comparison_in_words(values | {"preparing_seconds": 0.0}) == (
        "Estimated 71 minutes and 1.9 GB for the steps; took 75 minutes (+6 %) and 2.0 GB (+4 %)."
    )
    values = {"seconds": 80, "memory": 2e9, "took_seconds": 100.04, "took_memory": 2e9}
    assert "took 100.0 seconds (+25 %, 31.3 seconds of it for new shapes) and" in (
        comparison_in_words(values | {"preparing_seconds": 31.3})
    )


def test_memory_that_is_not_known_is_not_told(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a CPU under Windows."""
    monkeypatch.setattr(estimate_module, "peak_memory", lambda _: 0)
    progress = Progress()
    said = make_steps(progress, clock, [2.0] * 25, most=40)[-1]
    assert said == "About 30.0 seconds to go for 15 steps at most; validation takes more."

    estimate = compare(progress)["estimate"]
    assert (estimate["memory"], estimate["took_memory"]) == (None, None)
    assert comparison_in_words(estimate).endswith(" seconds (+0 %).")


def test_steps_that_prepare_others_are_counted_apart(clock: Clock) -> None:
    progress, prepared = Progress(), [0]
    timer = StepClock(progress, CPU, lambda: prepared[0])
    for number in range(1, 41):
        with timer.step():
            clock.now += 7.0 if number % 3 else 50.0
            prepared[0] += not number % 3
        progress.step = number
        timer.estimate(number, 40)

    assert compare(progress)["estimate"]["seconds"] == 7.0 * 40
    assert compare(progress)["estimate"]["took_seconds"] == 7.0 * 27 + 50.0 * 13
    assert compare(progress)["estimate"]["preparing_seconds"] == 50.0 * 13


def test_what_was_held_before_the_steps_is_no_memory_of_theirs() -> None:
    held = np.ones(20_000_000)
    most = peak_memory(CPU)
    del held
    progress = Progress()

    StepClock(progress, CPU).estimate(1, None)

    assert 0 < progress.peak_memory < most - (100e6 if sys.platform == "linux" else 0)


class Hooked(Reporter):
    """Press Ctrl-C after a certain update, and keep what is said."""

    def __init__(self, at_step: int = -1) -> None:
        super().__init__(quiet=True)
        self.at_step = at_step
        self.said: list[str] = []

    def say(self, message: str) -> None:
        self.said.append(message)

    def step(self, step: int, result: StepResult) -> None:
        super().step(step, result)
        if step == self.at_step:
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.usefixtures("no_picture")
def test_a_run_that_was_stopped_still_compares_its_own_steps(
    make_config: MakeConfig, tmp_path: Path
) -> None:
    config = make_config(training={"max_steps": 31, "validate_every_steps": 9})
    first, second = Hooked(27), Hooked()

    train(config, tmp_path / "run", reporter=first)
    result = train(None, tmp_path / "run", resume=True, reporter=second)

    assert [line for line in first.said if line.startswith("About ")]
    assert [line for line in second.said if line.startswith("Estimated ")]
    found = json.loads((result.folder / "report.json").read_text())["estimate"]
    assert 0 < found["took_seconds"] < result.seconds  # which counts validation too
    assert found["seconds"] > 0
    assert 0 < found["memory"] <= found["took_memory"]


@pytest.mark.usefixtures("no_picture")
def test_on_other_hardware_the_comparison_is_left_out(
    make_config: MakeConfig, tmp_path: Path
) -> None:
    config = make_config(training={"max_steps": 31, "validation_sentences": 0})
    train(config, tmp_path / "run", reporter=Hooked(27))
    torch.set_num_threads(2)
    reporter = Hooked()

    result = train(None, tmp_path / "run", resume=True, reporter=reporter)

    assert any("not bit for bit" in line for line in reporter.said)
    assert "estimate" not in result.report


@pytest.mark.usefixtures("no_picture")
def test_a_run_is_asked_whether_it_could_record(
    make_config: MakeConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = make_config(training={"max_steps": 27, "validation_sentences": 0})
    monkeypatch.setattr(estimate_module, "_LONG", 0)
    here, on_a_gpu = Hooked(), Hooked()

    train(config, tmp_path / "here", reporter=here)
    monkeypatch.setattr(TrainingStep, "could_record", lambda _: True)
    train(config, tmp_path / "there", reporter=on_a_gpu)

    assert "training.compile" not in "".join(here.said)
    assert "training.compile" in "".join(on_a_gpu.said)
