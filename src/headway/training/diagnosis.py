"""Problems of a training, in plain words: the observation, its meaning, the remedy.

Each rule looks at several updates or validations, so that noise does not trigger it, and reports
once in a run. Thresholds come from healthy runs (Multi30k, SCAN, Python documentation, the
demonstration) and from spoiled ones. One figure is the share of the learned nats that comes from
the source. With the targets shifted by a line it was below 0.1 %, and with a rate ten times too
high 2 to 5 %. In a healthy run of only 201 updates it was 2 % at update 92 and 10 % at the end.
"""

import math
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from headway.counted import counted
from headway.errors import shown
from headway.training.budget import USABLE_STEPS

BLOCK = 50
"""Updates that are looked at together."""
_RISE = 0.5  # nats above the lowest block; healthy runs stay below 0.25
_NOISE = 10.0  # standard errors of a block's mean, where updates scatter widely
_EXPLOSION = 20.0  # times the usual gradient norm; healthy runs stay below 5
_FEW_BLOCKS = 3  # blocks before a gradient norm is called usual
_IN_A_ROW = 3  # validations
_JUDGED_FROM = 500  # updates; healthy runs use their source clearly before update 250
_LEARNED = 0.1  # nats below the frequencies of pieces; earlier the source is not judged
_IGNORED = 0.05  # least share of the learned nats that comes from the source; healthy: 0.13
_OVERFIT = 1.05  # times the lowest validation loss
_UNLEARNED_SHARE = 0.5  # of the final translations, empty or the same
_FEWEST_SOURCES = 5  # different ones, before final translations are judged


class TrainingProblem(NamedTuple):
    """One problem; `problem` is its name in metrics.jsonl."""

    problem: str
    message: str


class Validated(NamedTuple):
    """The observations of one validation."""

    loss: float
    best: bool
    exchanged: "tuple[float, float] | None" = None
    """Loss of some pairs, and their loss with the sources exchanged among them."""
    same_output: str | None = None
    """The one translation of several different sentences, if all are the same."""


@dataclass(slots=True)
class Observed:
    """The observations of a run so far, in plain values; a checkpoint keeps them."""

    losses: list[float] = field(default_factory=list)
    """Losses of the updates in the unfinished block; below, their gradient norms."""
    norms: list[float] = field(default_factory=list)
    lowest_loss: float | None = None
    """Mean of the lowest block; below, the update that ended it."""
    lowest_step: int = 0
    high_blocks: int = 0
    norm_logs: list[float] = field(default_factory=lambda: [0.0, 0.0])
    """Number of usual blocks, and the sum of the logarithms of their median norms."""
    exploded_blocks: int = 0
    since_validation: list[float] = field(default_factory=lambda: [0.0, 0.0])
    """Updates since the last validation, and the sum of their losses."""
    validations: list[list[float]] = field(default_factory=list)
    """Step, validation loss and training loss of the lowest validation and of those after it."""
    learned: bool = False
    """Whether a validation has come below the frequencies of pieces."""
    unlearned_losses: list[float] = field(default_factory=list)
    """The last validation losses after the warm-up."""
    unlearned: int = 0
    ignoring: int = 0
    same_outputs: int = 0
    """Validations in a row with one translation for all."""
    findings: list[dict[str, Any]] = field(default_factory=list)
    """Reported problems: step, problem, message."""


class Diagnosis:
    """Look at each update and validation of one run."""

    def __init__(
        self,
        observed: Observed,
        *,
        warmup_steps: int,
        unigram_loss: float | None,
        clip_norm: float | None = None,
        falls_to_end: bool = False,
    ) -> None:
        """Continue from earlier observations.

        unigram_loss: loss of the pieces' frequencies alone; without it the rules on learning are
        off. clip_norm: the present limit of gradient norms. falls_to_end: the rate falls until the
        last step, as with a number of minutes, so the run should not end before it.
        """
        self.observed = observed
        self.warmup_steps = warmup_steps
        self.gentler = gentler(clip_norm)
        self.in_time = (
            "give another run fewer minutes or steps"
            if falls_to_end
            else "set training.patience to stop in time"
        )
        self.unigram_loss = unigram_loss

    def update(self, step: int, loss: float, norm: float, rate: float) -> list[TrainingProblem]:
        """Return new problems after this update."""
        seen = self.observed
        seen.losses.append(loss)
        seen.norms.append(norm)
        seen.since_validation[0] += 1
        seen.since_validation[1] += loss
        if len(seen.losses) < BLOCK:
            return []
        problems = [
            *_rising_loss(seen, step, rate, self.gentler),
            *_exploding_gradient(seen, rate, self.gentler),
        ]
        seen.losses, seen.norms = [], []
        return self.new(step, *problems)

    def validation(self, step: int, result: Validated) -> list[TrainingProblem]:
        """Return new problems after this validation."""
        problems = [*_overfitting(self.observed, step, result, self.in_time)]
        if step > self.warmup_steps and step >= _JUDGED_FROM:
            problems += _same_output(self.observed, step, result)
            if self.unigram_loss is not None:
                problems += _nothing_learned(self.observed, result, self.unigram_loss, self.gentler)
                problems += _ignored_source(self.observed, step, result, self.unigram_loss)
        return self.new(step, *problems)

    def new(self, step: int, *problems: TrainingProblem) -> list[TrainingProblem]:
        """Keep and return the problems that have not been reported in this run."""
        fresh = []
        for problem in problems:
            if all(old["problem"] != problem.problem for old in self.observed.findings):
                self.observed.findings.append({"step": step} | problem._asdict())
                fresh.append(problem)
        return fresh


