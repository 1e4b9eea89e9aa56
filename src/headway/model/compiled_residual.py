"""LayerNorm(x + Dropout(y)) for training on a CPU, with its gradient, in compiled loops."""

from types import ModuleType
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from headway.loops.arrays import array, can_loop
from headway.model.dropout import loop_draws, new_key
from headway.model.plain import is_plain

_BLOCK = 64  # numbers that are drawn for at a time; a test holds it equal to that of the loops


def fits(x: Tensor, y: Tensor, norm: nn.LayerNorm, p: float) -> bool:
    """Tell whether there is a loop for these, and `norm` is no more than what it says."""
    return (
        torch.is_grad_enabled()
        and 0.0 < p < 1.0
        and x.shape == y.shape
        and x.dtype == torch.float32
        and can_loop(x, y)
        and is_plain(norm, nn.LayerNorm)
        and norm.bias is not None
        and norm.weight.dtype == torch.float32
        and norm.normalized_shape == (x.size(-1),)
        and x.size(-1) % _BLOCK == 0
    )


def add_norm(
    x: Float[Tensor, "*B d_model"], y: Float[Tensor, "*B d_model"], norm: nn.LayerNorm, p: float
) -> Float[Tensor, "*B d_model"]:
    """Compute LayerNorm(x + Dropout(y)) in one loop, for what `fits`."""
    return _AddNorm.apply(x, y, norm.weight, norm.bias, norm.eps, (new_key(), p))  # type: ignore[no-any-return]


class _AddNorm(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        y: Tensor,
        weight: Tensor,
        bias: Tensor,
        epsilon: float,
        draws: tuple[int, float],
    ) -> Tensor:
        loops, divide = _loops()
        rows, drawn = x.shape[:-1].numel(), loop_draws(*draws)
        total, out = (
            torch.empty(rows, x.size(-1), dtype=x.dtype),
            torch.empty(x.shape, dtype=x.dtype),
        )
        scales = torch.empty(rows, 2, dtype=x.dtype)
        given = _rows(x), _rows(y), drawn, array(weight), array(bias), epsilon
        rest = array(total), array(scales), _rows(out)
        divide(lambda first, last: loops.add_norm(*given, *rest, first, last), rows)
        ctx.save_for_backward(total, scales, weight)
        ctx.draws, ctx.y_dtype = drawn, y.dtype
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        loops, divide = _loops()
        total, scales, weight = ctx.saved_tensors
        grad = grad_outputs[0]
        grad_x = torch.empty(grad.shape, dtype=grad.dtype)
        grad_y = torch.empty(grad.shape, dtype=ctx.y_dtype)
        given = _rows(grad), array(total), array(scales), ctx.draws, array(weight)
        given = *given, _rows(grad_x), _rows(grad_y)
        found: list[tuple[int, Tensor]] = []

        def work(first: int, last: int) -> None:
            vectors = torch.zeros(2, len(weight), dtype=weight.dtype)
            loops.add_norm_backward(*given, *array(vectors), first, last)
            found.append((first, vectors))

        divide(work, len(total))
        # In the order of the rows, or sums would depend on which thread was first.
        found.sort(key=lambda each: each[0])
        grad_weight, grad_bias = torch.stack([vectors for _, vectors in found]).sum(0)
        return grad_x, grad_y, grad_weight, grad_bias, None, None


def _rows(tensor: Tensor) -> Any:
    return array(tensor).reshape(-1, tensor.size(-1))


def _loops() -> tuple[ModuleType, Any]:
    """Import what needs Numba when it is needed."""
    from headway.loops import residual
    from headway.loops.threads import divide

    return residual, divide
