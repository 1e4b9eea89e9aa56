"""The training loop: groups of batches -> steps -> validations -> checkpoints."""

import contextlib
import dataclasses
import math
import time
from collections.abc import Generator, Mapping, Sequence

from torch import Tensor
from torch.optim import AdamW

from headway.bundle import Bundle, save_bundle, set_model_tensors
from headway.config.training import TrainingConfig
from headway.errors import RunError
from headway.model.customized import changed_parts
from headway.runtime.memory import forget_peak, give_back_holes, hand_back_freed_memory
from headway.runtime.openmp_spin import WaitingThreads
from headway.runtime.signals import stop_requests
from headway.training.averaging import prune_snapshots, save_snapshot
from headway.training.budget import Deadline
from headway.training.checkpoint import Progress, load_checkpoint, save_checkpoint
from headway.training.cuda_graphs import Limits
from headway.training.described import best_so_far, figures
from headway.training.diagnosis import TrainingProblem, Validated
from headway.training.distributed import World
from headway.training.ema import WeightAverage
from headway.training.estimate import StepClock
from headway.training.monitor import MonitoredUpdates
from headway.training.objective import Objective
from headway.training.optimizer import build_optimizer
from headway.training.prefetch import ahead
from headway.training.reporting import Reporter
from headway.training.run_folder import RunFolder
from headway.training.schedule import Schedule, paper_peak
from headway.training.shards import divide, gathered
from headway.training.stream import BatchGroup, BatchStream
from headway.training.update import StepResult, TrainingStep
from headway.training.validation import ValidationResult, Validator

_GROUPS_AHEAD = 2


