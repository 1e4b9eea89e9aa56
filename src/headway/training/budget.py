"""A training that fits into a number of minutes: steps and intervals from the measured speed.

A machine may slow down after the measurement: a laptop gets warm, or other programs start. So the
number of steps is fitted to the speed of the run after each validation, until the rate begins its
straight fall to zero; rates before it do not depend on that number. It is written into the
configuration of the run, which can be repeated bit for bit.
"""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from headway.config.model import Architecture
from headway.config.presets import architecture
from headway.config.training import TrainingConfig
from headway.counted import counted
from headway.errors import ConfigError
from headway.training.schedule import paper_peak

DECIDED = (
    "average_checkpoints",
    "checkpoint_every_steps",
    "decay_steps",
    "max_epochs",
    "max_steps",
    "patience",
    "schedule",
    "validate_every_steps",
    "warmup_steps",
)
"""Settings of [training] that a number of minutes decides."""

USABLE_STEPS = 2000
"""Updates after which the translations of a new model are usable as a rule."""

USABLE_EARLIEST = 500
"""Updates after which they begin to be usable where sentences are short and simple."""

USABLE_PAIRS = 1000
"""Training pairs below which a new model learns its text by heart, whatever the updates."""

_VALIDATIONS = 20
_FEWEST_VALIDATIONS = 4
_VALIDATED = 0.1  # share of the time that validations may take
_STEPS_OF_AN_INTERVAL = 5
_EARLY = 2  # validations whose translations run to the limit, because hardly anything is learned
_LOST = 120.0  # most seconds of work that a power cut costs
_TO_LEARN = 200  # updates; with fewer a model hardly learns anything
_SIZES = ("d_model", "d_ff", "num_encoder_layers", "num_decoder_layers")
_SMALL_BATCH = 2048  # tokens, as in the recipes for a CPU
_DEEP = 6  # layers from which normalization after each sub-layer needs thousands of updates
_LEAST = 10
_TRIAL = 20  # steps of a run that only tries its settings
_DECAY = 0.4  # of the steps; the shorter, the later their number is fixed
_WINDOW = 6  # validations whose distance in time is the speed of a run
_AVERAGED_ONCE = 2  # snapshots; of more, an average of fewer is tried as well


@dataclass(frozen=True, slots=True)
class Budget:
    """The minutes from the beginning of the command to the final scores."""

    minutes: float
    began: float = field(default_factory=time.monotonic)
    """Beginning of the command, by `time.monotonic`."""

    def __post_init__(self) -> None:
        """Refuse minutes that are not above 0."""
        if not 0 < self.minutes < math.inf:
            raise ConfigError(
                f"minutes is {self.minutes}, but must be a number above 0.", "Give 10, say."
            )

    def left(self) -> float:
        """Return the seconds that are left."""
        return self.began + 60 * self.minutes - time.monotonic()


