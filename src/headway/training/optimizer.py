"""The optimizer (section 5.3): Adam with beta_1 0.9, beta_2 0.98 and epsilon 1e-9."""

import torch
from torch import nn


def build_optimizer(
    model: nn.Module,
    beta_1: float = 0.9,
    beta_2: float = 0.98,
    epsilon: float = 1e-9,
    weight_decay: float = 0.0,
) -> torch.optim.AdamW:
    """Return Adam; the update sets the rate of every step.

    AdamW without decay is Adam. Decay leaves biases and LayerNorm out.
    """
    matrices = [p for p in model.parameters() if p.dim() > 1]
    vectors = [p for p in model.parameters() if p.dim() <= 1]
    return torch.optim.AdamW(
        [
            {"params": matrices, "weight_decay": weight_decay},
            {"params": vectors, "weight_decay": 0.0},
        ],
        lr=0.0,
        betas=(beta_1, beta_2),
        eps=epsilon,
        fused=True,
    )
