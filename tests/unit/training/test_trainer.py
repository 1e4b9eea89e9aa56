"""The loop validates, keeps the best, stops when it should, and saves before it stops."""

import contextlib
import json
import math
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from headway.bundle import Bundle, load_bundle
from headway.config.run import RunConfig
from headway.config.training import TrainingConfig
from headway.data.batching import Batch
from headway.data.encoded import EncodedPair
from headway.errors import TrainingError
from headway.model.transformer import Transformer
from headway.training import objective as objective_module
from headway.training import trainer as trainer_module
from headway.training import validation as validation_module
from headway.training.averaging import snapshot_path
from headway.training.checkpoint import Progress
from headway.training.compiling import CompiledLayers
from headway.training.distributed import World
from headway.training.loss import LossSums
from headway.training.monitor import MonitoredUpdates
from headway.training.objective import batch_loss
from headway.training.reporting import Reporter
from headway.training.run_folder import RunFolder
from headway.training.schedule import paper_peak
from headway.training.stream import BatchStream
from headway.training.tensor_file import read_tensors
from headway.training.trainer import Trainer
from headway.training.update import StepResult
from headway.training.validation import ValidationResult, Validator

MakeConfig = Callable[..., RunConfig]


class ScriptedValidator:
    """Give these losses one after another."""

    def __init__(self, losses: list[float]) -> None:
        self.losses = list(losses)

    def __call__(self, bundle: Bundle, precision: str) -> ValidationResult:
        return ValidationResult(self.losses.pop(0), {"bleu": -self.losses[0] if self.losses else 0})

    def figures(self, bundle: Bundle, precision: str) -> ValidationResult:
        return self(bundle, precision)


class HookedReporter(Reporter):
    """Do something after a certain update."""

    def __init__(self, at_step: int, action: Callable[[], Any]) -> None:
        super().__init__(quiet=True)
        self.at_step = at_step
        self.action = action

    def step(self, step: int, result: StepResult) -> None:
        super().step(step, result)
        if step == self.at_step:
            self.action()


@pytest.fixture
def make(tmp_path: Path, bundle: Bundle, pairs: list[EncodedPair]) -> Callable[..., Trainer]:
    def make_trainer(
        losses: list[float] | None = None,
        reporter: Reporter | None = None,
        world: World | None = None,
        **settings: Any,
    ) -> Trainer:
        config = TrainingConfig.parse(
            {"max_steps": 9, "batch_tokens": 40, "warmup_steps": 3, "validate_every_steps": 2}
            | settings
        )
        folder = RunFolder(tmp_path / "run")
        folder.checkpoints.mkdir(parents=True, exist_ok=True)
        validator: Any = Validator(
            pairs[:5],
            [],
            metrics=["bleu"],
            bleu_tokenize="13a",
            batch_tokens=40,
        )
        if losses is not None:
            validator = ScriptedValidator(losses)
        stream = BatchStream(
            pairs, max_tokens=config.batch_tokens, accumulate=config.accumulate, seed=config.seed
        )
        reporter = reporter or Reporter(quiet=True)
        return Trainer(bundle, stream, validator, config, folder, reporter, world)

    return make_trainer


def validations(trainer: Trainer) -> list[int]:
    lines = trainer.folder.metrics.read_text().splitlines()
    return [json.loads(line)["step"] for line in lines if '"validation"' in line]


def losses_by_step(trainer: Trainer) -> dict[int, float]:
    lines = trainer.folder.metrics.read_text().splitlines()
    records = [json.loads(line) for line in lines if '"step", ' in line]
    return {record["step"]: record["loss"] for record in records}


def saved_step(trainer: Trainer) -> int:
    return read_tensors(trainer.folder.checkpoint)[1]["progress"]["step"]


def test_it_validates_every_so_often_and_at_the_end(make: Callable[..., Trainer]) -> None:
    trainer = make(max_steps=5)

    assert trainer.run()

    assert validations(trainer) == [2, 4, 5]
    assert trainer.progress.snapshots == [2, 4, 5]
    assert trainer.progress.step == saved_step(trainer) == 5


