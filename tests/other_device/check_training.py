"""A run on another device is the run on the CPU, as far as rounding goes."""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headway.config.run import RunConfig
from headway.training.check import check_run
from headway.training.objective import Objective
from headway.training.reporting import Reporter
from headway.training.run import train
from headway.training.update import StepResult

MakeConfig = Callable[..., RunConfig]

# A run that draws: from its generators, for dropout, and of the order of the text.
DRAWING = {"model": {"dropout": 0.2}, "training": {"ema_decay": 0.9, "batch_tokens": 90}}


def losses(run: Path) -> list[float]:
    """Return the losses of training, in order, and those of validation."""
    records = map(json.loads, (run / "metrics.jsonl").read_text("utf-8").splitlines())
    return [record["loss"] for record in records if "loss" in record]


class Stops(Reporter):
    def step(self, step: int, result: StepResult) -> None:
        super().step(step, result)
        if step == 8:
            os.kill(os.getpid(), signal.SIGINT)


def test_losses_are_those_of_the_cpu(runs: dict[str, Path]) -> None:
    assert len(losses(runs["there"])) > 20
    assert losses(runs["there"]) == pytest.approx(losses(runs["cpu"]), rel=1e-4)


def test_all_that_is_learned_is_there(
    make_config: MakeConfig, device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[set[str]] = []
    forward = Objective.forward

    def watched(objective: Objective, batch: Any) -> Any:
        model = objective.model
        everything = [*model.parameters(), *model.buffers(), batch.source_ids, batch.label_ids]
        seen.append({tensor.device.type for tensor in everything})
        return forward(objective, batch)

    monkeypatch.setattr(Objective, "forward", watched)
    train(make_config(training={"max_steps": 4}), tmp_path / "run", device=device)
    assert seen == [{device}] * 4


def test_a_run_goes_on_as_if_it_had_not_stopped(
    make_config: MakeConfig, device: str, tmp_path: Path
) -> None:
    config = make_config(**DRAWING)
    whole = train(config, tmp_path / "whole", device=device)
    stopped = train(config, tmp_path / "parts", device=device, reporter=Stops(quiet=True))
    assert stopped.step == 8
    train(None, tmp_path / "parts", resume=True, device=device)

    assert losses(tmp_path / "parts") == pytest.approx(losses(whole.folder), rel=1e-4)


def test_a_run_in_bfloat16_comes_to_the_same_loss(
    make_config: MakeConfig, runs: dict[str, Path], device: str, tmp_path: Path
) -> None:
    config = make_config(training={"precision": "bfloat16"})
    report = train(config, tmp_path / "run", device=device).report
    assert report["precision"] == "bfloat16"
    assert losses(tmp_path / "run") != pytest.approx(losses(runs["cpu"]), rel=1e-6)
    assert losses(tmp_path / "run") == pytest.approx(losses(runs["cpu"]), rel=0.02)


def test_batches_in_parts_come_to_the_same_loss(
    make_config: MakeConfig, runs: dict[str, Path], device: str, tmp_path: Path
) -> None:
    config = make_config(training={"parts": 3, "clip_norm": 100.0})
    train(config, tmp_path / "run", device=device)
    assert losses(tmp_path / "run") == pytest.approx(losses(runs["cpu"]), rel=1e-4)


def test_a_model_learns_new_pieces(
    make_config: MakeConfig, runs: dict[str, Path], device: str, tmp_path: Path
) -> None:
    for name in ("source", "target"):
        (tmp_path / name).write_text("one eight nine\nnine two\neight\n" * 9, encoding="utf-8")
    found = []
    for where in ("cpu", device):
        config = make_config(
            data={"directory": str(tmp_path), "hold_out": 2},
            tokenizer={"new_pieces": ["eight", "nine"]},
            training={"start_from": str(runs["there"] / "averaged"), "max_steps": 5},
        )
        found.append(losses(train(config, tmp_path / where, device=where).folder))
    assert found[1] == pytest.approx(found[0], rel=1e-4)


def test_time_and_memory_are_estimated(make_config: MakeConfig, device: str) -> None:
    found = check_run(make_config(), device)
    assert found.estimate.seconds > 0
