"""The updates of a run, monitored: problems in updates and validations are reported."""

from collections.abc import Sequence

from headway.config.training import TrainingConfig
from headway.data.batching import Batch
from headway.data.store import PairStore
from headway.errors import NotFiniteError
from headway.training import not_finite
from headway.training.checkpoint import Progress
from headway.training.diagnosis import (
    Diagnosis,
    TrainingProblem,
    Validated,
    not_recorded,
    out_of_memory,
)
from headway.training.micro_batches import update_within_memory
from headway.training.reporting import Reporter
from headway.training.schedule import falls_to_end
from headway.training.update import StepResult, TrainingStep


class MonitoredUpdates:
    """Make the updates of one run, and report problems."""

    def __init__(
        self,
        step: TrainingStep,
        progress: Progress,
        config: TrainingConfig,
        reporter: Reporter,
        pairs: PairStore,
        unigram_loss: float | None,
    ) -> None:
        """Go on from the progress, which keeps the observations."""
        self.step = step
        self.progress = progress
        self.clip_norm = config.clip_norm
        self.skip_not_finite = config.not_finite == "skip"
        self.reporter = reporter
        self.pairs = pairs
        self.diagnosis = Diagnosis(
            progress.observed,
            warmup_steps=config.warmup_steps,
            unigram_loss=unigram_loss,
            clip_norm=self.clip_norm,
            falls_to_end=falls_to_end(config),
        )

    def __call__(self, batches: Sequence[Batch]) -> StepResult | None:
        """Make the next update; return None if it was left out because it was not finite."""
        number = self.progress.step + 1
        try:
            result = self._update(number, batches)
        except NotFiniteError as error:
            self._not_finite(number, error, batches)
            return None
        self.progress.skipped_in_a_row = 0
        self._report(
            number,
            self.diagnosis.update(number, result.loss, result.gradient_norm, result.rate),
        )
        return result

    def look_at_text(self, findings: Sequence[TrainingProblem]) -> None:
        """Report problems of the text, unless they were reported before the run was continued."""
        self._report(self.progress.step, self.diagnosis.new(self.progress.step, *findings))

    def look_at_validation(self, result: Validated) -> None:
        """Look at a validation after the latest update."""
        self._report(self.progress.step, self.diagnosis.validation(self.progress.step, result))

    def _update(self, number: int, batches: Sequence[Batch]) -> StepResult:
        """Make an update; report when it first needs parts, or stops recording its passes."""
        try:
            return update_within_memory(self.step, number, batches)
        finally:  # also for an update that is not finite
            recorded = self.step.recorded
            if recorded is not None and recorded.stopped_by is not None:
                problem = not_recorded(recorded.stopped_by)
                self._report(number, self.diagnosis.new(number, problem))
            if self.step.parts > self.progress.parts:
                self.progress.parts = self.step.parts
                self._report(number, self.diagnosis.new(number, out_of_memory(self.step.parts)))

    def _not_finite(self, step: int, error: NotFiniteError, batches: Sequence[Batch]) -> None:
        """Count an update that is left out, or raise the error that ends the run."""
        described = not_finite.describe(batches, self.pairs)
        remedy = "It is left out." if self.skip_not_finite else error.remedy
        problem = TrainingProblem("not finite", f"{error.message} {described} {remedy}")
        is_new = bool(self.diagnosis.new(step, problem))
        self.reporter.diagnosis(
            step,
            *problem,
            places=not_finite.places_of(batches, self.pairs),
            say=self.skip_not_finite and is_new,  # an error that ends the run says it itself
        )
        if not self.skip_not_finite:
            raise not_finite.stopping_error(error, described) from None
        self.progress.skipped += 1
        self.progress.skipped_in_a_row += 1
        not_finite.check_in_a_row(self.progress.skipped_in_a_row, error, self.clip_norm)

    def _report(self, step: int, problems: Sequence[TrainingProblem]) -> None:
        for problem in problems:
            self.reporter.diagnosis(step, *problem)
