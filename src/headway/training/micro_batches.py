"""Batches that do not fit into memory are computed in smaller parts, to the same update.

The loss is a sum over real target pieces divided by the number in the whole update, and so is its
gradient. Added up over parts, both differ from those of the whole batch by rounding, and by the
random numbers that dropout draws for each part.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from headway.data.batching import Batch
from headway.errors import TrainingError
from headway.runtime.memory import is_out_of_memory
from headway.training.cuda_graphs import OUT_OF_MEMORY
from headway.training.update import StepResult, TrainingStep


def update_within_memory(step: TrainingStep, number: int, batches: Sequence[Batch]) -> StepResult:
    """Make update `number`, in smaller parts where there is not enough memory.

    `step.parts` is then the number of parts that fitted. Raises TrainingError if one pair alone is
    too large, if other processes would have to begin again too, or if the gradients fit but not
    the optimizer's step.
    """
    parts = step.parts
    while (loss_sum := _attempt(step, number, batches, parts)) is None:
        # The half-summed gradient of the failed attempt would count twice.
        step.forget_gradients()
        # Recordings keep the memory of their passes.
        freed = step.recorded is not None and step.recorded.stop(OUT_OF_MEMORY)
        if step.device.type == "cuda":
            torch.cuda.empty_cache()
        if not freed:
            _check_divisible(step, batches, parts)
            parts *= 2
    step.parts = parts
    try:
        return step.apply_gradients(number, batches, loss_sum)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        raise TrainingError(
            f"There is not enough memory for the optimizer at step {number}.",
            "Train a smaller model or use a machine with more memory.",
        ) from error


def _attempt(
    step: TrainingStep, number: int, batches: Sequence[Batch], parts: int
) -> Float[Tensor, ""] | float | None:
    """Return None if memory did not suffice; the memory that the error held is free by then."""
    try:
        return step.add_gradients(number, batches, parts)
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        return None


def _check_divisible(step: TrainingStep, batches: Sequence[Batch], parts: int) -> None:
    """Raise TrainingError if smaller parts are impossible."""
    if step.world.size > 1:
        raise TrainingError(
            f"There is not enough memory for process {step.world.rank}, with batches in "
            f"{parts} parts.",
            f"Start another run with training.parts={2 * parts}, or with a lower "
            "training.batch_tokens.",
        )
    if any(len(batch) > parts for batch in batches):
        return
    source = max(batch.source_ids.size(1) for batch in batches)
    target = max(batch.target_ids.size(1) for batch in batches)
    raise TrainingError(
        f"There is not enough memory for a single pair of up to {source} source and {target} "
        "target tokens.",
        "Lower data.max_pieces, train a smaller model or use a machine with more memory.",
    )
