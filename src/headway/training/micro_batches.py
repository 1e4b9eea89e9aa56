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


class FittingStep(TrainingStep):
    """Make updates in as many parts as memory needs."""

    parts: int = 1
    """Into how many each batch is split."""
    say_parts: Callable[[int], None] | None = None
    """Is told when there are more."""

    def __call__(self, step: int, batches: Sequence[Batch]) -> StepResult:
        """Make update number `step`; memory that suffices for gradients must do for Adam too."""
        try:
            return super().__call__(step, batches)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            raise TrainingError(
                f"Memory does not suffice for the optimizer at step {step}.",
                "Train a smaller model or use a machine with more memory.",
            ) from error

    def accumulate(self, batches: Sequence[Batch], tokens: int) -> tuple[float, float]:
        """Add up the gradients; where memory does not suffice, all of them again in smaller parts.

        Raises TrainingError when one pair alone is too large.
        """
        generators, before = _generator_states(self.device), self.parts
        while (sums := self._attempt(batches, tokens)) is None:
            # The half-summed gradient of the failed attempt would count twice.
            self.optimizer.zero_grad(set_to_none=True)
            if self.device.type == "cuda":
                torch.cuda.empty_cache()
            self._check_divisible(batches)
            self.parts *= 2
            # Dropout is drawn as if the batch had been in so many parts from the start.
            _set_generators(self.device, generators)
        if self.parts != before and self.say_parts is not None:
            self.say_parts(self.parts)
        return sums

    def _attempt(self, batches: Sequence[Batch], tokens: int) -> tuple[float, float] | None:
        """Return None when memory did not suffice; what the error held is free by then."""
        try:
            parts = [part for batch in batches for part in split(batch, self.parts)]
            return super().accumulate(parts, tokens)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            return None

    def _check_divisible(self, batches: Sequence[Batch]) -> None:
        """Raise TrainingError when all parts that were tried were single pairs already."""
        if any(len(batch) > self.parts for batch in batches):
            return
        source = max(batch.source_ids.size(1) for batch in batches)
        target = max(batch.target_ids.size(1) for batch in batches)
        raise TrainingError(
            f"Memory does not suffice for one pair alone, of up to {source} source and {target} "
            "target pieces.",
            "Lower data.max_pieces, train a smaller model or use a machine with more memory.",
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
