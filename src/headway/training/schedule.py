"""The learning rate over the steps (section 5.3, equation 3) and its common alternatives."""

import math
from collections.abc import Callable

from headway.config.training import TrainingConfig
from headway.errors import ConfigError, suggest


def paper_rate(step: int, d_model: int, warmup_steps: int) -> float:
    """Compute d_model^-0.5 min(step^-0.5, step warmup_steps^-1.5); steps count from 1.

    >>> round(paper_rate(4000, 512, 4000), 9)
    0.000698771

    Elsewhere: CustomSchedule, lr_scheduler, NoamLR, NoamOpt, rate, ScheduledOptim.
    """
    if step < 1:
        raise ConfigError(
            f"The step is {step}, but steps count from 1.",
            "Schedules of PyTorch count from 0: give step + 1.",
        )
    return d_model**-0.5 * min(step**-0.5, step * warmup_steps**-1.5)


def inverse_sqrt(step: int, warmup_steps: int, max_steps: int) -> float:
    """Fall with the square root of the step, as the paper does; 1 at the end of warm-up."""
    return math.sqrt(warmup_steps / step)


def linear(step: int, warmup_steps: int, max_steps: int) -> float:
    """Fall in a straight line to zero after the last step."""
    return max(0.0, (max_steps + 1 - step) / (max_steps + 1 - warmup_steps))


def cosine(step: int, warmup_steps: int, max_steps: int) -> float:
    """Fall along half a cosine to zero after the last step."""
    progress = (step - warmup_steps) / (max_steps + 1 - warmup_steps)
    return 0.5 * (1 + math.cos(math.pi * min(progress, 1.0)))


def constant(step: int, warmup_steps: int, max_steps: int) -> float:
    """Stay at the highest rate."""
    return 1.0


SCHEDULES: dict[str, Callable[[int, int, int], float]] = {
    "constant": constant,
    "cosine": cosine,
    "inverse_sqrt": inverse_sqrt,
    "linear": linear,
}

FALLING_TO_MAX_STEPS = ("cosine", "linear")
"""Schedules whose rate of every step depends on max_steps."""


def falls_to_end(training: TrainingConfig) -> bool:
    """Return True if rates depend on max_steps, so that a run cannot be made longer."""
    return training.schedule in FALLING_TO_MAX_STEPS or training.decay_steps is not None


class Schedule:
    """The rate of each step: a straight rise to the peak, then the named fall.

    With decay_steps, the last steps leave that fall in a straight line to zero ("cooldown", Zhai et
    al. 2022, Scaling Vision Transformers, section 3.5). The rates before them do not depend on
    max_steps.
    """

    def __init__(
        self,
        name: str,
        peak: float,
        warmup_steps: int,
        max_steps: int,
        decay_steps: int | None = None,
    ) -> None:
        """Choose a fall by name; the peak is the rate of step `warmup_steps`."""
        if name not in SCHEDULES:
            raise ConfigError(f"There is no schedule '{name}'.", suggest(name, SCHEDULES))
        if name in FALLING_TO_MAX_STEPS and max_steps <= warmup_steps:
            raise ConfigError(
                f"The {name} schedule cannot fall: max_steps {max_steps} is not more than "
                f"warmup_steps {warmup_steps}.",
                "Shorten the warm-up or train longer.",
            )
        if decay_steps is not None and name in FALLING_TO_MAX_STEPS:
            raise ConfigError(
                f"The {name} schedule falls to zero by itself, but decay_steps is {decay_steps:,}.",
                "Leave decay_steps out, or choose the schedule inverse_sqrt or constant.",
            )
        if decay_steps is not None and decay_steps > max_steps - warmup_steps:
            raise ConfigError(
                f"decay_steps is {decay_steps:,}, but {max_steps - warmup_steps:,} steps at most "
                f"follow the {warmup_steps:,} of warm-up.",
                "Give fewer, shorten the warm-up or train longer.",
            )
        self.fall = SCHEDULES[name]
        self.peak = peak
        self.warmup_steps = warmup_steps
        self.max_steps = max_steps
        self.decay_steps = decay_steps or 0

    def __call__(self, step: int) -> float:
        """Return the rate of a step; the first step is 1."""
        decay_start = self.max_steps - self.decay_steps
        if step <= decay_start or not self.decay_steps:
            return self._undecayed(step)
        steps_left = max(self.max_steps + 1 - step, 0)
        return self._undecayed(decay_start) * steps_left / (self.decay_steps + 1)

    def _undecayed(self, step: int) -> float:
        if step < self.warmup_steps:
            return self.peak * step / self.warmup_steps
        return self.peak * self.fall(step, self.warmup_steps, self.max_steps)


def paper_peak(d_model: int, warmup_steps: int) -> float:
    """Return the highest rate of equation 3, that of the last warm-up step."""
    return paper_rate(warmup_steps, d_model, warmup_steps)