def check_budget(*, resume: bool, alone: bool) -> None:
    """Refuse minutes for a run whose steps are fixed already, or that has several processes."""
    if resume:
        raise ConfigError(
            "A run's number of steps is fixed when it starts, and minutes cannot change it later.",
            "Leave --minutes out; --resume continues to the planned end.",
        )
    if not alone:
        raise ConfigError(
            "minutes can be measured only with one process, but there are several.",
            "Leave --minutes out and set training.max_steps, training.warmup_steps and "
            "training.schedule.",
        )


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds of each part of a run."""

    step: float
    """One update."""
    compiling: float
    """Extra time of the first updates, if layers are compiled."""
    validation: float
    """One validation of a model whose translations are as long as the references."""
    endless: float
    """Extra time of a validation whose translations run to the limit of their length."""
    end: float
    """All work after the last step and its validation, with one average of weights."""
    second_average: float = 0.0
    """An average of fewer snapshots, which is tried if more than two are averaged."""
    start: float = 0.0
    """Validation of the model that a fine-tune starts from."""
    updates: int = 0
    """Number of updates whose mean is `step`."""


class Deadline:
    """The time of the last step, kept by fitting the number of steps to the speed of the run."""

    def __init__(self, ends: float) -> None:
        """Keep the end of the last step and its validation, by `time.monotonic`."""
        self.ends = ends
        self._validated: list[tuple[int, float]] = []

    def fit(self, training: TrainingConfig, step: int) -> TrainingConfig:
        """Return the settings with as many steps as fit at the speed of the run.

        Call it after each validation, at this step. Once the straight fall has begun, the settings
        stay. A run that is late still makes one interval, in which the rate falls to zero.
        """
        now = time.monotonic()
        self._validated.append((step, now))
        decay, validate_every = training.decay_steps, training.validate_every_steps
        if decay is None or validate_every is None or step >= training.max_steps - decay:
            return training
        first, began = self._validated[-_WINDOW:][0]
        if first == step:
            return training
        speed = (step - first) / (now - began)  # steps a second, validations included
        steps_left = max(math.floor((self.ends - now) * speed), validate_every)
        decay = min(round(_DECAY * (step + steps_left)), steps_left)
        return training.replace({"max_steps": step + steps_left, "decay_steps": decay})


@dataclass(frozen=True, slots=True)
class Plan:
    """The training that fits into the minutes."""

    training: TrainingConfig
    costs: Costs
    minutes: float
    seconds: float
    """Expected, from now to the end."""
    deadline: Deadline
    """For the last step."""
    advice: str = ""
    """The minutes that more steps would take, if these are few."""

    def summary(self) -> list[str]:
        """Return the measurements and the choices, a sentence each."""
        training, costs = self.training, self.costs
        validate_every = training.validate_every_steps or training.max_steps
        end = (datetime.now() + timedelta(seconds=self.seconds)).strftime("%H:%M:%S")
        sentences = [
            f"Measured: {costs.step:.3f} seconds per update (mean of {costs.updates}), "
            f"{costs.validation:.1f} per validation, {costs.end:.0f} for all work after the last "
            "one.",
            f"{_minutes(self.minutes, 'allows', 'allow')} {training.max_steps:,} steps: "
            f"{training.warmup_steps:,} of warm-up, then the highest rate, and in the last "
            f"{training.decay_steps or 0:,} a straight fall of the rate to zero, with a "
            f"validation every {counted(validate_every, 'step')}. The run should end at about "
            f"{end}. Until the straight fall, the number of steps is fitted to the actual speed.",
        ]
        if training.max_steps < _TO_LEARN:
            few = counted(training.max_steps, "step")
            sentences.append(f"{few} are too few to learn much. {self.advice}")
        elif self.advice:
            sentences.append(self.advice)
        return sentences

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        chosen = {name: getattr(self.training, name) for name in (*DECIDED, "learning_rate")}
        return {
            "minutes": self.minutes,
            "expected_seconds": round(self.seconds, 1),
            "step_seconds": self.costs.step,
            "validation_seconds": self.costs.validation,
            "end_seconds": self.costs.end,
            "training": chosen,
        }


class _Room(NamedTuple):
    """The steps and validations that fit into some seconds."""

    steps: int
    validations: int
    seconds: float
    """Expected for everything but the steps."""


def plan(
    budget: Budget, costs: Costs, training: TrainingConfig, model: Architecture, pairs: int
) -> Plan:
    """Choose the steps that fit into the remaining minutes.

    The peak of the rate stays, and the warm-up is at most a tenth of the steps. `patience` and
    `max_epochs` are switched off, because the rate is to reach zero. pairs: of the training text; a
    new model with too few is not told when it is usable. Raises ConfigError if the time does not
    suffice for ten steps.
    """
    seconds_left = budget.left()
    steps, validations, other_seconds = _room(seconds_left, costs, training)
    advice = _advice(steps, budget, seconds_left, costs, training, model, pairs)
    if steps < _LEAST:
        overhead = 60 * budget.minutes - seconds_left + other_seconds
        raise ConfigError(
            f"{_minutes(budget.minutes, 'is', 'are')} not enough: preparation, validations and "
            f"final scores take {overhead:,.0f} seconds, and each update takes {costs.step:.2f}.",
            f"{advice} Or set the number of steps and the warm-up instead: --set "
            f"training.max_steps={_TRIAL} --set training.warmup_steps={_TRIAL // 10}.",
        )
    validate_every = math.ceil(steps / validations)
    needed = math.ceil(steps / validate_every)  # the interval before the last may be shorter
    seconds = other_seconds - (validations - needed) * costs.validation + steps * costs.step
    peak = training.learning_rate or paper_peak(model.d_model, training.warmup_steps)
    chosen: dict[str, Any] = {
        "max_steps": steps,
        "max_epochs": None,
        "schedule": "constant",
        "learning_rate": peak,
        "warmup_steps": max(min(training.warmup_steps, steps // 10), 1),
        "decay_steps": round(_DECAY * steps),
        "validate_every_steps": validate_every,
        "checkpoint_every_steps": max(min(validate_every, round(_LOST / costs.step)), 1),
        # At most over the last quarter of the steps: earlier weights are worse.
        "average_checkpoints": _averaged(training, needed),
        "patience": None,
    }
    deadline = Deadline(budget.began + 60 * budget.minutes - _after_steps(costs, training, needed))
    return Plan(training.replace(chosen), costs, budget.minutes, seconds, deadline, advice)


def _after_steps(costs: Costs, training: TrainingConfig, validations: int) -> float:
    """Return the seconds of the work after the last of these validations."""
    averages_twice = _averaged(training, validations) > _AVERAGED_ONCE
    return costs.end + (costs.second_average if averages_twice else 0.0)


def _room(seconds: float, costs: Costs, training: TrainingConfig) -> _Room:
    """Return the steps and validations that fit into these seconds.

    Fewer than ten steps are no run, and their number may be negative.
    """
    fixed = costs.start + costs.compiling + _EARLY * costs.endless + costs.end
    seconds_left = seconds - fixed - costs.second_average
    validations = _VALIDATED * seconds_left / max(costs.validation, 1e-9)
    validations = math.floor(min(max(validations, _FEWEST_VALIDATIONS), _VALIDATIONS))
    if _averaged(training, validations) > _AVERAGED_ONCE:
        fixed += costs.second_average
    steps = math.floor((seconds - fixed - validations * costs.validation) / costs.step)
    if steps >= _LEAST:
        validations = max(min(validations, steps // _STEPS_OF_AN_INTERVAL), 1)
        steps = math.floor((seconds - fixed - validations * costs.validation) / costs.step)
    return _Room(steps, validations, fixed + validations * costs.validation)


def _minutes_for(
    steps: int, budget: Budget, seconds_left: float, costs: Costs, training: TrainingConfig
) -> int:
    """Return the fewest whole minutes, above the budget, that suffice for these steps.

    seconds_left: remaining seconds of the budget.
    """
    minutes = math.floor(budget.minutes) + 1
    while _room(seconds_left + 60 * (minutes - budget.minutes), costs, training).steps < steps:
        minutes += 1
    return minutes


def _advice(
    steps: int,
    budget: Budget,
    seconds_left: float,
    costs: Costs,
    training: TrainingConfig,
    model: Architecture,
    pairs: int,
) -> str:
    """Return the minutes of a longer run, or an empty text if the steps are enough.

    A fine-tune begins with a usable model, and its architecture cannot change.
    """

    def whole_minutes(needed: int) -> int:
        return _minutes_for(needed, budget, seconds_left, costs, training)

    def minutes(needed: int) -> str:
        return counted(whole_minutes(needed), "minute")

    is_new = not training.start_from
    sentences = []
    if steps < _TO_LEARN:
        sentences.append(f"Give at least about {minutes(_TO_LEARN)}.")
    if is_new and steps < USABLE_STEPS and pairs >= USABLE_PAIRS:
        took = (
            minutes_between(whole_minutes(USABLE_EARLIEST), whole_minutes(USABLE_STEPS))
            if steps < USABLE_EARLIEST
            else f"{minutes(USABLE_STEPS)} for {USABLE_STEPS:,}"
        )
        sentences.append(f"{usable_after()}: at this speed about {took}.")
    if sentences and is_new:
        sentences += _shorter_ways(training, model)
    return " ".join(sentences)


def _shorter_ways(training: TrainingConfig, model: Architecture) -> Iterator[str]:
    """Yield the settings with which a new model learns more in the same time."""
    if _is_larger_than_tiny(model):
        yield "A smaller model (preset tiny) makes more steps in the same time."
    if training.batch_tokens > _SMALL_BATCH:
        yield (
            "Smaller batches make more steps in the same time: "
            f"--set training.batch_tokens={_SMALL_BATCH}."
        )
    layers = max(model.num_encoder_layers, model.num_decoder_layers)
    if model.norm_position == "post" and layers >= _DEEP:
        # Xiong et al. 2020, "On Layer Normalization in the Transformer Architecture".
        yield (
            f"With {layers} layers, a model learns in fewer steps with "
            "--set model.norm_position=pre."
        )


def usable_after() -> str:
    """Return the beginning of a sentence that ends with the time of these steps."""
    return (
        f"A new model begins to be usable after {USABLE_EARLIEST} (short, simple sentences) to "
        f"{USABLE_STEPS:,} steps"
    )


def minutes_between(fewest: int, most: int) -> str:
    """Return `5 to 18 minutes`, or `1 minute` if both are one."""
    return counted(most, "minute") if fewest == most else f"{fewest:,} to {most:,} minutes"


def _is_larger_than_tiny(model: Architecture) -> bool:
    """Return True if a size of this model is above that of the smallest preset."""
    tiny = architecture("tiny")
    return any(getattr(model, size) > getattr(tiny, size) for size in _SIZES)


def _minutes(minutes: float, verb: str, plural: str) -> str:
    """Return `1 minute` or `2.5 minutes`, with its verb."""
    return f"{minutes:g} minute {verb}" if minutes == 1 else f"{minutes:g} minutes {plural}"


def _averaged(training: TrainingConfig, validations: int) -> int:
    """Return how many of the last snapshots are averaged after this number of validations."""
    return max(min(training.average_checkpoints, validations // 4), 1)
