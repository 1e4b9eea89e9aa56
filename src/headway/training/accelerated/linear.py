"""Projections that learn: several of one input in one product; on a CPU with bias and ReLU.

Two questions decide whether projections share a product. `is_plain` looks at the class and the
`forward` of each, when the substitutes are installed. `_joins` looks at hooks and types of tensors,
which may change between calls.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from headway.kernels import dispatch, threads
from headway.kernels.row_buckets import filled_up
from headway.model.customized import is_customized
from headway.training.accelerated.arrays import array
from headway.training.accelerated.linear_gradients import input_gradient, weight_gradient
from headway.training.accelerated.no_double_backward import first_derivatives_only


class Project(Protocol):
    """Computes every projection of x, side by side: `project` or `project_by_modules`."""

    def __call__(
        self, x: Float[Tensor, "*B d_in"], *projections: nn.Linear, relu: bool = False
    ) -> Float[Tensor, "*B d_out"]:
        """Compute (*B, d_in) -> (*B, sum of the projections' widths)."""
        ...


def is_plain(projection: nn.Module) -> bool:
    """Return True if calling a module computes what `nn.Linear` computes."""
    return type(projection) is nn.Linear and not is_customized(projection)


def project(
    x: Float[Tensor, "*B d_in"], *projections: nn.Linear, relu: bool = False
) -> Float[Tensor, "*B d_out"]:
    """Compute every projection of x, side by side: d_out is the sum of their widths.

    relu: apply ReLU to the result. Several projections, or one that learns under autocast on a CPU,
    are computed as one product: x is read, rounded and differentiated once, and there are first
    derivatives only. The projections must be plain; those with hooks are called as modules.
    """
    if len(projections) == 1 and not _learns_rounded(x):
        return project_by_modules(x, *projections, relu=relu)
    if not _joins(projections, x):
        return project_by_modules(x, *projections, relu=relu)
    weights = [projection.weight for projection in projections]
    biases = [projection.bias for projection in projections if projection.bias is not None]
    shape = x.shape[:-1]
    rows = x.reshape(shape.numel(), x.size(-1))
    # The function must not return a view: its result may be changed in place.
    y = _Project.apply(rows, relu, len(weights), *weights, *biases)
    return y.view(*shape, y.size(1))  # type: ignore[no-any-return]


def project_by_modules(
    x: Float[Tensor, "*B d_in"], *projections: nn.Linear, relu: bool = False
) -> Float[Tensor, "*B d_out"]:
    """Compute the same by calling each module."""
    projected = [projection(x) for projection in projections]
    output = projected[0] if len(projected) == 1 else torch.cat(projected, dim=-1)
    return F.relu(output) if relu else output


def project_apart(
    x: Float[Tensor, "*B d_in"], *projections: nn.Linear
) -> tuple[Float[Tensor, "*B d_out"], ...]:
    """Compute each projection of x; while learning on a GPU all of them by one product.

    A few wide products keep a GPU busier than many narrow ones, above all in the gradients
    (benchmarks/log/062).
    """
    if not _learns_on_a_gpu(x) or not _joins(projections, x):
        return tuple(projection(x) for projection in projections)
    weights: list[Tensor] = [projection.weight for projection in projections]
    biases: list[Tensor] = [
        projection.bias for projection in projections if projection.bias is not None
    ]
    joined = F.linear(x, torch.cat(weights), torch.cat(biases) if biases else None)
    return joined.split([projection.out_features for projection in projections], dim=-1)


def _learns_on_a_gpu(x: Tensor) -> bool:
    return x.device.type != "cpu" and torch.is_grad_enabled()


def _learns_rounded(x: Tensor) -> bool:
    """Return True for products on a CPU that autocast rounds and that need gradients."""
    rounded = x.device.type == "cpu" and torch.is_autocast_enabled("cpu")
    return rounded and torch.is_grad_enabled() and not dispatch.is_traced()


def _joins(projections: Sequence[nn.Linear], x: Tensor) -> bool:
    """Return True if one product computes what calling these plain modules does now."""
    if nn.modules.module._has_any_global_hook():
        return False
    return all(_is_joinable(projection, x) for projection in projections) and (
        len({projection.bias is None for projection in projections}) == 1
    )


def _is_joinable(projection: nn.Linear, x: Tensor) -> bool:
    if (
        projection._forward_hooks
        or projection._forward_pre_hooks
        or projection._backward_hooks
        or projection._backward_pre_hooks
    ):
        return False
    weight = projection.weight
    if type(weight) not in (nn.Parameter, Tensor):
        return False
    if torch.is_autocast_enabled(x.device.type):
        return torch.float64 not in (weight.dtype, x.dtype)  # autocast does not round float64
    return weight.dtype == x.dtype


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
        # Without rounding no copy is kept: the parameters exist in any case.
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
        weight_sizes, bias_sizes = ctx.parameters[: ctx.count], ctx.parameters[ctx.count :]
        grads: list[Tensor | None] = [None] * len(ctx.parameters)
        sums = None
        if rows is not None:
            product, sums = weight_gradient(grad, rows)
            grads[: ctx.count] = _divide(product, weight_sizes)
        if any(ctx.needs_input_grad[3 + ctx.count :]):
            grads[ctx.count :] = _divide(grad.sum(0) if sums is None else sums, bias_sizes)
        return grad_x, None, None, *grads


def _linear(
    rows: Float[Tensor, "N d_in"],
    weight: Float[Tensor, "d_out d_in"],
    bias: Float[Tensor, " d_out"] | None,
) -> Float[Tensor, "N d_out"]:
    """Compute rows W^T + b.

    PyTorch writes the bias to every row of the result before it adds the product. oneDNN can add
    the bias while it writes the product, with the same rounding.
    """
    if dispatch.linear(rows, bias).by is dispatch.By.PYTORCH:
        return F.linear(rows, weight, bias)
    # Not with oneDNN's ReLU, which turns NaN into 0.
    return torch.ops.mkldnn._linear_pointwise(rows, weight, bias, "none", [], "")  # type: ignore[no-any-return]


def relu_(y: Float[Tensor, "*shape"]) -> None:
    """Put 0 for negative numbers in y, which nothing else holds; NaN stays."""
    if not y.is_contiguous() or dispatch.relu(y).by is dispatch.By.PYTORCH:
        y.relu_()
        return
    from headway.kernels import elementwise

    count = -(-y.numel() // elementwise.RELU_LOT)
    threads.divide(elementwise.rectify, array(y).reshape(-1), count=count)


def relu_gradient(
    grad: Float[Tensor, "*shape"], y: Float[Tensor, "*shape"]
) -> Float[Tensor, "*shape"]:
    """Return the gradient of the input of `relu_` from that of its output y."""
    if dispatch.relu(grad, y).by is dispatch.By.PYTORCH:
        return torch.ops.aten.threshold_backward(grad, y, 0)  # type: ignore[no-any-return]
    from headway.kernels import elementwise

    out = torch.empty(y.shape, dtype=y.dtype)
    flat = [array(tensor).reshape(-1) for tensor in (grad, y, out)]
    threads.divide(elementwise.pass_active, *flat, count=-(-out.numel() // elementwise.RELU_LOT))
    return out


def _divide(joined: Tensor, sizes: Sequence[tuple[int, torch.dtype]]) -> list[Tensor]:
    """Divide the result of `_join` into parts of these sizes, each in its own type."""
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