class Trainer:
    """Train the model of a bundle for the configured steps or epochs, or until patience ends it."""

    def __init__(
        self,
        bundle: Bundle,
        stream: BatchStream,
        validator: Validator,
        config: TrainingConfig,
        folder: RunFolder,
        reporter: Reporter,
        world: World | None = None,
        *,
        precision: str = "float32",
        unigram_loss: float | None = None,
        text_findings: Sequence[TrainingProblem] = (),
    ) -> None:
        """Prepare optimizer and schedule; `run` does the work.

        precision: float32 or bfloat16, of a new run; a continued run keeps its own. unigram_loss:
        validation loss of the target pieces' frequencies alone. text_findings: problems of the
        text, which are reported when the run begins.
        """
        self.bundle = bundle
        self.stream = stream
        self.validator = validator
        self.config = config
        self.folder = folder
        self.reporter = reporter
        self.unigram_loss = unigram_loss
        self.text_findings = text_findings
        self.world = world or World()
        self.device = next(bundle.model.parameters()).device
        # A process without a part would have no gradients, and the others would wait for them.
        parts = max(config.parts or 1, self.world.size)
        # Compared before the model is divided, which changes its classes.
        changed = changed_parts(bundle.model)
        self.progress = Progress(precision=precision, parts=parts, changed=changed)
        self.optimizer = self._fresh_optimizer()
        self.objective = Objective(bundle.model, config.label_smoothing, precision)
        self.divided = False
        self.latest: StepResult | None = None
        self.updates: MonitoredUpdates  # made by `run`, once the weights are in their final place
        self.average: WeightAverage | None = None
        if config.ema_decay is not None:
            self.average = WeightAverage(bundle.model, config.ema_decay)
        self.schedule = self._schedule()
        self.deadline: Deadline | None = None  # of a run that has a number of minutes

    def _schedule(self) -> Schedule:
        config = self.config
        peak = config.learning_rate or paper_peak(self.bundle.config.d_model, config.warmup_steps)
        return Schedule(
            config.schedule, peak, config.warmup_steps, config.max_steps, config.decay_steps
        )

    def start_with(self, tensors: Mapping[str, Tensor]) -> None:
        """Begin with these weights instead of fresh ones."""
        models = [self.bundle.model, *([self.average.model] if self.average else [])]
        for model in models:
            set_model_tensors(model, dict(tensors))

    def _fresh_optimizer(self) -> AdamW:
        config = self.config
        return build_optimizer(
            self.bundle.model,
            config.adam_beta_1,
            config.adam_beta_2,
            config.adam_epsilon,
            config.weight_decay,
        )

    def _divide(self) -> None:
        """Divide model and average among the processes, once and if configured."""
        if not self.config.shard or self.divided:
            return
        hand_back_freed_memory()
        model = self.bundle.model
        divide(self.world, model, self.objective)
        self.divided = True
        if self.average is not None:
            divide(self.world, self.average.model, self.average.model)
        self.optimizer = self._fresh_optimizer()  # because the parameters are new tensors
        self.device = next(model.parameters()).device

    def resume(self) -> None:
        """Go back to the last checkpoint; everything after it will be repeated exactly."""
        changed = self.progress.changed
        self._divide()  # first, so that the whole model is never on the device
        self.progress = load_checkpoint(
            self.folder.checkpoint,
            self.bundle.model,
            self.optimizer,
            self.average.model if self.average else None,
            self.world,
        )
        _check_same_parts(self.progress.changed, changed)
        self.progress.parts = max(self.progress.parts, self.world.size)
        if not self.world.leads:
            return
        # Records before the first step are written again.
        self.folder.forget_metrics_after(self.progress.step or -1)
        prune_snapshots(self.folder.checkpoints, self.progress.snapshots)

    def run(self, waiting: WaitingThreads | None = None) -> bool:
        """Train to the end; return False if a signal stopped it at a checkpoint.

        waiting: chooses how threads wait, and is closed by the caller; made and closed here if
        unset.
        """
        step = self._make_step()
        self.updates = MonitoredUpdates(
            step, self.progress, self.config, self.reporter, self.stream.pairs, self.unigram_loss
        )
        metrics = self.folder.metrics if self.world.leads else None
        self.reporter.start(metrics, self.progress.step, self.config.max_steps)
        clock = StepClock(self.progress, self.device, step.preparations, step.could_record())
        most_steps = self.config.max_steps if self.config.max_epochs is None else None
        started = time.perf_counter() - self.progress.seconds
        try:
            if self.config.tensorboard and self.world.leads:
                self.reporter.write_events(self.folder.tensorboard, self.progress.step or -1)
            self.updates.look_at_text(self.text_findings)
            with (
                stop_requests() as stop,
                contextlib.closing(self._groups()) as groups,
                contextlib.ExitStack() as stack,
            ):
                if waiting is None:
                    waiting = stack.enter_context(contextlib.closing(WaitingThreads()))
                self._validate_start()
                while self._has_next_step():
                    with clock.step():
                        group = next(groups)
                        result = self.updates(group.batches)
                    self._advance(group, result.target_tokens if result else 0)
                    self._report(result, group)
                    if message := clock.estimate(self.progress.step, most_steps):
                        self.reporter.say(message)
                    self.progress.seconds = time.perf_counter() - started
                    stopping = self.world.any(stop.is_set())
                    if self._validate_or_save(group, stopping=stopping):
                        forget_peak(self.device)  # validation is not part of the estimate
                    give_back_holes(self.progress.step)
                    waiting.look()
                    if stopping and not self._is_over():
                        return False
                self._say_why_so_early()
        finally:
            self.reporter.stop()
        return True

    def _make_step(self) -> TrainingStep:
        """Divide and compile the model as configured; return its updates."""
        self._divide()
        self.objective.precision = self.progress.precision
        if self.config.compile:
            self.objective.compile_layers()  # the model is now on its final device
        return TrainingStep(
            self.objective,
            self.optimizer,
            self.schedule,
            clip_norm=self.config.clip_norm,
            seed=self.config.seed,
            parts=self.progress.parts,
            world=self.world,
            divided=self.divided,
            limits=Limits(self.stream.max_tokens, self.stream.longest),
        )

    def _groups(self) -> Generator[BatchGroup]:
        """Return the groups from here on; with a GPU, threads prepare them on the processor."""
        position = self.progress.epoch, self.progress.block, self.progress.batch
        if self.device.type == "cpu":
            return self.stream.groups(*position)
        # Subword sampling takes seconds for a block of 131,072 pairs.
        return ahead(self.stream.groups(*position, blocks_ahead=1), _GROUPS_AHEAD)

    def has_ended(self) -> bool:
        """Return True if the last step is made and validated, so that `run` trains nothing."""
        return self._is_over() and self.progress.snapshots[-1:] == [self.progress.step]

    def _has_next_step(self) -> bool:
        """Return True if another step follows; before the end, validate unless that is done."""
        if self._is_over() and not self.has_ended():
            self._validate()  # a continued run may be configured to end here
            forget_peak(self.device)  # which is not part of the estimate
        return not self._is_over()  # a new best may have extended patience

    def _is_over(self) -> bool:
        """Return True if steps, epochs or patience have run out."""
        return self.progress.step >= self.config.max_steps or self._limit_reached() is not None

    def _limit_reached(self) -> str | None:
        """Return the setting that ends the run before max_steps, if one does."""
        progress = self.progress
        counts = {"max_epochs": progress.epoch, "patience": progress.validations_since_best}
        for name, count in counts.items():
            limit = getattr(self.config, name)
            if limit is not None and count >= limit:
                return f"training.{name} = {limit}"
        return None

    def _say_why_so_early(self) -> None:
        """Print the setting that ended the run early, because raising max_steps would not help."""
        step, reached = self.progress.step, self._limit_reached()
        if reached and step < self.config.max_steps:
            self.reporter.say(
                f"The run ends at step {step:,}, because {reached} is reached. Raise it to go on "
                "with --resume."
            )

    def _advance(self, group: BatchGroup, target_tokens: int) -> None:
        self.progress.step += 1
        if self.average is not None:
            self.average.update(self.bundle.model, self.progress.step)
        self.progress.epoch = group.next_epoch
        self.progress.block = group.next_block
        self.progress.batch = group.next_batch
        self.progress.target_tokens += target_tokens

    def _report(self, result: StepResult | None, group: BatchGroup) -> None:
        """Show this step, if it was made, and record the mean loss if that is due."""
        progress, record_every = self.progress, self.config.record_every_steps
        if result:
            self.latest = result
            progress.unrecorded_loss += result.loss * result.target_tokens
            progress.unrecorded_tokens += result.target_tokens
            self.reporter.step(progress.step, result)
        is_due = self._is_validation_due(group) or (result and progress.step % record_every == 0)
        if is_due and self.latest and progress.unrecorded_tokens:
            mean = progress.unrecorded_loss / progress.unrecorded_tokens
            self.reporter.record_step(progress.step, progress.epoch, mean, self.latest)
            progress.unrecorded_loss, progress.unrecorded_tokens = 0.0, 0

    def _validate_or_save(self, group: BatchGroup, *, stopping: bool) -> bool:
        """Validate or write a checkpoint if that is due; return True if it validated."""
        if self._is_validation_due(group):
            self._validate()
            self._fit_to_deadline()
            return True
        if stopping or self.progress.step % self.config.checkpoint_every_steps == 0:
            self.save()
        return False

    def _is_validation_due(self, group: BatchGroup) -> bool:
        validate_every = self.config.validate_every_steps
        is_due = (
            group.ends_epoch if validate_every is None else self.progress.step % validate_every == 0
        )
        return is_due or self._is_over()

    def _validate_start(self) -> None:
        """Validate the model that a fine-tune starts from, before the first step.

        Steps are compared with it in words alone: the weights that are kept, and patience, depend
        on the steps.
        """
        progress = self.progress
        if not self.config.start_from or progress.step:
            return
        start_time = time.perf_counter()
        result = self.validator.figures(self._judged(), progress.precision)
        progress.seconds += time.perf_counter() - start_time
        progress.start = figures(result)
        self._report_validation(result, best=True)
        forget_peak(self.device)  # validation is not part of the estimate

    def _beats_start(self, value: float) -> bool:
        """Return True if the value of a step is lower than that of the starting model, if any."""
        if self.progress.start is None:
            return True
        return not value >= ValidationResult(**self.progress.start).value(self.config.best_metric)

    def _validate(self) -> None:
        judged_model, progress = self._judged(), self.progress
        start_time = time.perf_counter()
        result = self.validator(judged_model, self.progress.precision)
        progress.seconds += time.perf_counter() - start_time
        score = result.value(self.config.best_metric)
        # NaN is no best, also as the first score.
        is_best = not math.isnan(score) and (
            progress.best_score is None or score < progress.best_score
        )
        if is_best:
            progress.best_score, progress.best_step = score, progress.step
            progress.validations_since_best = 0
            if self.world.leads:
                best = best_so_far(judged_model, result, progress, self.folder, self.reporter.say)
                save_bundle(self.folder.best, best)
        else:
            progress.validations_since_best += 1
        if self.world.leads:
            save_snapshot(self.folder.checkpoints, progress.step, judged_model.model)
        progress.snapshots.append(progress.step)
        del progress.snapshots[: -(1 if self.average else self.config.average_checkpoints)]
        self._report_validation(result, best=is_best and self._beats_start(score))
        self.updates.look_at_validation(
            Validated(result.loss, is_best, result.exchanged, result.same_output)
        )
        # Old weights go only after a checkpoint that no longer needs them.
        self.save()
        if self.world.leads:
            prune_snapshots(self.folder.checkpoints, progress.snapshots)

    def _fit_to_deadline(self) -> None:
        """Change the number of steps if the speed of the run demands it."""
        if self.deadline is None:
            return
        fitted = self.deadline.fit(self.config, self.progress.step)
        if fitted == self.config:
            return
        self.config = fitted
        self.schedule = self.updates.step.schedule = self._schedule()
        self.bundle.record["config"]["training"] = fitted.model_dump()
        self.folder.write_training(fitted)
        self.reporter.expect(fitted.max_steps)
        fall = fitted.max_steps - (fitted.decay_steps or 0)
        if fall < self.progress.step + (fitted.validate_every_steps or 0):  # the last change
            self.reporter.say(
                f"At the speed of this run the minutes allow {fitted.max_steps:,} steps. After "
                f"step {fall:,} the rate falls in a straight line to zero."
            )

    def _report_validation(self, result: ValidationResult, *, best: bool) -> None:
        progress = self.progress
        self.reporter.validation(
            {
                "step": progress.step,
                "epoch": progress.epoch,
                "loss": result.loss,
                "perplexity": result.perplexity,
                "scores": result.scores,
                "unit": "%",
                "target_tokens": progress.target_tokens,
                "seconds": round(progress.seconds, 1),
                "best": best,
                "samples": [sample._asdict() for sample in result.samples],
            },
            self.config.best_metric,
        )

    def _judged(self) -> Bundle:
        """Return the bundle that is validated and kept: the moving average, if configured."""
        judged_model = self.bundle
        if self.average is not None:
            judged_model = dataclasses.replace(judged_model, model=self.average.model)
        if self.divided:
            judged_model = gathered(judged_model, self.world, self.device)
        return judged_model

    def save(self) -> None:
        """Write the checkpoint; process 0 does it for all."""
        average = self.average.model if self.average else None
        path, model = self.folder.checkpoint, self.bundle.model
        save_checkpoint(path, model, self.optimizer, self.progress, average, self.world)


def _check_same_parts(saved_classes: dict[str, str], current_classes: dict[str, str]) -> None:
    for path in sorted(saved_classes.keys() | current_classes.keys()):
        if saved_classes.get(path) != current_classes.get(path):
            usual = "Headway's own"
            raise RunError(
                f"The run began with {path or 'the model'} of class "
                f"{saved_classes.get(path, usual)}, but "
                f"here it is {current_classes.get(path, usual)}.",
                "Resume it in Python with the same change= that it began with.",
            )
