"""Linear layers that learn: several of one input in one product; on a CPU with bias and ReLU."""

import functools
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from headway.kernels.arrays import is_traced, is_watched
from headway.kernels.row_buckets import filled_up
from headway.training.accelerated.linear_gradients import input_gradient, weight_gradient
from headway.training.accelerated.no_double_backward import first_derivatives_only
from headway.training.accelerated.relu import relu_, relu_gradient


def project(
    x: Float[Tensor, "*B d_in"], *projections: nn.Linear, relu: bool = False
) -> Float[Tensor, "*B d_out"]:
    """Compute every projection of x, side by side: d_out is the sum of their widths.

    relu: apply ReLU to the result. Several projections, or one that learns under autocast on a CPU,
    are computed as one product: x is read, rounded and differentiated once, and there are first
    derivatives only. A projection with hooks or a changed forward is called as it is.
    """
    if len(projections) == 1 and not _learns_rounded(x):
        return _one_by_one(x, projections, relu)
    if not _are_alike(projections, x):
        return _one_by_one(x, projections, relu)
    weights = [projection.weight for projection in projections]
    biases = [projection.bias for projection in projections if projection.bias is not None]
    shape = x.shape[:-1]
    rows = x.reshape(shape.numel(), x.size(-1))
    # What the function returns is no view, so that it may be changed in place.
    y = _Project.apply(rows, relu, len(weights), *weights, *biases)
    return y.view(*shape, y.size(1))  # type: ignore[no-any-return]


def project_apart(
    x: Float[Tensor, "*B d_in"], *projections: nn.Linear
) -> tuple[Float[Tensor, "*B d_out"], ...]:
    """Compute each projection of x; while learning on a GPU all of them by one product.

    Few wide products keep a GPU busier than many narrow ones, most of all those of the gradients
    (benchmarks/log/062).
    """
    if not _learns_on_a_gpu(x) or not _are_alike(projections, x):
        return tuple(projection(x) for projection in projections)
    weights: list[Tensor] = [projection.weight for projection in projections]
    biases: list[Tensor] = [
        projection.bias for projection in projections if projection.bias is not None
    ]
    together = F.linear(x, torch.cat(weights), torch.cat(biases) if biases else None)
    return together.split([projection.out_features for projection in projections], dim=-1)


def _learns_on_a_gpu(x: Tensor) -> bool:
    return x.device.type != "cpu" and torch.is_grad_enabled()


def _are_alike(projections: Sequence[nn.Linear], x: Tensor) -> bool:
    """Tell whether one product does what calling each of these modules does."""
    plain = all(_is_plain(projection, x) for projection in projections)
    return plain and len({projection.bias is None for projection in projections}) == 1


def _one_by_one(x: Tensor, projections: Sequence[nn.Linear], relu: bool) -> Tensor:
    projected = [projection(x) for projection in projections]
    output = projected[0] if len(projected) == 1 else torch.cat(projected, dim=-1)
    return F.relu(output) if relu else output


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
    if any(hooks) or nn.modules.module._has_any_global_hook():
        return False
    weight = projection.weight
    if type(weight) not in (nn.Parameter, Tensor):
        return False
    if torch.is_autocast_enabled(x.device.type):
        return torch.float64 not in (weight.dtype, x.dtype)  # which autocast leaves as it is
    return weight.dtype == x.dtype


def _learns_rounded(x: Tensor) -> bool:
    """Tell whether gradients are wanted, on a CPU, of products in a type that autocast gives."""
    rounded = x.device.type == "cpu" and torch.is_autocast_enabled("cpu")
    return rounded and torch.is_grad_enabled() and not is_traced()


class _Project(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, relu: bool, count: int, *parameters: Tensor) -> Tensor:
        device = x.device.type
        lowered = torch.is_autocast_enabled(device)
        dtype = torch.get_autocast_dtype(device) if lowered else x.dtype
        weight = _join(parameters[:count], dtype)
        bias = _join(parameters[count:], dtype) if parameters[count:] else None
        rows = filled_up(x, dtype)
        with torch.autocast(device, enabled=False):
            y = _linear(rows, weight, bias)
        if len(rows) > len(x):
            y.resize_(len(x), y.size(1))
        if relu:
            relu_(y)
        # Where nothing is rounded, no copy is kept: the parameters are there in any case.
        weights = [weight] if lowered else parameters[:count]
        needs_rows = any(ctx.needs_input_grad[3 : 3 + count])
        ctx.save_for_backward(rows[: len(x)] if needs_rows else None, y if relu else None, *weights)
        ctx.dtype, ctx.parameters = x.dtype, [(len(p), p.dtype) for p in parameters]
        ctx.count = count
        return y

    @staticmethod
    @first_derivatives_only
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        rows, active, *weights = ctx.saved_tensors
        grad = grad_outputs[0]
        if active is not None:
            grad = relu_gradient(grad, active)
        grad_x = None
        if ctx.needs_input_grad[0]:
            weight = weights[0] if len(weights) == 1 else _join(weights, grad.dtype)
            grad_x = input_gradient(grad, weight, ctx.dtype)
        of_weights, of_biases = ctx.parameters[: ctx.count], ctx.parameters[ctx.count :]
        grads: list[Tensor | None] = [None] * len(ctx.parameters)
        sums = None
        if rows is not None:
            product, sums = weight_gradient(grad, rows)
            grads[: ctx.count] = _divide(product, of_weights)
        if any(ctx.needs_input_grad[3 + ctx.count :]):
            grads[ctx.count :] = _divide(grad.sum(0) if sums is None else sums, of_biases)
        return grad_x, None, None, *grads


def _linear(
    rows: Float[Tensor, "N d_in"],
    weight: Float[Tensor, "d_out d_in"],
    bias: Float[Tensor, " d_out"] | None,
) -> Float[Tensor, "N d_out"]:
    """Compute rows W^T + b.

    PyTorch writes the bias to every row of the result before the product is added to it; oneDNN,
    asked for it, adds the bias on the way out, with the same rounding.
    """
    low = rows.dtype == torch.bfloat16 and rows.device.type == "cpu"
    if bias is None or not low or is_watched() or not _has_onednn():
        return F.linear(rows, weight, bias)
    # Not with its ReLU: that one makes 0 of what is no number.
    return torch.ops.mkldnn._linear_pointwise(rows, weight, bias, "none", [], "")  # type: ignore[no-any-return]


@functools.cache
def _has_onednn() -> bool:
    """Tell whether oneDNN is there, and computes in bfloat16 on this processor."""
    try:
        torch.ops.mkldnn._linear_pointwise.default  # noqa: B018
        return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
    except AttributeError:
        return False


def _divide(joined: Tensor, sizes: Sequence[tuple[int, torch.dtype]]) -> list[Tensor]:
    """Divide what `_join` joined into parts, each in the type that is its own."""
    parts = joined.split([size for size, _ in sizes]) if len(sizes) > 1 else [joined]
    return [part.to(dtype) for part, (_, dtype) in zip(parts, sizes, strict=True)]


def _join(parameters: Sequence[Tensor], dtype: torch.dtype) -> Tensor:
    """Return the rows of all parameters, one after the other, in this type."""
    if len(parameters) == 1:
        return parameters[0].to(dtype)
    sizes = [len(parameter) for parameter in parameters]
    shape = sum(sizes), *parameters[0].shape[1:]
    joined = torch.empty(shape, dtype=dtype, device=parameters[0].device)
    for part, parameter in zip(joined.split(sizes), parameters, strict=True):
        part.copy_(parameter)
    return joined
