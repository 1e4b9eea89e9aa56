"""Dropout (section 5.4) with random numbers that cost little on a CPU."""

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from headway.errors import ConfigError


def dropout(x: Float[Tensor, "*shape"], p: float, training: bool) -> Float[Tensor, "*shape"]:
    """Zero each number with probability p while training and scale the rest by 1 / (1 - p).

    On a CPU, `bernoulli_` draws one random number for each element and is a tenth of a training
    step; four elements can share one 64-bit number, because 16 bits decide p to 1 / 65536.
    """
    if not training or p == 0.0:
        return x
    if not 0.0 < p < 1.0:
        raise ConfigError(f"Dropout is {p}, but must be from 0 to below 1.", "The paper has 0.1.")
    if x.device.type != "cpu":
        return F.dropout(x, p)
    return _SharedDrawDropout.apply(x, p)  # type: ignore[no-any-return]


class _SharedDrawDropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, p: float) -> Tensor:
        mask = _keep_mask(x, p)
        ctx.save_for_backward(mask)
        return x * mask

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, None]:
        (mask,) = ctx.saved_tensors
        return grad_outputs[0] * mask, None


def _keep_mask(x: Tensor, p: float) -> Tensor:
    """Draw 0 or 1 / (1 - p) for every element of x."""
    dropped = min(round(p * 65536), 65535)
    count = x.numel()
    draws = torch.empty((count + 3) // 4, dtype=torch.int64, device=x.device)
    draws.random_(-(2**63), None)
    # Each 64-bit draw is four 16-bit ones, uniform from -32768 to 32767. Clamping them between two
    # neighbours is a comparison, and runs many times as fast as one that gives booleans.
    first_kept = dropped - 32768
    draws = draws.view(torch.int16)[:count].view(x.shape)
    if dropped > 0:
        draws = draws.clamp_(first_kept - 1, first_kept).sub_(first_kept - 1)
    else:
        draws.fill_(1)
    return draws.to(x.dtype).mul_(65536 / (65536 - dropped))