def gentler(clip_norm: float | None) -> str:
    """Return settings that make smaller updates than those with this limit of gradient norms."""
    if clip_norm is not None and clip_norm <= 1:
        return "a lower learning_rate or more warmup_steps"
    return "a lower learning_rate, more warmup_steps or clip_norm=1.0"


def out_of_memory(parts: int) -> TrainingProblem:
    """Return the problem of batches that are computed in parts from here on."""
    return TrainingProblem(
        "out of memory",
        f"A batch does not fit into memory: from here on each is computed in {parts} parts, whose "
        "gradients are summed to the same updates. In another run, training.parts or a lower "
        "training.batch_tokens with a higher training.accumulate does so from the start.",
    )


def not_recorded(why: str) -> TrainingProblem:
    """Return the problem of passes whose kernels are started one by one from here on."""
    return TrainingProblem(
        "not recorded",
        f"Passes are no longer recorded for the GPU ({why}): right, but slower where the processor "
        "has to start each kernel.",
    )


def _rising_loss(seen: Observed, step: int, rate: float, gentler: str) -> Iterator[TrainingProblem]:
    """Find a loss that stays clearly above its lowest for two blocks."""
    mean = statistics.fmean(seen.losses)
    error = statistics.stdev(seen.losses) / math.sqrt(len(seen.losses))
    if seen.lowest_loss is None or mean < seen.lowest_loss:
        seen.lowest_loss, seen.lowest_step, seen.high_blocks = mean, step, 0
        return
    high = mean - seen.lowest_loss >= max(_RISE, _NOISE * error)
    seen.high_blocks = seen.high_blocks + 1 if high else 0
    if seen.high_blocks >= 2:
        yield TrainingProblem(
            "rising loss",
            f"The training loss has risen from {seen.lowest_loss:.2f} (up to step "
            f"{seen.lowest_step:,}) to {mean:.2f}: the rate, now {rate:.2g}, is most likely too "
            f"high. Start another run with {gentler}.",
        )


def _exploding_gradient(seen: Observed, rate: float, gentler: str) -> Iterator[TrainingProblem]:
    """Find gradient norms far beyond the earlier ones of the run, for two blocks."""
    median = statistics.median(seen.norms)
    blocks, logs = seen.norm_logs
    usual = math.exp(logs / blocks) if blocks >= _FEW_BLOCKS else math.inf
    # A gradient below 1 does no harm, however small earlier ones were.
    if median <= max(1.0, _EXPLOSION * usual):
        seen.norm_logs = [blocks + 1, logs + math.log(max(median, 1e-6))]
        seen.exploded_blocks = 0
        return
    seen.exploded_blocks += 1
    if seen.exploded_blocks >= 2:
        yield TrainingProblem(
            "exploding gradient",
            f"The gradient's norm is {median:.3g}, where {usual:.3g} was usual: the rate, now "
            f"{rate:.2g}, is most likely too high. Start another run with {gentler}.",
        )


