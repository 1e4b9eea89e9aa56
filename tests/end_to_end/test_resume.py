"""12 updates are 5, a stop, and 7 more: bit for bit."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from headway.config.run import RunConfig
from headway.data.batching import Batch
from headway.errors import NotFiniteError
from headway.model.transformer import Transformer
from headway.training import objective as objective_module
from headway.training.loss import LossSums
from headway.training.objective import batch_loss
from headway.training.reporting import Reporter
from headway.training.run import train
from headway.training.update import StepResult

MakeConfig = Callable[..., RunConfig]
SameRun = Callable[[Path, Path], None]


class StoppingReporter(Reporter):
    """Press Ctrl-C, or break, after a certain update."""

    def __init__(self, at_step: int, *, crash: bool = False) -> None:
        super().__init__(quiet=True)
        self.at_step = at_step
        self.crash = crash

    def step(self, step: int, result: StepResult) -> None:
        super().step(step, result)
        if step == self.at_step:
            if self.crash:
                raise InterruptedError
            os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture(autouse=True)
def no_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headway.training.run.draw_losses", lambda *_: None)


VARIANTS = {
    "paper": {},
    "pre-norm-separate-tables": {
        "model": {"norm_position": "pre", "shared_embeddings": "none", "activation": "swiglu"}
    },
    "all-dropouts-learned-positions": {
        "model": {
            "attention_dropout": 0.2,
            "activation_dropout": 0.1,
            "positions": "learned",
            "max_positions": 9,
            "output_bias": True,
        }
    },
    "cosine-decay-clip-best-bleu": {
        "training": {
            "schedule": "cosine",
            "weight_decay": 0.01,
            "clip_norm": 0.5,
            "best_metric": "chrf",
            "checkpoint_every_steps": 1,
        }
    },
    "subword-sampling": {
        "tokenizer": {"kind": "bpe", "vocabulary_size": 22, "sampling": 0.2},
        "data": {"tag": "<2x>", "hold_out": 3, "valid_source": "", "valid_target": ""},
    },
    "bfloat16": {"training": {"precision": "bfloat16"}},
    "moving-average": {"training": {"ema_decay": 0.6}},
}


@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS.keys())
def test_12_updates_are_5_a_stop_and_7(
    make_config: MakeConfig, assert_same_run: SameRun, tmp_path: Path, changes: dict
) -> None:
    config = make_config(**changes)
    train(config, tmp_path / "whole", reporter=Reporter(quiet=True))

    stopped = train(config, tmp_path / "run", reporter=StoppingReporter(5))
    finished = train(None, tmp_path / "run", resume=True, reporter=Reporter(quiet=True))

    assert (stopped.finished, stopped.step) == (False, 5)
    assert (finished.finished, finished.step) == (True, 12)
    assert_same_run(tmp_path / "run", tmp_path / "whole")


def test_a_stop_after_every_update_changes_nothing(
    make_config: MakeConfig, assert_same_run: SameRun, tmp_path: Path
) -> None:
    config = make_config()
    train(config, tmp_path / "whole", reporter=Reporter(quiet=True))

    train(config, tmp_path / "run", reporter=StoppingReporter(1))
    for step in range(2, 13):
        result = train(None, tmp_path / "run", resume=True, reporter=StoppingReporter(step))
        assert result.step == step

    assert result.finished
    assert_same_run(tmp_path / "run", tmp_path / "whole")


@pytest.mark.parametrize("at_step", [1, 3, 5, 12])
def test_a_crash_loses_only_what_came_after_the_last_checkpoint(
    make_config: MakeConfig, assert_same_run: SameRun, tmp_path: Path, at_step: int
) -> None:
    config = make_config()
    train(config, tmp_path / "whole", reporter=Reporter(quiet=True))

    with pytest.raises(InterruptedError):
        train(config, tmp_path / "run", reporter=StoppingReporter(at_step, crash=True))
    train(config, tmp_path / "run", resume=True, reporter=Reporter(quiet=True))

    assert_same_run(tmp_path / "run", tmp_path / "whole")


def spoil_or_limit(monkeypatch: pytest.MonkeyPatch, spoiled_pair: int, rows: int) -> None:
    """Make the loss of one pair not finite, and memory too small for more than so many pairs."""

    def changed(model: Transformer, batch: Batch, smoothing: float, precision: str) -> LossSums:
        if len(batch) > rows:
            torch.rand(3)  # dropout has begun to draw
            raise torch.OutOfMemoryError("CUDA out of memory.")
        sums = batch_loss(model, batch, smoothing, precision)
        bad = spoiled_pair in batch.indices
        return LossSums(sums.loss * float("inf"), sums.nll) if bad else sums

    monkeypatch.setattr(objective_module, "batch_loss", changed)


@pytest.mark.parametrize(("spoiled_pair", "rows"), [(3, 99), (99, 4)], ids=["skipped", "in-parts"])
@pytest.mark.parametrize("at_step", [2, 5, 10])
def test_a_stop_changes_nothing_where_updates_are_left_out_or_made_in_parts(
    make_config: MakeConfig,
    assert_same_run: SameRun,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    spoiled_pair: int,
    rows: int,
    at_step: int,
) -> None:
    spoil_or_limit(monkeypatch, spoiled_pair, rows)
    config = make_config(training={"not_finite": "skip"})
    whole = train(config, tmp_path / "whole", reporter=Reporter(quiet=True)).report

    with pytest.raises(InterruptedError):
        train(config, tmp_path / "run", reporter=StoppingReporter(at_step, crash=True))
    train(None, tmp_path / "run", resume=True, reporter=Reporter(quiet=True))

    assert (whole["skipped_updates"] > 0) == (spoiled_pair == 3)
    assert (whole["batch_parts"] > 1) == (rows == 4)
    assert whole["diagnoses"]
    assert_same_run(tmp_path / "run", tmp_path / "whole")


def test_a_run_that_ended_at_a_loss_that_is_not_finite_goes_on_without_it(
    make_config: MakeConfig,
    assert_same_run: SameRun,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spoil_or_limit(monkeypatch, spoiled_pair=3, rows=99)
    skip = make_config(training={"not_finite": "skip"})
    train(skip, tmp_path / "whole", reporter=Reporter(quiet=True))

    with pytest.raises(NotFiniteError, match="continue with --resume"):
        train(make_config(), tmp_path / "run", reporter=Reporter(quiet=True))
    train(skip, tmp_path / "run", resume=True, reporter=Reporter(quiet=True))

    assert_same_run(tmp_path / "run", tmp_path / "whole")


def test_the_seed_and_nothing_else_decides_the_run(
    make_config: MakeConfig, assert_same_run: SameRun, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        train(make_config(), tmp_path / name, reporter=Reporter(quiet=True))
    train(make_config(training={"seed": 2}), tmp_path / "three", reporter=Reporter(quiet=True))

    assert_same_run(tmp_path / "one", tmp_path / "two")
    weights = "averaged/model.safetensors"
    assert (tmp_path / "one" / weights).read_bytes() != (tmp_path / "three" / weights).read_bytes()
