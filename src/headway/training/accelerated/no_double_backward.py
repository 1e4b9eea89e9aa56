"""Gradients that are computed by hand, and have no derivative."""

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from headway.errors import ConfigError

Backward = Callable[..., tuple[Tensor | None, ...]]


def first_derivatives_only(backward: Backward) -> Backward:
    """Let a `backward` compute without a graph, and refuse its derivative.

    PyTorch's `once_differentiable` refuses only where the incoming gradient has a history. The
    gradient of a loss is the constant 1 and has none, so PyTorch would silently return an
    incomplete second derivative.
    """

    @functools.wraps(backward)
    def computed(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        with torch.no_grad():
            gradients = backward(ctx, *grad_outputs)
        if not torch.is_grad_enabled():
            return gradients
        leaves = (g.detach().requires_grad_() for g in gradients if g is not None)
        marked = iter(_RefuseSecondDerivative.apply(*leaves))
        return tuple(None if g is None else next(marked) for g in gradients)

    return computed


class _RefuseSecondDerivative(torch.autograd.Function):
    """Pass gradients on; raise ConfigError when they are differentiated."""

    @staticmethod
    def forward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, ...]:
        return tuple(gradient.view_as(gradient) for gradient in gradients)

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:
        raise ConfigError(
            "A second derivative was requested, but the fast paths have only first derivatives.",
            "Leave out headway.accelerated, and take label_smoothed_cross_entropy of the logits.",
        )