def test_every_update_is_in_a_record(make: Callable[..., Trainer]) -> None:
    settings = {"max_steps": 8, "validate_every_steps": 5, "accumulate": 2}
    trainer = make(**settings, record_every_steps=3)
    tokens: list[int] = []
    singly: list[float] = []
    step = trainer.reporter.step

    def note(number: int, result: StepResult) -> None:
        step(number, result)
        tokens.append(result.target_tokens)
        singly.append(result.loss)

    trainer.reporter.step = note

    trainer.run()

    recorded = losses_by_step(trainer)
    assert list(recorded) == [3, 5, 6, 8]
    begins = [0, *recorded]
    for begin, (end, loss) in zip(begins, recorded.items(), strict=False):
        of_these = slice(begin, end)
        mean = np.average(singly[of_these], weights=tokens[of_these])
        assert loss == pytest.approx(mean, abs=1e-6)
    assert trainer.progress.unrecorded_tokens == 0


def test_losses_are_recorded_before_a_validation_whose_own_update_is_left_out(
    make: Callable[..., Trainer], monkeypatch: pytest.MonkeyPatch
) -> None:
    update = MonitoredUpdates.__call__

    def all_but_some(updates: MonitoredUpdates, batches: Sequence[Batch]) -> StepResult | None:
        result = update(updates, batches)
        return None if updates.progress.step + 1 in (3, 5, 8) else result

    monkeypatch.setattr(MonitoredUpdates, "__call__", all_but_some)
    trainer = make(max_steps=8, validate_every_steps=5, record_every_steps=3)

    trainer.run()

    assert list(losses_by_step(trainer)) == [5, 6, 8]
    assert trainer.progress.unrecorded_tokens == 0


@pytest.mark.filterwarnings("ignore:The .grad attribute")
@pytest.mark.parametrize("compiled", [False, True])
def test_layers_are_compiled_where_that_is_asked_for(
    make: Callable[..., Trainer], made: list[CompiledLayers], compiled: bool
) -> None:
    make(max_steps=1, compile=compiled).run()

    assert len(made) == compiled


def test_beside_a_gpu_the_same_batches_are_prepared_beforehand(
    make: Callable[..., Trainer],
) -> None:
    trainer = make(max_steps=3, accumulate=2)
    trainer.run()
    threads = threading.active_count()

    def some() -> list[tuple[Any, ...]]:
        with contextlib.closing(trainer._groups()) as groups:
            first = [next(groups) for _ in range(9)]
            prepared.append(threading.active_count() - threads)
        return [
            (g.next_epoch, g.next_batch, g.ends_epoch, [b.target_ids.tolist() for b in g.batches])
            for g in first
        ]

    prepared: list[int] = []
    here = some()
    trainer.device = torch.device("cuda")
    there = some()

    assert there == here
    assert prepared == [0, 2]  # groups, and blocks
    assert threading.active_count() == threads


