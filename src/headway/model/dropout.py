"""Dropout (section 5.4)."""

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from headway.model.checks import check_dropout


def dropout(x: Float[Tensor, "*shape"], p: float, training: bool) -> Float[Tensor, "*shape"]:
    """Zero each number with probability p while training and scale the rest by 1 / (1 - p)."""
    if not training or p == 0.0:
        return x
    check_dropout(p)
    return F.dropout(x, p)
