"""Batches that do not fit into memory are computed in smaller parts, to the same update.

The loss is a sum over real target pieces divided by the number in the whole update, and so is its
gradient: computed part by part and added up, both differ from the whole by rounding, and by what
dropout draws for each part.
"""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from headway.data.batching import Batch
from headway.errors import TrainingError
from headway.training.cuda_graphs import OUT_OF_MEMORY
from headway.training.update import StepResult, TrainingStep

# What torch and its back ends say; only CUDA has an exception of its own.
_SIGNS = (
    "DefaultCPUAllocator: can't allocate memory",
    "DefaultCPUAllocator: not enough memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "MPS backend out of memory",
)


def is_out_of_memory(error: Exception) -> bool:
    """Tell whether an error of torch, or of our loops, means that memory did not suffice."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(sign in str(error) for sign in _SIGNS)


class FittingStep(TrainingStep):
    """Make updates in as many parts as memory needs."""

    say_parts: Callable[[int], None] | None = None
    """Is told when there are more parts than before."""

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

    def accumulate(
        self, step: int, batches: Sequence[Batch], tokens: int
    ) -> Float[Tensor, ""] | float:
        """Add up the gradients; where memory does not suffice, all of them again in smaller parts.

        Raises TrainingError when one pair alone is too large, or when other processes would have
        to begin again too.
        """
        before = self.parts
        while (sums := self._attempt(step, batches, tokens)) is None:
            # The half-summed gradient of the failed attempt would count twice.
            self.forget_gradients()
            # What was recorded keeps the memory of a pass.
            freed = self.recorded is not None and self.recorded.stop(OUT_OF_MEMORY)
            if self.device.type == "cuda":
                torch.cuda.empty_cache()
            if not freed:
                self._check_divisible(batches)
                self.parts *= 2
        if self.parts != before and self.say_parts is not None:
            self.say_parts(self.parts)
        return sums

    def _attempt(
        self, step: int, batches: Sequence[Batch], tokens: int
    ) -> Float[Tensor, ""] | float | None:
        """Return None when memory did not suffice; what the error held is free by then."""
        try:
            return super().accumulate(step, batches, tokens)
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            return None

    def _check_divisible(self, batches: Sequence[Batch]) -> None:
        """Raise TrainingError when smaller parts are no help, or not to be had."""
        if self.world.size > 1:
            raise TrainingError(
                f"Memory does not suffice for process {self.world.rank}, with batches in "
                f"{self.parts} parts.",
                f"Start another run with training.parts={2 * self.parts}, or with a lower "
                "training.batch_tokens.",
            )
        if any(len(batch) > self.parts for batch in batches):
            return
        source = max(batch.source_ids.size(1) for batch in batches)
        target = max(batch.target_ids.size(1) for batch in batches)
        raise TrainingError(
            f"Memory does not suffice for one pair alone, of up to {source} source and {target} "
            "target pieces.",
            "Lower data.max_pieces, train a smaller model or use a machine with more memory.",
        )