def test_holes_in_memory_are_given_back_after_every_twentieth_step(
    make: Callable[..., Trainer], monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer, steps = make(max_steps=45, validate_every_steps=50), []
    monkeypatch.setattr("headway.training.trainer.forget_peak", lambda device: None)
    monkeypatch.setattr("headway.training.estimate.forget_peak", lambda device: None)
    monkeypatch.setattr(
        "headway.runtime.memory.trim_heap", lambda: steps.append(trainer.progress.step)
    )

    trainer.run()

    assert steps == [20, 40]


def test_after_each_step_it_looks_how_threads_are_to_wait(
    make: Callable[..., Trainer], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    class Threads:
        def look(self) -> None:
            calls.append("look")

        def close(self) -> None:
            calls.append("close")

    monkeypatch.setattr("headway.training.trainer.WaitingThreads", Threads)

    make(max_steps=3).run()

    assert calls == ["look", "look", "look", "close"]


def test_threads_wait_as_they_did_after_a_training_that_fails(
    make: Callable[..., Trainer], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    class Threads:
        def look(self) -> None:
            raise MemoryError

        def close(self) -> None:
            calls.append("close")

    monkeypatch.setattr("headway.training.trainer.WaitingThreads", Threads)

    with pytest.raises(MemoryError):
        make(max_steps=3).run()
    assert calls == ["close"]


def test_without_an_interval_it_validates_once_an_epoch(make: Callable[..., Trainer]) -> None:
    trainer = make(validate_every_steps=None, max_epochs=3, max_steps=1000)
    batches = [len(trainer.stream.epoch(number)) for number in range(3)]

    assert trainer.run()

    ends = [batches[0], batches[0] + batches[1], sum(batches)]
    assert validations(trainer) == ends
    assert (trainer.progress.epoch, trainer.progress.batch) == (3, 0)


def test_each_epoch_trains_on_every_target_piece(
    make: Callable[..., Trainer], pairs: list[EncodedPair]
) -> None:
    trainer = make(max_epochs=2, max_steps=1000, accumulate=2)

    trainer.run()

    assert trainer.progress.target_tokens == 2 * sum(len(pair.target_ids) + 1 for pair in pairs)


def test_a_loss_that_is_no_number_is_never_the_best(make: Callable[..., Trainer]) -> None:
    trainer = make([math.nan, 4.0, math.nan, 3.0, 5.0])

    trainer.run()

    assert trainer.progress.best_step == 8
    assert trainer.progress.best_score == 3.0


def test_the_best_weights_are_kept(make: Callable[..., Trainer]) -> None:
    trainer = make(losses=[3.0, 2.0, 2.5, 2.0, 4.0])

    trainer.run()

    assert trainer.progress.best_step == 4  # an equal loss later is not better
    assert trainer.progress.best_score == 2.0
    assert trainer.progress.validations_since_best == 3
    best = load_bundle(trainer.folder.best)
    expected, _ = read_tensors(snapshot_path(trainer.folder.checkpoints, 4))
    for name, parameter in best.model.named_parameters():
        assert torch.equal(parameter, expected[name])


def test_a_fine_tune_is_compared_with_its_start_and_trains_as_without_that(
    make: Callable[..., Trainer], bundle: Bundle
) -> None:
    drawn = {name: tensor.clone() for name, tensor in bundle.model.state_dict().items()}
    losses = [7.0, 5.0, 6.0, 4.0, 4.5]
    runs: list[tuple[dict[str, torch.Tensor], Progress, list[bool]]] = []
    for start in ({}, {"start_from": "old"}):
        bundle.model.load_state_dict(drawn)
        trainer = make([5.0, *losses] if start else losses, patience=2, **start)
        trainer.folder.forget_metrics_after(-1)
        trainer.run()
        weights = {name: tensor.clone() for name, tensor in bundle.model.state_dict().items()}
        records = [r for r in trainer.folder.records() if r["kind"] == "validation"]
        assert [record["step"] for record in records] == [0] * len(start) + [2, 4, 6, 8, 9]
        runs.append((weights, trainer.progress, [record["best"] for record in records]))

    (weights, progress, best), (tuned, compared, best_of_all) = runs
    assert best == [True, True, False, True, False]
    # The loss of step 4 is that of the start, so it is no better.
    assert best_of_all == [True, False, False, False, True, False]
    assert (compared.start, progress.start) == ({"loss": 5.0, "scores": {"bleu": -7.0}}, None)
    for name, tensor in weights.items():
        assert torch.equal(tuned[name], tensor)
    for name in ("step", "best_score", "best_step", "validations_since_best", "snapshots"):
        assert getattr(compared, name) == getattr(progress, name)


@pytest.mark.parametrize(("start", "beaten"), [(1.0, False), (math.nan, True)])
def test_weights_that_never_beat_the_start_are_kept_all_the_same(
    make: Callable[..., Trainer], start: float, beaten: bool
) -> None:
    trainer = make([start, 3.0, 2.0], start_from="old", max_steps=3)

    trainer.run()

    best = [record["best"] for record in trainer.folder.records() if "best" in record]
    assert best == [True, beaten, beaten]
    assert trainer.progress.best_step == 3
    expected, _ = read_tensors(snapshot_path(trainer.folder.checkpoints, 3))
    for name, parameter in load_bundle(trainer.folder.best).model.named_parameters():
        assert torch.equal(parameter, expected[name])


def test_patience_ends_the_run(make: Callable[..., Trainer]) -> None:
    trainer = make(losses=[3.0, 2.0, 2.5, 2.1, 1.0], patience=2, max_steps=1000)

    assert trainer.run()

    assert trainer.progress.step == 8
    assert trainer.progress.validations_since_best == 2


@pytest.mark.parametrize(
    ("settings", "reached"),
    [
        ({"patience": 1}, "training.patience = 1"),
        ({"max_epochs": 1}, "training.max_epochs = 1"),
        ({"max_steps": 2, "patience": 1}, None),
    ],
)
def test_what_ends_a_run_before_its_last_step_is_said_then_and_when_it_goes_no_further(
    make: Callable[..., Trainer],
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, int],
    reached: str | None,
) -> None:
    said: list[str] = []
    monkeypatch.setattr(Reporter, "say", lambda _, message: said.append(message))
    losses = [2.0, 2.5, *[1.0] * 100]
    first = make(losses=losses, **{"max_steps": 1000} | settings)
    assert first.run()
    step = first.progress.step
    ends = f"The run ends at step {step}, because {reached} is reached. "
    expected = [f"{ends}Raise it to go on with --resume."] * bool(reached)
    assert [m for m in said if "The run ends" in m] == expected

    said.clear()
    second = make(losses=losses, **{"max_steps": 2000} | settings)
    second.resume()
    assert second.run()
    assert second.progress.step == step
    assert [m for m in said if "The run ends" in m] == expected


@pytest.mark.parametrize(
    ("losses", "end"), [([2.6], 7), ([1.0, 1.5], 8), ([1.0, 0.5, 0.7], 10)], ids=str
)
def test_a_patience_that_is_lowered_ends_no_run_that_has_improved_since(
    make: Callable[..., Trainer], losses: list[float], end: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    stops = HookedReporter(7, lambda: os.kill(os.getpid(), signal.SIGTERM))
    assert not make([2.0, 2.5, 2.6], reporter=stops, max_steps=100).run()

    again = make(losses, patience=1, max_steps=100)
    again.resume()
    forgotten: list[torch.device] = []
    monkeypatch.setattr(trainer_module, "forget_peak", forgotten.append)
    assert again.run()

    assert again.progress.step == end
    assert again.progress.validations_since_best >= 1
    assert len(forgotten) == len(losses)  # no validation is part of what steps take
    assert validations(again)[-len(losses) :] == [7, 8, 10][: len(losses)]


def test_only_the_last_weights_are_kept_for_the_average(make: Callable[..., Trainer]) -> None:
    trainer = make(average_checkpoints=2)

    trainer.run()

    assert trainer.progress.snapshots == [8, 9]
    assert {path.name for path in trainer.folder.checkpoints.iterdir()} == {
        "last.safetensors",
        "weights-00000008.safetensors",
        "weights-00000009.safetensors",
    }


def test_the_rate_is_the_papers_unless_another_is_set(make: Callable[..., Trainer]) -> None:
    assert make().schedule.peak == paper_peak(12, 3)
    assert make(learning_rate=0.5).schedule.peak == 0.5
    assert make().optimizer.param_groups[0]["betas"] == (0.9, 0.98)


@pytest.mark.parametrize(("wanted", "parts"), [(None, 3), (1, 3), (4, 4)])
def test_each_process_has_a_part_at_least(
    make: Callable[..., Trainer], wanted: int | None, parts: int
) -> None:
    trainer = make(world=World(rank=2, size=3), parts=wanted)

    assert trainer.progress.parts == parts


@pytest.fixture
def hang_ups_are_heard() -> Iterator[None]:
    """Undo nohup: the tests may have been started under it."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("hang_ups_are_heard")
@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=["ctrl-c", "kill", "hang-up"]
)
def test_a_signal_saves_and_stops(make: Callable[..., Trainer], number: signal.Signals) -> None:
    before = signal.getsignal(number)
    stop = HookedReporter(3, lambda: os.kill(os.getpid(), number))
    trainer = make(reporter=stop)

    assert not trainer.run()

    assert trainer.progress.step == saved_step(trainer) == 3
    assert signal.getsignal(number) is before


def test_two_signals_at_once_are_one_wish(make: Callable[..., Trainer]) -> None:
    def both() -> None:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM):
            os.kill(os.getpid(), number)

    trainer = make(reporter=HookedReporter(3, both))

    assert not trainer.run()

    assert saved_step(trainer) == 3


@pytest.mark.usefixtures("hang_ups_are_heard")
def test_a_second_hang_up_stops_nothing(
    make: Callable[..., Trainer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headway.runtime.signals._TOGETHER", 0.0)

    def twice() -> None:
        os.kill(os.getpid(), signal.SIGHUP)
        os.kill(os.getpid(), signal.SIGHUP)

    trainer = make(reporter=HookedReporter(3, twice))

    assert not trainer.run()

    assert saved_step(trainer) == 3


def test_a_hang_up_that_is_ignored_stays_so(make: Callable[..., Trainer]) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        trainer = make(reporter=HookedReporter(3, lambda: os.kill(os.getpid(), signal.SIGHUP)))
        assert trainer.run()
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_second_ctrl_c_stops_at_once(
    make: Callable[..., Trainer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headway.runtime.signals._TOGETHER", 0.0)

    def twice() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    trainer = make(reporter=HookedReporter(3, twice))

    # A shell starts what runs in its background with Ctrl-C ignored; here it shall count.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            trainer.run()
    finally:
        signal.signal(signal.SIGINT, before)

    assert saved_step(trainer) == 2


def test_a_signal_at_the_last_update_does_not_undo_the_end(
    make: Callable[..., Trainer],
) -> None:
    stop = HookedReporter(9, lambda: os.kill(os.getpid(), signal.SIGINT))

    assert make(reporter=stop).run()


def test_it_runs_outside_the_main_thread(make: Callable[..., Trainer]) -> None:
    trainer = make(max_steps=2)
    results: list[bool] = []
    thread = threading.Thread(target=lambda: results.append(trainer.run()))

    thread.start()
    thread.join()

    assert results == [True]


def test_checkpoints_come_between_validations_too(make: Callable[..., Trainer]) -> None:
    def fail() -> None:
        raise InterruptedError

    trainer = make(
        validate_every_steps=100, checkpoint_every_steps=3, reporter=HookedReporter(8, fail)
    )

    with pytest.raises(InterruptedError):
        trainer.run()

    assert saved_step(trainer) == 6


def test_a_diverging_loss_leaves_the_last_good_checkpoint(make: Callable[..., Trainer]) -> None:
    trainer = make()
    bias = trainer.bundle.model.decoder.layers[0].feed_forward.w_2.bias

    def spoil() -> None:
        with torch.no_grad():
            bias.fill_(float("nan"))

    trainer.reporter = HookedReporter(5, spoil)

    with pytest.raises(TrainingError, match="not finite at step 6"):
        trainer.run()

    tensors, values = read_tensors(trainer.folder.checkpoint)
    assert values["progress"]["step"] == 4
    assert all(tensor.isfinite().all() for tensor in tensors.values())


def test_resuming_forgets_records_and_weights_of_repeated_steps(
    make: Callable[..., Trainer],
) -> None:
    trainer = make(max_steps=6)
    trainer.run()
    with trainer.folder.metrics.open("a") as file:
        file.write('{"kind": "validation", "step": 8, "loss": 1.0}\n{"kind": "valid')
    stray = snapshot_path(trainer.folder.checkpoints, 8)
    stray.write_bytes(b"half")

    again = make(max_steps=9)
    again.resume()

    assert again.progress == trainer.progress
    assert validations(again) == [2, 4, 6]
    assert not stray.exists()


def test_a_run_that_is_told_to_end_where_it_stands_still_has_its_last_weights(
    make: Callable[..., Trainer],
) -> None:
    stop = HookedReporter(3, lambda: os.kill(os.getpid(), signal.SIGINT))
    make(validate_every_steps=100, reporter=stop).run()

    again = make(validate_every_steps=100, max_steps=3)
    again.resume()

    assert again.run()
    assert again.progress.snapshots == [3]
    assert validations(again) == [3]


def test_updates_and_validations_take_the_precision_that_the_processes_agreed_on(
    make: Callable[..., Trainer], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, set[str]] = {"objective": set(), "validation": set()}
    for module in (objective_module, validation_module):
        monkeypatch.setattr(module, "batch_loss", _noting(asked[module.__name__.split(".")[-1]]))
    trainer = make(max_steps=2)
    assert trainer.progress.precision == "float32"

    trainer.progress.precision = "bfloat16"
    trainer.run()

    assert asked == {"objective": {"bfloat16"}, "validation": {"bfloat16"}}


def _noting(asked: set[str]) -> Callable[..., LossSums]:
    def noted(model: Transformer, batch: Batch, smoothing: float, precision: str) -> LossSums:
        asked.add(precision)
        return batch_loss(model, batch, smoothing, precision)

    return noted
