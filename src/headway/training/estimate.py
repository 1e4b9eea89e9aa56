"""The expected time and memory of a run after its first steps, and the actual ones at its end.

The estimate comes from the run itself, so it costs nothing and changes nothing. It covers the steps
alone, including the reading of batches; validation is neither estimated nor counted.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from headway.counted import counted
from headway.runtime.memory import forget_peak, peak_memory
from headway.training.checkpoint import Progress

_SKIPPED = 5  # first steps, which also prepare kernels and memory
_MEASURED = 20
_LONG = 600  # seconds; compiling takes one or two minutes of them


class StepClock:
    """Add up the time of the steps in the progress of a run, also over continued runs."""

    def __init__(
        self,
        progress: Progress,
        device: torch.device,
        preparations: Callable[[], int] = lambda: 0,
        could_record: bool = False,
    ) -> None:
        """Continue the figures of the progress; the peak of memory begins here.

        preparations: counts passes that prepared later ones; steps with such passes are not
        measured. could_record: see `TrainingStep.could_record`; a long run gets advice on it.
        """
        forget_peak(device)
        self.progress = progress
        self.device = device
        self.preparations = preparations
        self.could_record = could_record
        self._to_skip = _SKIPPED
        self._measured: list[float] = []

    @contextmanager
    def step(self) -> Iterator[None]:
        """Count the time of the block, which is one step."""
        prepared = self.preparations()
        start = time.perf_counter()
        yield
        seconds = time.perf_counter() - start
        self.progress.step_seconds += seconds
        prepares = self.preparations() != prepared
        self.progress.preparing_seconds += seconds if prepares else 0.0
        if self._to_skip:
            self._to_skip -= 1
        elif self.progress.estimate is None and not prepares:
            self._measured.append(seconds)

    def estimate(self, steps: int, most_steps: int | None) -> str | None:
        """Return the estimate in words, once, when enough steps have been measured.

        steps: number of steps made. most_steps: the last step at most, if it is known.
        """
        progress = self.progress
        progress.peak_memory = max(progress.peak_memory, peak_memory(self.device))
        if progress.estimate is not None or len(self._measured) < _MEASURED:
            return None
        a_step = sum(self._measured) / _MEASURED
        progress.estimate = {"step_seconds": a_step, "memory": progress.peak_memory}
        if most_steps is None:
            steps_left = 0  # perhaps a short run, which needs no advice
            time_left = f"1,000 steps take about {_time(1000 * a_step)}"
        else:
            steps_left = most_steps - steps
            at_most = counted(steps_left, "step")
            time_left = f"About {_time(steps_left * a_step)} to go for {at_most} at most"
        excluded = (
            "validation takes" if not self.preparations() else "new shapes and validation take"
        )
        if progress.peak_memory:
            memory = f", and {_memory(progress.peak_memory)} of memory; {excluded} more of both."
        else:  # on a CPU under Windows it is not known
            memory = f"; {excluded} more."
        return " ".join([time_left + memory, *advice(self.could_record, steps_left * a_step)])


def advice(could_record: bool, seconds: float) -> list[str]:
    """Return advice for a long run whose passes another setting would record."""
    if not could_record or seconds <= _LONG:
        return []
    return [
        "With training.compile=true from its beginning a run so long takes a GPU less time, with a "
        "small model or small batches much less."
    ]


def compare(progress: Progress) -> dict[str, Any]:
    """Return estimated and actual figures of a finished run for its report, if it has an estimate.

    The estimated time is for the steps that were made, so that the comparison also holds for a run
    that patience ended early.
    """
    if not progress.estimate:
        return {}
    return {
        "estimate": {
            "seconds": round(progress.estimate["step_seconds"] * progress.step, 1),
            "memory": int(progress.estimate["memory"]) or None,
            "took_seconds": round(progress.step_seconds, 1),
            "preparing_seconds": round(progress.preparing_seconds, 1),
            "took_memory": progress.peak_memory or None,
        }
    }


def comparison_in_words(estimate: dict[str, Any]) -> str:
    """Return a sentence on the error of an estimate."""
    seconds, took_seconds = estimate["seconds"], estimate["took_seconds"]
    memory, took_memory = estimate["memory"], estimate["took_memory"]
    preparing = estimate["preparing_seconds"]
    shapes = f", {_time(preparing)} of it for new shapes" if preparing else ""
    took = f"{_time(took_seconds)} ({_off(took_seconds, seconds)}{shapes})"
    if memory is None or took_memory is None:
        return f"Estimated {_time(seconds)} for the steps; took {took}."
    return (
        f"Estimated {_time(seconds)} and {_memory(memory)} for the steps; took {took} and "
        f"{_memory(took_memory)} ({_off(took_memory, memory)})."
    )


def _off(took: float, estimated: float) -> str:
    return f"{100 * (took / max(estimated, 1e-9) - 1):+.0f} %"


def _time(seconds: float) -> str:
    return f"{seconds / 60:,.0f} minutes" if seconds >= 120 else f"{seconds:,.1f} seconds"


def _memory(size: float) -> str:
    return f"{size / 1e9:,.1f} GB"
