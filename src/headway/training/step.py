"""One update (section 5): forward, backward, accumulate, clip, Adam."""

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import nn

from headway.data.batching import Batch
from headway.errors import NotFiniteError
from headway.model.transformer import Transformer
from headway.training.loss import LossSums, projected_cross_entropy
from headway.training.schedule import Schedule


@dataclass(frozen=True, slots=True)
class StepResult:
    """What one update did."""

    loss: float
    """Smoothed loss, mean over real target pieces."""
    nll: float
    """Negative log-likelihood, mean over real target pieces."""
    target_tokens: int
    gradient_norm: float
    rate: float


class TrainingStep:
    """Update the model from one group of batches."""

    def __init__(
        self,
        model: Transformer,
        optimizer: torch.optim.Optimizer,
        schedule: Schedule,
        *,
        label_smoothing: float,
        clip_norm: float | None,
        precision: str,
    ) -> None:
        """Join what an update needs; precision is float32 or bfloat16."""
        self.model = model
        self.optimizer = optimizer
        self.schedule = schedule
        self.label_smoothing = label_smoothing
        self.clip_norm = clip_norm
        self.precision = precision
        self.device = next(model.parameters()).device

    def __call__(self, step: int, batches: Sequence[Batch]) -> StepResult:
        """Make update number `step`, the first being 1, from all these batches together.

        The loss is a mean over the real target pieces of all batches, so that splitting one batch
        into several changes nothing but rounding.
        """
        self.model.train()
        tokens = sum(batch.num_target_tokens for batch in batches)
        loss, nll = self.accumulate(batches, tokens)
        norm = self._clip()
        rate = self.schedule(step)
        if not (math.isfinite(loss) and math.isfinite(norm)):
            self.optimizer.zero_grad(set_to_none=True)
            raise NotFiniteError(
                f"The loss or its gradient is not finite at step {step} (rate {rate:.2g}).",
                "Start another run with a lower learning_rate or with clip_norm; the last "
                "checkpoint is good.",
            )
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return StepResult(loss / tokens, nll / tokens, tokens, norm, rate)

    def accumulate(self, batches: Sequence[Batch], tokens: int) -> tuple[float, float]:
        """Add up the gradients of these batches, and return the sums of both losses."""
        loss = nll = 0.0
        for batch in batches:
            sums = batch_loss(
                self.model, batch.to(self.device), self.label_smoothing, self.precision
            )
            (sums.loss / tokens).backward()
            loss += float(sums.loss.detach())
            nll += float(sums.nll)
        return loss, nll

    def _clip(self) -> float:
        limit = math.inf if self.clip_norm is None else self.clip_norm
        return float(nn.utils.clip_grad_norm_(self.model.parameters(), limit))


def batch_loss(
    model: Transformer, batch: Batch, label_smoothing: float, precision: str
) -> LossSums:
    """Return the summed losses of a batch, computed in this precision."""
    with autocast(precision, batch.source_ids.device.type):
        hidden = model.hidden(batch.source_ids, batch.target_ids)  # (B, T, d_model)
        return projected_cross_entropy(
            hidden.flatten(0, 1),
            model.output_projection.weight,
            model.output_projection.bias,
            batch.label_ids.flatten(),
            label_smoothing,
            model.pad_id,
        )


def autocast(precision: str, device: str) -> contextlib.AbstractContextManager[object]:
    """Return the context in which matrix products take this precision."""
    if precision == "float32":
        return contextlib.nullcontext()
    return torch.autocast(device, dtype=torch.bfloat16)
