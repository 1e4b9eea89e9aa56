"""One update (section 5): forward, backward, clip, Adam.

`update_within_memory` (micro_batches.py) makes the same update in smaller parts where memory does
not suffice, and `MonitoredUpdates` (monitor.py) makes the updates of a run and reports problems.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from headway.data.batching import Batch, collate
from headway.data.encoded import EncodedPair
from headway.data.tokenizer import START_ID
from headway.errors import NotFiniteError
from headway.training.cuda_graphs import Limits, RecordedPasses
from headway.training.diagnosis import gentler
from headway.training.distributed import World
from headway.training.objective import Objective
from headway.training.random_numbers import RandomNumbers
from headway.training.schedule import Schedule


@dataclass(frozen=True, slots=True)
class StepResult:
    """Figures of one update."""

    loss: float
    """Smoothed loss, mean over real target pieces."""
    target_tokens: int
    gradient_norm: float
    """Before clipping."""
    rate: float


class TrainingStep:
    """Update the model from one group of batches."""

    def __init__(
        self,
        objective: Objective,
        optimizer: torch.optim.Optimizer,
        schedule: Schedule,
        *,
        clip_norm: float | None,
        seed: int = 0,
        parts: int = 1,
        world: World | None = None,
        divided: bool = False,
        limits: Limits | None = None,
    ) -> None:
        """Join the model, its loss, the optimizer and the schedule.

        seed: decides dropout, together with the step. parts: how many parts each batch is cut into,
        which the processes of the world divide among them. divided: each process holds only a share
        of the weights (shards.py). limits: sizes that no batch exceeds; padding keeps to them too.
        """
        self.model = objective.model
        self.optimizer = optimizer
        self.schedule = schedule
        self.clip_norm = clip_norm
        self.seed = seed
        self.parts = parts
        self.world = world or World()
        self.divided = divided
        self.objective = objective if divided else self.world.wrap(objective)
        self.device = next(self.model.parameters()).device
        # A single GPU gets the work of a whole update before any result is read from it.
        self.reads_before_step = self.device.type != "cuda" or self.world.size > 1 or divided
        self.recorded: RecordedPasses | None = None
        compiled = objective.layers is not None
        self.random_numbers = RandomNumbers(self.model, self.device, compiled=compiled)
        if compiled and not self.reads_before_step:
            self.recorded = RecordedPasses(self._forward_backward, self.device, limits)
        if self.world.size > 1 and not divided:
            self._rehearse()

    def __call__(self, number: int, batches: Sequence[Batch]) -> StepResult:
        """Make update `number`, the first being 1, from all these batches together.

        The loss is a mean over the real target pieces of all batches, so that splitting one batch
        into several, or among processes, changes nothing but rounding. Random numbers depend on
        seed, step and part alone, and not on the process that computes the part. Raises
        NotFiniteError, and leaves weights and optimizer as they are, if loss or gradient is not
        finite.
        """
        loss_sum = self.add_gradients(number, batches, self.parts)
        return self.apply_gradients(number, batches, loss_sum)

    def add_gradients(
        self, number: int, batches: Sequence[Batch], parts: int
    ) -> Float[Tensor, ""] | float:
        """Go forward and backward through this process's parts; return the sum of their losses."""
        self.model.train()
        own_parts = self._own_parts(batches, parts)
        # DistributedDataParallel and FSDP2 take the mean of these sums over the processes.
        scale = self.world.size / _target_tokens(batches)
        loss_sum: Tensor | float = 0.0
        for count, (part, batch) in enumerate(own_parts, start=1):
            with (
                self.random_numbers.of(self.seed, number, part),
                self.world.exchanging(self.objective, last=count == len(own_parts)),
            ):
                if self.recorded is None:
                    loss_sum += self._forward_backward(batch.to(self.device), scale)
                else:
                    loss_sum += self.recorded(batch, scale, parts)
        if self.divided:
            self._keep_pace(len(own_parts), math.ceil(len(batches) * parts / self.world.size))
        return loss_sum

    def _forward_backward(self, batch: Batch, scale: Tensor | float) -> Float[Tensor, ""]:
        """Add the gradients of the summed loss times scale; return the summed loss."""
        loss = self.objective(batch).loss
        (loss * scale).backward()
        return loss.detach()

    def apply_gradients(
        self, number: int, batches: Sequence[Batch], loss_sum: Tensor | float
    ) -> StepResult:
        """Clip the gradients and take Adam's step with them, unless they are not finite."""
        rate, norm = self.schedule(number), self._gradient_norm()
        if not self.reads_before_step:
            # The norm cannot be compared here without waiting for it. Below the limit, clipping
            # multiplies by 1.
            self._clip_and_step(
                rate, norm if self.clip_norm else None, unless=~torch.isfinite(norm + loss_sum)
            )
        (total_loss,) = self.world.sum(float(loss_sum))
        total_norm = float(self.world.whole(norm))
        if not (math.isfinite(total_loss) and math.isfinite(total_norm)):
            self.forget_gradients()
            raise NotFiniteError(
                f"The loss or its gradient is not finite at step {number} (rate {rate:.2g}).",
                f"Start another run with {gentler(self.clip_norm)}; the last checkpoint is good.",
            )
        if self.reads_before_step:
            is_large = self.clip_norm is not None and total_norm > self.clip_norm
            self._clip_and_step(rate, norm if is_large else None)
        self.forget_gradients()
        tokens = _target_tokens(batches)
        return StepResult(total_loss / tokens, tokens, total_norm, rate)

    def _clip_and_step(
        self,
        rate: float,
        norm: Float[Tensor, ""] | None,
        unless: Bool[Tensor, ""] | None = None,
    ) -> None:
        """Scale gradients of this norm down to the limit; take Adam's step, except if `unless`."""
        if norm is not None and self.clip_norm is not None:
            nn.utils.clip_grads_with_norm_(self.model.parameters(), self.clip_norm, norm)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        if unless is not None:
            # Loss scaling uses this flag to make a fused Adam change nothing.
            self.optimizer.found_inf = unless.float()  # type: ignore[attr-defined]
        self.optimizer.step()

    def _gradient_norm(self) -> Float[Tensor, ""]:
        """Return the norm of all gradients together; of divided gradients a divided tensor."""
        gradients = [p.grad for p in self.model.parameters() if p.grad is not None]
        return nn.utils.get_total_norm(gradients)

    def forget_gradients(self) -> None:
        """Remove the gradients, or zero them in place where recorded passes write to them."""
        self.optimizer.zero_grad(set_to_none=self.recorded is None)

    def preparations(self) -> int:
        """Return how many passes took longer because they prepared later ones.

        0 if passes are not recorded, or not any more.
        """
        if self.recorded is None or self.recorded.stopped_by is not None:
            return 0
        return self.recorded.preparations

    def could_record(self) -> bool:
        """Return True if compiling the layers would allow recording."""
        return self.recorded is None and not self.reads_before_step

    def _own_parts(self, batches: Sequence[Batch], parts: int) -> list[tuple[int, Batch]]:
        """Return the parts that this process computes, each with its number among all parts."""
        numbered = enumerate((batch, index) for batch in batches for index in range(parts))
        return [
            (number, batch.part(index, parts))
            for number, (batch, index) in numbered
            if number % self.world.size == self.world.rank
        ]

    def _keep_pace(self, num_done: int, num_passes: int) -> None:
        """Make passes that add nothing while other processes need this one's shares of weights."""
        for _ in range(num_passes - num_done):
            self._forward_backward(_smallest_batch().to(self.device), 0.0)

    def _rehearse(self) -> None:
        """Make one backward pass and forget it.

        DistributedDataParallel orders its sums by its first pass. Without this, a continued run
        would sum in another order than one that never stopped.
        """
        self._forward_backward(_smallest_batch().to(self.device), 1.0)
        self.forget_gradients()


def _target_tokens(batches: Sequence[Batch]) -> int:
    return sum(batch.num_target_tokens for batch in batches)


def _smallest_batch() -> Batch:
    """Return a small batch without an axis of size 1, which torch.compile would specialize on."""
    return collate([EncodedPair([START_ID] * 2, [START_ID] * 3, line) for line in (1, 2)])
