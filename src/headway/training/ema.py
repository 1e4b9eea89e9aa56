"""An exponential moving average of the weights, kept in addition to the trained weights.

After update t, ema_t = d_t ema_{t-1} + (1 - d_t) w_t, with ema_0 = w_0. The rate of decay is
d_t = min(d, (1 + t) / (10 + t)), so the average soon forgets the untrained start. This warm-up is
that of TensorFlow's `tf.train.ExponentialMovingAverage(decay, num_updates)`.
"""

import copy

import torch
from torch import Tensor
from torch.optim.swa_utils import get_ema_multi_avg_fn

from headway.model.transformer import Transformer


class WeightAverage:
    """Hold the average as a separate model, in float32, on the same device."""

    def __init__(self, model: Transformer, decay: float) -> None:
        """Start with the present weights of the model."""
        self.model = copy.deepcopy(model).float().requires_grad_(False).eval()
        self.decay = decay

    def update(self, model: Transformer, step: int) -> None:
        """Add the weights after update number `step`, counted from 1."""
        average: list[Tensor] = list(self.model.parameters())
        weights: list[Tensor] = list(model.parameters())
        get_ema_multi_avg_fn(decay_at(step, self.decay))(average, weights, torch.tensor(step))

    def summary(self) -> str:
        """Return a sentence on the use of the average."""
        return (
            f"Validation, the best and the final weights are those of a moving average of decay "
            f"{self.decay:g}; average_checkpoints is not used."
        )


def decay_at(step: int, decay: float) -> float:
    """Return the share of the old average after update number `step`."""
    return min(decay, (1 + step) / (10 + step))
