"""Updates that are not finite are left out, batches that do not fit are cut, both are reported."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from headway.bundle import Bundle
from headway.config.training import TrainingConfig
from headway.data.batching import Batch
from headway.data.encoded import EncodedPair
from headway.errors import NotFiniteError, TrainingError
from headway.model.transformer import Transformer
from headway.training import objective as objective_module
from headway.training import trainer as trainer_module
from headway.training.cuda_graphs import Limits, Record, RecordedPasses
from headway.training.diagnosis import TrainingProblem
from headway.training.loss import LossSums
from headway.training.objective import batch_loss
from headway.training.reporting import Reporter
from headway.training.run_folder import RunFolder
from headway.training.stream import BatchStream
from headway.training.tensor_file import read_tensors
from headway.training.trainer import Trainer
from headway.training.update import TrainingStep
from headway.training.validation import ValidationResult

Make = Callable[..., Trainer]
BAD_LINE = 11


class Scripted:
    """Show the same at every validation."""

    def __init__(self, result: ValidationResult) -> None:
        self.result = result

    def __call__(self, bundle: Bundle, precision: str) -> ValidationResult:
        return self.result


class Listening(Reporter):
    """Keep what is said, and the losses of the updates."""

    def __init__(self) -> None:
        super().__init__(quiet=True)
        self.said: list[str] = []
        self.updates: list[int] = []

    def say(self, message: str) -> None:
        self.said.append(message)

    def step(self, step: int, result: Any) -> None:
        super().step(step, result)
        self.updates.append(step)


@pytest.fixture
def make(tmp_path: Path, bundle: Bundle, pairs: list[EncodedPair]) -> Make:
    def make_trainer(
        result: ValidationResult | None = None,
        findings: tuple[TrainingProblem, ...] = (),
        **settings: Any,
    ) -> Trainer:
        defaults = {"max_steps": 9, "batch_tokens": 30, "validate_every_steps": 3}
        config = TrainingConfig.parse(
            defaults | {"warmup_steps": 2, "learning_rate": 0.001} | settings
        )
        folder = RunFolder(tmp_path / "run")
        folder.checkpoints.mkdir(parents=True, exist_ok=True)
        validator: Any = Scripted(result or ValidationResult(2.0, {}))
        stream = BatchStream(pairs, max_tokens=config.batch_tokens, accumulate=2, seed=1)
        return Trainer(
            bundle,
            stream,
            validator,
            config,
            folder,
            Listening(),
            unigram_loss=3.0,
            text_findings=findings,
        )

    return make_trainer


def diagnoses(trainer: Trainer) -> list[dict[str, Any]]:
    lines = trainer.folder.metrics.read_text().splitlines()
    records = [json.loads(line) for line in lines]
    return [record for record in records if record["kind"] == "diagnosis"]


def listening(trainer: Trainer) -> Listening:
    assert isinstance(trainer.reporter, Listening)
    return trainer.reporter


def spoil(monkeypatch: pytest.MonkeyPatch, is_bad: Callable[[Batch], bool]) -> None:
    def spoiled(model: Transformer, batch: Batch, smoothing: float, precision: str) -> LossSums:
        sums = batch_loss(model, batch, smoothing, precision)
        return LossSums(sums.loss * float("nan"), sums.nll) if is_bad(batch) else sums

    monkeypatch.setattr(objective_module, "batch_loss", spoiled)


def has_bad_line(batch: Batch) -> bool:
    return BAD_LINE - 1 in batch.indices


def test_a_loss_that_is_not_finite_ends_the_run_and_names_its_lines(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil(monkeypatch, has_bad_line)
    trainer = make()

    with pytest.raises(NotFiniteError, match=r"on these lines .* training\.not_finite=skip") as got:
        trainer.run()

    (record,) = diagnoses(trainer)
    assert record["problem"] == "not finite"
    assert record["step"] == trainer.progress.step + 1
    assert BAD_LINE in record["lines"]
    assert str(record["lines"][:10])[1:-1] in str(got.value)
    assert not any("not finite" in line for line in listening(trainer).said)  # the error says it


def test_skipping_leaves_that_update_out_and_nothing_else(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoil(monkeypatch, has_bad_line)
    trainer = make(not_finite="skip", max_steps=1000, max_epochs=3)
    groups = -(-len(trainer.stream.epoch(0)) // 2)
    before = torch.nn.utils.parameters_to_vector(trainer.bundle.model.parameters()).clone()

    assert trainer.run()

    assert trainer.progress.skipped == 3  # the bad pair is in one update an epoch
    assert trainer.progress.step == trainer.progress.skipped + len(listening(trainer).updates)
    assert trainer.progress.step == pytest.approx(3 * groups, abs=2)
    records = diagnoses(trainer)
    assert len(records) == 3
    assert all(BAD_LINE in record["lines"] for record in records)
    assert sum("It is left out." in line for line in listening(trainer).said) == 1
    after = torch.nn.utils.parameters_to_vector(trainer.bundle.model.parameters())
    assert after.isfinite().all()
    assert not torch.equal(before, after)
    states = trainer.optimizer.state_dict()["state"].values()
    assert {int(state["step"]) for state in states} == {len(listening(trainer).updates)}


def test_a_skipped_update_trains_on_nothing(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil(monkeypatch, has_bad_line)
    trainer = make(not_finite="skip", max_steps=1000, max_epochs=1)

    trainer.run()

    (record,) = diagnoses(trainer)
    left_out = sum(len(trainer.stream.pairs[line - 1].target_ids) + 1 for line in record["lines"])
    pieces = sum(len(pair.target_ids) + 1 for pair in trainer.stream.pairs)
    assert trainer.progress.target_tokens == pieces - left_out


def test_ten_in_a_row_are_not_skipped(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil(monkeypatch, lambda _: True)
    trainer = make(not_finite="skip", max_steps=100)

    with pytest.raises(TrainingError, match="The 9 updates before it were skipped"):
        trainer.run()

    assert (trainer.progress.skipped, trainer.progress.step) == (10, 9)


def test_updates_in_between_restart_the_count(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = make(not_finite="skip", max_steps=24)
    spoil(monkeypatch, lambda _: trainer.progress.step % 2 == 0)

    assert trainer.run()

    assert (trainer.progress.skipped, trainer.progress.step) == (12, 24)


def test_text_findings_are_said_when_the_run_begins_and_not_when_it_goes_on(make: Make) -> None:
    finding = TrainingProblem("unknown pieces, training source", "13 % of the pieces are unknown.")
    first = make(findings=(finding,), max_steps=3)
    first.run()
    assert [record["step"] for record in diagnoses(first)] == [0]

    again = make(findings=(finding,))
    again.resume()
    again.run()

    assert diagnoses(again) == diagnoses(first)
    assert not any("13 %" in line for line in listening(again).said)


def test_what_a_validation_shows_is_said(make: Make) -> None:
    trainer = make(ValidationResult(2.0, {}, (2.0, 2.001), "a man"), max_steps=609)
    trainer.progress.step = 600  # few updates are no reason to say it

    trainer.run()

    assert [(r["step"], r["problem"]) for r in diagnoses(trainer)] == [
        (609, "same output"),
        (609, "ignored source"),
    ]
    assert trainer.progress.observed.findings == [
        {key: record[key] for key in ("step", "problem", "message")}
        for record in diagnoses(trainer)
    ]


def test_the_parts_that_fit_are_remembered(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []

    def limited(model: Transformer, batch: Batch, smoothing: float, precision: str) -> LossSums:
        tried.append(len(batch))
        if len(batch) > 4:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return batch_loss(model, batch, smoothing, precision)

    monkeypatch.setattr(objective_module, "batch_loss", limited)
    trainer = make(max_steps=6)
    trainer.run()
    parts = trainer.progress.parts
    assert parts in (2, 4, 8)
    (record,) = diagnoses(trainer)
    assert record["problem"] == "out of memory"
    assert read_tensors(trainer.folder.checkpoint)[1]["progress"]["parts"] == parts

    again = make(max_steps=12)
    again.resume()
    tried.clear()
    again.run()

    assert max(tried) <= 4
    assert again.progress.parts == parts
    assert diagnoses(again) == [record]


@pytest.fixture
def recording(monkeypatch: pytest.MonkeyPatch) -> Callable[[Record], list[RecordedPasses]]:
    """Return what lets a run record on a CPU."""

    def record_by(record: Record) -> list[RecordedPasses]:
        passes: list[RecordedPasses] = []

        def recording_step(*args: Any, limits: Limits, **options: Any) -> TrainingStep:
            step = TrainingStep(*args, limits=limits, **options)
            step.recorded = RecordedPasses(
                step._forward_backward, torch.device("cpu"), limits, record
            )
            passes.append(step.recorded)
            return step

        monkeypatch.setattr(trainer_module, "TrainingStep", recording_step)
        return passes

    return record_by


def test_a_run_says_once_that_nothing_more_is_recorded(
    make: Make, recording: Callable[[Record], list[RecordedPasses]]
) -> None:
    def refuse(run: Callable[[], torch.Tensor]) -> tuple[Callable[[], None], torch.Tensor]:
        raise RuntimeError("a part has waited\nC++ stack")

    (passes, trainer) = recording(refuse), make(max_steps=4)
    assert trainer.run()

    assert passes[0].stopped_by == "a part has waited"
    (record,) = diagnoses(trainer)
    assert record["problem"] == "not recorded"
    assert "(a part has waited)" in record["message"]
    assert len(listening(trainer).updates) == 4


def test_an_estimate_is_of_steps_that_recorded_nothing(
    make: Make, recording: Callable[[Record], list[RecordedPasses]]
) -> None:
    def run_again(run: Callable[[], torch.Tensor]) -> tuple[Callable[[], None], torch.Tensor]:
        loss = torch.zeros((), dtype=torch.float64)

        def replay() -> None:
            loss.copy_(run())

        return replay, loss

    passes, trainer = recording(run_again), make(max_steps=80)
    assert trainer.run()

    assert passes[0].limits == Limits(30, 1 + trainer.stream.pairs.longest()[1])
    assert 4 <= passes[0].preparations < 40
    assert any("new shapes and validation take more" in line for line in listening(trainer).said)
