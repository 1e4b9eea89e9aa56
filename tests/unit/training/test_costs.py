"""What is measured changes nothing: a run of so many minutes is made again by its config.toml."""

import itertools
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from headway.bundle import load_bundle
from headway.config.run import RunConfig, load_run_config
from headway.data.batching import Batch
from headway.runtime.openmp_spin import WaitingThreads
from headway.training import budget, costs
from headway.training.budget import Budget, Costs, Plan
from headway.training.reporting import Reporter
from headway.training.run import train
from headway.training.update import TrainingStep

from .conftest import MakeConfig

# A step takes two seconds and nothing else anything: a minute has 30 of them at most.
CHEAP = Costs(step=2.0, compiling=0.0, validation=0.0, endless=0.0, end=0.0, updates=8)


def without_times(path: Path) -> list[dict[str, Any]]:
    records = [json.loads(line) for line in path.read_text().splitlines()]
    times = ("seconds", "target_tokens_per_second")
    return [{key: record[key] for key in record if key not in times} for record in records]


def test_a_run_of_minutes_is_made_again_bit_for_bit(
    make_config: MakeConfig,
    tmp_path: Path,
    quiet: Reporter,
    monkeypatch: pytest.MonkeyPatch,
    no_picture: None,
) -> None:
    measured: list[Costs] = []
    measure = costs.measure_costs

    def measured_and_cheap(*given: Any) -> Costs:
        measured.append(measure(*given))  # whatever it does to the process is done
        return CHEAP

    planned: list[Plan] = []
    plan = costs.plan

    def remembered(*given: Any) -> Plan:
        planned.append(plan(*given))
        return planned[-1]

    monkeypatch.setattr(costs, "measure_costs", measured_and_cheap)
    monkeypatch.setattr(costs, "plan", remembered)
    # For the budget, 6 seconds pass between two looks at the clock, so the steps are fitted.
    clock = itertools.count(time.monotonic(), 6.0)
    monkeypatch.setattr(budget, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    config = make_config(training={"patience": 1, "ema_decay": 0.9})
    first = train(config, tmp_path / "first", reporter=quiet, minutes=1)
    assert len(measured) == len(planned) == 1
    again = load_run_config(tmp_path / "first" / "config.toml")
    second = train(again, tmp_path / "second", reporter=quiet)

    training = again.training
    assert 10 <= training.max_steps == first.step == second.step <= 60
    assert training.max_steps != planned[0].training.max_steps
    assert (training.schedule, training.patience) == ("constant", None)
    bundle = load_bundle(tmp_path / "first" / "averaged")
    assert bundle.record["config"]["training"] == training.model_dump()
    for name in ("best", "averaged"):
        weights = [tmp_path / run / name / "model.safetensors" for run in ("first", "second")]
        assert weights[0].read_bytes() == weights[1].read_bytes()
    metrics = [without_times(tmp_path / run / "metrics.jsonl") for run in ("first", "second")]
    assert metrics[0] == metrics[1]


def test_every_part_takes_some_time_and_the_files_are_gone(
    make_config: MakeConfig, tmp_path: Path, quiet: Reporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[Costs] = []
    measure = costs.measure_costs

    def measured(tried: costs.Tried, *given: Any) -> Costs:
        before = {name: value.clone() for name, value in tried.bundle.model.state_dict().items()}
        found.append(measure(tried, *given))
        after = tried.bundle.model.state_dict()
        assert all(torch.equal(value, after[name]) for name, value in before.items())
        raise KeyboardInterrupt

    monkeypatch.setattr(costs, "measure_costs", measured)
    with pytest.raises(KeyboardInterrupt):
        train(make_config(), tmp_path / "runs" / "run", reporter=quiet, minutes=1)

    (one,) = found
    assert 8 <= one.updates <= 36
    assert one.compiling == 0.0
    assert all(value > 0 for value in (one.step, one.validation, one.endless))
    assert one.end > 2
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_threads_wait_as_they_do_in_a_run_while_validations_are_measured(
    make_config: MakeConfig, tmp_path: Path, quiet: Reporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Threads that wait awake beside a busy program make a validation ten times as slow.
    happened: list[str] = []

    class Recorded(WaitingThreads):
        def look(self) -> None:
            happened.append("look")

        def close(self) -> None:
            happened.append("close")

    seconds = {"_translating": (1.0, 1.0), "_loss_seconds": 1.0, "_writing": 1.0}
    for name, taken in seconds.items():
        monkeypatch.setattr(
            costs, name, lambda *_, name=name, taken=taken: happened.append(name) or taken
        )
    monkeypatch.setattr(costs, "WaitingThreads", Recorded)
    monkeypatch.setattr(costs, "plan", lambda *_: pytest.fail("planned"))
    with pytest.raises(pytest.fail.Exception):
        train(make_config(), tmp_path / "run", reporter=quiet, minutes=1)

    assert set(happened[:-1]) == {"look", *seconds}
    assert happened[-1] == "close"


def test_what_a_translator_prepares_is_counted_once_a_text_and_not_for_each_sentence(
    make_config: MakeConfig, tmp_path: Path, quiet: Reporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[Costs] = []
    measure = costs.measure_costs

    def measured(tried: costs.Tried, *rest: Any) -> Costs:
        many = replace(tried, valid_texts=[tried.valid_texts[0]] * 500, test_texts=[])
        found.append(measure(many, *rest))
        raise KeyboardInterrupt

    monkeypatch.setattr(costs, "_translating", lambda *_: (7.0, 0.01))
    monkeypatch.setattr(costs, "_loss_seconds", lambda *_: 1.0)
    monkeypatch.setattr(costs, "_writing", lambda *_: 0.0)
    monkeypatch.setattr(costs, "measure_costs", measured)
    with pytest.raises(KeyboardInterrupt):
        train(make_config(), tmp_path / "run", reporter=quiet, minutes=1)

    (one,) = found
    validation = 7 + 0.01 * min(500, make_config().training.validation_sentences) + 1
    assert one.validation == pytest.approx(validation)
    assert one.end == pytest.approx(validation + 7 + 0.01 * 500 + 2)


@pytest.mark.parametrize(
    ("training", "seconds"),
    [
        ({}, 0.0),
        ({"start_from": "old", "validation_sentences": 0}, 1.0),
        ({"start_from": "old"}, 1 + 7 + 0.01 * 2),
        ({"start_from": "old", "best_metric": "chrf"}, 1 + 7 + 0.01 * 2),
    ],
    ids=["new", "unscored", "loss", "score"],
)
def test_the_start_of_a_fine_tune_is_translated_like_each_validation(
    make_config: MakeConfig,
    tmp_path: Path,
    quiet: Reporter,
    monkeypatch: pytest.MonkeyPatch,
    training: dict[str, Any],
    seconds: float,
) -> None:
    starts: list[float] = []
    measure = costs.measure_costs

    def measured(tried: costs.Tried, config: RunConfig, *others: Any) -> Costs:
        tuned = config.model_copy(update={"training": config.training.replace(training)})
        starts.append(measure(tried, tuned, *others).start)
        raise KeyboardInterrupt

    monkeypatch.setattr(costs, "_translating", lambda *_: (7.0, 0.01))
    monkeypatch.setattr(costs, "_loss_seconds", lambda *_: 1.0)
    monkeypatch.setattr(costs, "measure_costs", measured)
    with pytest.raises(KeyboardInterrupt):
        train(make_config(), tmp_path / "run", reporter=quiet, minutes=1)

    assert starts == [pytest.approx(seconds)]


class Clock:
    """Time that only updates take: seconds a piece, in turn."""

    def __init__(self, rates: Sequence[float]) -> None:
        self.now = 0.0
        self.rates = itertools.cycle(rates)

    def perf_counter(self) -> float:
        return self.now

    def update(self, _step: TrainingStep, _number: int, batches: Sequence[Batch]) -> None:
        pieces = sum(batch.source_ids.numel() + batch.target_ids.numel() for batch in batches)
        self.now += next(self.rates) * pieces


@pytest.mark.parametrize(
    ("rates", "seconds"),
    # The first four updates are not timed.
    [((2.0,), 2.0), ((1.0, 1.0, 1.0, 5.0), 2.0), ((1.0, 1.0, 1.0, 1000.0), 3.25)],
    ids=["steady", "disturbed", "long-pauses"],
)
def test_disturbed_updates_count_as_they_will_in_the_run_and_long_pauses_less(
    make_config: MakeConfig,
    tmp_path: Path,
    quiet: Reporter,
    monkeypatch: pytest.MonkeyPatch,
    rates: tuple[float, ...],
    seconds: float,
) -> None:
    clock = Clock(rates)
    steps: list[float] = []

    def planned(_budget: Budget, measured: Costs, *_: Any) -> None:
        steps.append(measured.step)
        raise KeyboardInterrupt

    for name, taken in {"_translating": (1.0, 1.0), "_loss_seconds": 1.0, "_writing": 1.0}.items():
        monkeypatch.setattr(costs, name, lambda *_, taken=taken: taken)
    monkeypatch.setattr(costs, "time", clock)
    monkeypatch.setattr(costs, "update_within_memory", clock.update)
    monkeypatch.setattr(costs, "_usual_area", lambda _: 100.0)
    monkeypatch.setattr(costs, "plan", planned)
    with pytest.raises(KeyboardInterrupt):
        train(make_config(), tmp_path / "run", reporter=quiet, minutes=1)

    assert steps == [pytest.approx(100 * seconds)]