def _overfitting(
    seen: Observed, step: int, result: Validated, in_time: str
) -> Iterator[TrainingProblem]:
    """Find a validation loss that rises from its lowest while the training loss falls.

    in_time: the words on an earlier end.
    """
    updates, total = seen.since_validation
    if not updates:  # a continued run that ends without another update
        return
    seen.since_validation = [0.0, 0.0]
    training = total / updates
    point = [step, result.loss, training]
    if not seen.validations or result.loss < seen.validations[0][1] or result.best:
        seen.validations = [point]
        return
    lowest, *since = [*seen.validations, point]
    seen.validations = [lowest, *since[-_IN_A_ROW:]]
    risen = len(since) >= _IN_A_ROW and result.loss > since[-_IN_A_ROW][1]
    high = all(loss >= _OVERFIT * lowest[1] for _, loss, _ in since[-_IN_A_ROW:])
    if risen and high and training < lowest[2]:
        yield TrainingProblem(
            "over-fitting",
            f"The validation loss has risen from {lowest[1]:.3f} at step {int(lowest[0]):,} to "
            f"{result.loss:.3f}, while the training loss fell from {lowest[2]:.3f} to "
            f"{training:.3f}: the model learns its training text by heart. Use the best weights, "
            f"which are kept, and {in_time}; more text, more dropout or weight_decay help another "
            "run.",
        )


def _nothing_learned(
    seen: Observed, result: Validated, unigram_loss: float, gentler: str
) -> Iterator[TrainingProblem]:
    """Find a model whose loss after the warm-up is not below that of the pieces' frequencies."""
    # Once below is enough: a loss that rises again is another problem.
    seen.learned = seen.learned or result.loss < unigram_loss
    seen.unlearned += 1
    seen.unlearned_losses = [*seen.unlearned_losses, result.loss][-_IN_A_ROW:]
    if seen.unlearned >= _IN_A_ROW and not seen.learned:
        losses = seen.unlearned_losses
        falls = len(losses) == _IN_A_ROW and all(b < a for a, b in pairwise(losses))
        cause = (
            "It still falls, so the rate is too low, or it has not been long enough yet: train "
            "longer, or start another run with a higher learning_rate."
            if falls
            else f"Most likely the rate is too high: start another run with {gentler}."
        )
        yield TrainingProblem(
            "nothing learned",
            f"The validation loss is {result.loss:.2f}, but knowing how frequent each token is "
            f"would give {unigram_loss:.2f}: after the warm-up the model has learned nothing "
            f"more. {cause}",
        )


def _ignored_source(
    seen: Observed, step: int, result: Validated, unigram_loss: float
) -> Iterator[TrainingProblem]:
    """Find a decoder that ignores its source.

    Every model first learns which pieces are frequent and which follow which, so the gain from the
    right source is compared with everything that the model has learned.
    """
    learned = unigram_loss - result.loss
    if result.exchanged is None or learned < _LEARNED:
        return
    right, exchanged = result.exchanged
    seen.ignoring = seen.ignoring + 1 if exchanged - right < _IGNORED * learned else 0
    if seen.ignoring >= _IN_A_ROW:
        yield TrainingProblem(
            "ignored source",
            f"With the sources of other sentences the validation loss is {exchanged:.3f} instead "
            f"of {right:.3f}, hardly worse: the decoder ignores its source. {_most_likely(step)} "
            "source and target are misaligned: compare the lines of both files, or let `headway "
            "check` look at them. If they are right, lower the rate or train longer.",
        )


def _same_output(seen: Observed, step: int, result: Validated) -> Iterator[TrainingProblem]:
    """Find a model that translates all sentences alike."""
    seen.same_outputs = 0 if result.same_output is None else seen.same_outputs + 1
    if seen.same_outputs >= _IN_A_ROW:
        yield TrainingProblem(
            "same output",
            f"All validation sentences are translated as '{result.same_output}': the model has "
            f"learned nothing from its source yet, or lost it. {_most_likely(step)} "
            "the rate is too high or the two sides are misaligned: look at the losses and at the "
            "lines of both files.",
        )


def _most_likely(step: int) -> str:
    """Return the words before a cause; to train longer comes first after few updates."""
    if step >= USABLE_STEPS:
        return "Most likely"
    return (
        f"After {counted(step, 'step')} that may still change: train longer. If it does not, most "
        "likely"
    )


def unlearned_remark(
    text: str, sources: Sequence[str], outputs: Sequence[str], steps: int
) -> str | None:
    """Return a remark if more than half of the translations are empty, or the same.

    text: the name of the text. sources, outputs: its lines and their translations. steps: of the
    run. There is no remark on fewer than five different sources.
    """
    if len(set(sources)) < _FEWEST_SOURCES:
        return None
    output, count = Counter(outputs).most_common(1)[0]
    if count <= _UNLEARNED_SHARE * len(outputs):
        return None
    description = "the same, " + shown(output) if output.strip() else "empty"
    return (
        f"{text}: {count:,} of {counted(len(outputs), 'translation')} are {description}. The "
        f"model has learned too little in {counted(steps, 'step')}: train for more steps or "
        "minutes. If the validation loss no longer falls, look at the lines of both files with "
        "headway check."
    )
