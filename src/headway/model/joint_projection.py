"""Several projections of one input in a single product."""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable


def project_together(
    x: Float[Tensor, "*B d_in"], projections: Sequence[nn.Linear]
) -> Float[Tensor, "*B d_out"]:
    """Compute every projection of x, side by side: d_out is the sum of their widths.

    x is read, rounded for autocast and differentiated once instead of once for each.
    """
    plain = all(_is_plain(projection, x) for projection in projections)
    if not plain or len({projection.bias is None for projection in projections}) > 1:
        return torch.cat([projection(x) for projection in projections], dim=-1)
    weights = [projection.weight for projection in projections]
    biases = [projection.bias for projection in projections if projection.bias is not None]
    return _Project.apply(x, len(weights), *weights, *biases)  # type: ignore[no-any-return]


def _is_plain(projection: nn.Linear, x: Tensor) -> bool:
    """Tell whether calling this module does what `nn.Linear` itself does, in types that fit."""
    if type(projection) is not nn.Linear or "forward" in vars(projection):
        return False
    hooks = (
        projection._forward_hooks,
        projection._forward_pre_hooks,
        projection._backward_hooks,
        projection._backward_pre_hooks,
    )
    fits = torch.is_autocast_enabled(x.device.type) or projection.weight.dtype == x.dtype
    return fits and not any(hooks)


class _Project(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, count: int, *parameters: Tensor) -> Tensor:
        device = x.device.type
        lowered = torch.is_autocast_enabled(device)
        dtype = torch.get_autocast_dtype(device) if lowered else x.dtype
        weight = _join(parameters[:count], dtype)
        bias = _join(parameters[count:], dtype) if parameters[count:] else None
        rows = x.reshape(x.shape[:-1].numel(), x.size(-1)).to(dtype)
        with torch.autocast(device, enabled=False):
            y = F.linear(rows, weight, bias)
        # Where nothing is rounded, no copy is kept: the parameters are there in any case.
        ctx.save_for_backward(rows, *([weight] if lowered else parameters[:count]))
        ctx.input, ctx.parameters = (x.shape, x.dtype), [(len(p), p.dtype) for p in parameters]
        ctx.count = count
        return y.view(*x.shape[:-1], len(weight))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        rows, *weights = ctx.saved_tensors
        weight = weights[0] if len(weights) == 1 else _join(weights, rows.dtype)
        grad = grad_outputs[0].reshape(len(rows), len(weight))
        shape, dtype = ctx.input
        grad_x = (grad @ weight).view(shape).to(dtype) if ctx.needs_input_grad[0] else None
        grads: list[Tensor | None] = [None] * len(ctx.parameters)
        if any(ctx.needs_input_grad[2:]):
            sizes = [size for size, _ in ctx.parameters]
            parts = [*(grad.T @ rows).split(sizes[: ctx.count])]
            if len(sizes) > ctx.count:
                parts += grad.sum(0).split(sizes[ctx.count :])
            grads = [part.to(own) for part, (_, own) in zip(parts, ctx.parameters, strict=True)]
        return grad_x, None, *grads


def _join(parameters: Sequence[Tensor], dtype: torch.dtype) -> Tensor:
    """Return the rows of all parameters, one after the other, in this type."""
    sizes = [len(parameter) for parameter in parameters]
    shape = sum(sizes), *parameters[0].shape[1:]
    joined = torch.empty(shape, dtype=dtype, device=parameters[0].device)
    for part, parameter in zip(joined.split(sizes), parameters, strict=True):
        part.copy_(parameter)
    return joined
