"""The updates of a run, each looked at: what goes wrong in one, or in a validation, is said."""

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
from headway.training.micro_batches import FittingStep
from headway.training.reporting import Reporter
from headway.training.update import StepResult


class WatchedStep:
    """Make the updates of one run, and say what goes wrong."""

    def __init__(
        self,
        step: FittingStep,
        progress: Progress,
        config: TrainingConfig,
        reporter: Reporter,
        pairs: PairStore,
        unigram_loss: float | None,
    ) -> None:
        """Go on from the progress, which keeps what has been observed."""
        self.step = step
        step.say_parts = self._use_parts
        if step.recorded is not None:
            step.recorded.say_stopped = self._not_recorded
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
        )

    def look_at_text(self, findings: Sequence[TrainingProblem]) -> None:
        """Say what is wrong with the text, unless it was said before the run was continued."""
        self._say(self.progress.step, self.diagnosis.new(self.progress.step, *findings))

    def __call__(self, batches: Sequence[Batch]) -> StepResult | None:
        """Make the next update; None means that it was left out, because it was not finite."""
        number = self.progress.step + 1
        try:
            result = self.step(number, batches)
        except NotFiniteError as error:
            self._not_finite(number, error, batches)
            return None
        self.progress.skipped_in_a_row = 0
        self._say(
            number,
            self.diagnosis.update(number, result.loss, result.gradient_norm, result.rate),
        )
        return result

    def look_at_validation(self, result: Validated) -> None:
        """Look at a validation after the latest update."""
        self._say(self.progress.step, self.diagnosis.validation(self.progress.step, result))

    def _not_finite(self, step: int, error: NotFiniteError, batches: Sequence[Batch]) -> None:
        """Count an update that was left out, or raise what ends the run."""
        described = not_finite.describe(batches, self.pairs)
        remedy = "It is left out." if self.skip_not_finite else error.remedy
        finding = TrainingProblem("not finite", f"{error.message} {described} {remedy}")
        fresh = bool(self.diagnosis.new(step, finding))
        self.reporter.diagnosis(
            step,
            *finding,
            places=not_finite.places_of(batches, self.pairs),
            say=self.skip_not_finite and fresh,  # the error that ends a run says it
        )
        if not self.skip_not_finite:
            raise not_finite.stopping_error(error, described) from None
        self.progress.skipped += 1
        self.progress.skipped_in_a_row += 1
        not_finite.check_in_a_row(self.progress.skipped_in_a_row, error, self.clip_norm)

    def _use_parts(self, parts: int) -> None:
        """Remember that batches need parts, and say so the first time."""
        self.progress.parts = parts
        step = self.progress.step + 1
        self._say(step, self.diagnosis.new(step, out_of_memory(parts)))

    def _not_recorded(self, why: str) -> None:
        step = self.progress.step + 1
        self._say(step, self.diagnosis.new(step, not_recorded(why)))

    def _say(self, step: int, findings: Sequence[TrainingProblem]) -> None:
        for finding in findings:
            self.reporter.diagnosis(step, *finding)
