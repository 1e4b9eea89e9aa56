"""Equation 1 for training on a CPU, with its gradient, in compiled loops."""

from types import ModuleType
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from headway.loops import LANES
from headway.loops.arrays import TYPES, array, can_loop

# Longer sentences are nearly all products, of which PyTorch has faster ones; figures in
# benchmarks/NOTES.md.
LONGEST = 256


def fits(
    query: Float[Tensor, "B T d_model"], key: Float[Tensor, "B S d_model"], d_k: int, d_v: int
) -> bool:
    """Tell whether there are loops for the projections of these, and whether they are faster."""
    lowered = torch.is_autocast_enabled("cpu")
    dtype = torch.get_autocast_dtype("cpu") if lowered else query.dtype
    return (
        can_loop(query, key)
        and dtype in TYPES
        and d_k % LANES == 0
        and d_v % LANES == 0
        and query.size(0) > 0
        and 0 < query.size(1) <= LONGEST
        and 0 < key.size(1) <= LONGEST
    )


def compiled_attention(
    q: Float[Tensor, "B T H*d_k"],
    k: Float[Tensor, "B S H*d_k"],
    v: Float[Tensor, "B S H*d_v"],
    mask: Bool[Tensor, "..."] | None,
    num_heads: int,
) -> Float[Tensor, "B T H*d_v"]:
    """Compute equation 1 for every head, from projections as they are to `concat`.

    mask: (T, S) or four axes that broadcast to (B, H, T, S), True = may attend; None for all. For
    inputs that `fits` accepts. A query with nothing to attend to gets zeros, and so does its
    gradient.
    """
    allowed = torch.ones(1, 1, 1, 1, dtype=torch.bool) if mask is None else mask
    allowed = allowed.view(*(1,) * (4 - allowed.dim()), *allowed.shape)
    allowed = allowed.expand(-1, -1, -1, k.size(1))
    return _Attend.apply(q, k, v, allowed, num_heads)  # type: ignore[no-any-return]


class _Attend(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor, num_heads: int
    ) -> Tensor:
        loops, divide = _loops()
        sentences, length, keys = *q.shape[:2], k.size(1)
        rows = -(-length // loops.ROWS) * loops.ROWS
        weights = torch.empty(sentences, num_heads, rows, -(-keys // LANES) * LANES)
        out = torch.empty(sentences, length, v.size(2), dtype=v.dtype)
        given = *(array(x) for x in (q, k, v, allowed)), num_heads, array(weights), array(out)
        divide(lambda first, last: loops.attend(*given, first, last), sentences)
        ctx.save_for_backward(q, k, v, weights)
        ctx.num_heads = num_heads
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        loops, divide = _loops()
        saved, grad = ctx.saved_tensors, grad_outputs[0]
        q, k, v, _ = saved
        grads = [torch.empty_like(x, memory_format=torch.contiguous_format) for x in (q, k, v)]
        given = *(array(x) for x in (*saved, grad)), ctx.num_heads, *(array(x) for x in grads)
        divide(lambda first, last: loops.attend_backward(*given, first, last), len(q))
        return *grads, None, None


def _loops() -> tuple[ModuleType, Any]:
    """Import what needs Numba when it is needed."""
    from headway.loops import attending
    from headway.loops.threads import divide

    return attending, divide
