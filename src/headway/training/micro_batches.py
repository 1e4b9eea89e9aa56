"""Batches that do not fit into memory are computed in parts, with the same update as result.

The loss is a sum over real target pieces divided by the number in the whole update, and so is its
gradient: computed part by part and added up, both differ from the whole by rounding only.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import Tensor

from headway.data.batching import Batch
from headway.data.tokenizer import PAD_ID
from headway.errors import TrainingError
from headway.training.step import StepResult, TrainingStep

# What torch and its back ends say; only CUDA has an exception of its own.
_SIGNS = (
    "DefaultCPUAllocator: can't allocate memory",
    "DefaultCPUAllocator: not enough memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "MPS backend out of memory",
)


def split(batch: Batch, parts: int) -> list[Batch]:
    """Return the rows of a batch, in order, as `parts` batches of about as many rows each.

    There are fewer parts where there are fewer rows. Padding that no row of a part needs is cut.
    """
    count = min(parts, len(batch))
    if count <= 1:
        return [batch]
    bounds = [len(batch) * number // count for number in range(count + 1)]
    return [_rows(batch, slice(*cut)) for cut in pairwise(bounds)]


def is_out_of_memory(error: Exception) -> bool:
    """Tell whether an error of torch means that memory did not suffice."""
    if isinstance(error, torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(sign in str(error) for sign in _SIGNS)


class FittingStep:
    """Make updates in as many parts as memory needs."""

    def __init__(
        self, step: TrainingStep, parts: int = 1, say_parts: Callable[[int], None] = lambda _: None
    ) -> None:
        """Begin with this number of parts; `say_parts` is told of each larger one."""
        self.step = step
        self.parts = parts
        self.say_parts = say_parts
        self._updating = False
        step.optimizer.register_step_pre_hook(self._begin_update)

    def __call__(self, number: int, batches: Sequence[Batch]) -> StepResult:
        """Make update `number`; where memory does not suffice, all of it again in smaller parts.

        Raises TrainingError when one pair alone is too large, or the optimizer's averages are.
        """
        generators, before = _generator_states(self.step.device), self.parts
        while (result := self._attempt(number, batches)) is None:
            # The half-summed gradient of the failed attempt would count twice.
            self.step.optimizer.zero_grad(set_to_none=True)
            self._free()
            self._check_divisible(batches)
            self.parts *= 2
            # Dropout is drawn as if the batch had been in so many parts from the start.
            _set_generators(self.step.device, generators)
        if self.parts != before:
            self.say_parts(self.parts)
        return result

    def _attempt(self, number: int, batches: Sequence[Batch]) -> StepResult | None:
        """Return None when memory did not suffice; what the error held is free by then."""
        self._updating = False
        try:
            return self.step(number, [part for b in batches for part in split(b, self.parts)])
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            if self._updating:  # weights may be half changed: nothing can be made again
                raise TrainingError(
                    f"Memory does not suffice for the optimizer at step {number}.",
                    "Train a smaller model or use a machine with more memory; the last "
                    "checkpoint is good.",
                ) from error
            return None

    def _begin_update(self, *_: object) -> None:
        self._updating = True

    def _free(self) -> None:
        if self.step.device.type == "cuda":
            torch.cuda.empty_cache()

    def _check_divisible(self, batches: Sequence[Batch]) -> None:
        """Raise TrainingError when all parts that were tried were single pairs already."""
        if any(len(batch) > self.parts for batch in batches):
            return
        source = max(batch.source_ids.size(1) for batch in batches)
        target = max(batch.target_ids.size(1) for batch in batches)
        raise TrainingError(
            f"Memory does not suffice for one pair alone, of up to {source} source and {target} "
            "target pieces.",
            "Lower data.max_pieces, train a smaller model or use a machine with more memory; "
            "the last checkpoint is good.",
        )


def _rows(batch: Batch, rows: slice) -> Batch:
    source_ids = _without_padding(batch.source_ids[rows])
    label_ids = _without_padding(batch.label_ids[rows])
    return Batch(
        source_ids=source_ids,
        target_ids=batch.target_ids[rows, : label_ids.size(1)],
        label_ids=label_ids,
        num_source_tokens=int((source_ids != PAD_ID).sum()),
        num_target_tokens=int((label_ids != PAD_ID).sum()),
        indices=batch.indices[rows],
    )


def _without_padding(ids: Tensor) -> Tensor:
    """Cut the columns at the end that are padding in each row."""
    return ids[:, : int((ids != PAD_ID).sum(dim=1).max())]


def _generator_states(device: torch.device) -> list[Tensor]:
    states = [torch.get_rng_state()]
    if device.type == "cuda":
        states.append(torch.cuda.get_rng_state(device))
    elif device.type == "mps":
        states.append(torch.mps.get_rng_state())
    return states


def _set_generators(device: torch.device, states: list[Tensor]) -> None:
    torch.set_rng_state(states[0])
    if device.type == "cuda":
        torch.cuda.set_rng_state(states[1], device)
    elif device.type == "mps":
        torch.mps.set_rng_state(states[1])
