"""Equation 1 for training on a CPU, with its gradient, in compiled kernels."""

from types import ModuleType
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from headway.kernels import LANES, threads
from headway.kernels.arrays import TYPES, array, can_loop
from headway.model.probe import listening
from headway.training.accelerated.linear import project
from headway.training.accelerated.no_double_backward import first_derivatives_only

# Longer sentences are nearly all products, of which PyTorch has faster ones; figures in
# benchmarks/log/028.
LONGEST = 256


@runtime_checkable
class Attention(Protocol):
    """What is read of a `MultiHeadAttention`."""

    w_q: nn.Linear
    w_k: nn.Linear
    w_v: nn.Linear
    num_heads: int
    d_k: int
    d_v: int
    dropout: float
    training: bool


def learns_in_kernels(
    module: Attention,
    query: Float[Tensor, "B T d_model"],
    key: Float[Tensor, "B S d_model"],
    value: Float[Tensor, "B S d_model"],
) -> bool:
    """Tell whether equation 1 and its gradient are computed by the loops for it."""
    learns = module.training and torch.is_grad_enabled() and module.dropout == 0.0
    # What somebody looks at has every intermediate.
    return learns and not listening() and _fits(query, key, value, module.d_k, module.d_v)


def concat_in_kernels(
    module: Attention,
    query: Float[Tensor, "B T d_model"],
    key: Float[Tensor, "B S d_model"],
    value: Float[Tensor, "B S d_model"],
    mask: Bool[Tensor, "..."] | None,
) -> Float[Tensor, "B T H*d_v"]:
    """Compute `concat` with few large operations."""
    sizes = mask, module.num_heads, module.d_k
    if query is key is value:
        together = project(query, module.w_q, module.w_k, module.w_v)
        return attention_in_kernels(together, None, *sizes)
    if key is value:
        memory = project(key, module.w_k, module.w_v)
    else:
        memory = torch.cat((module.w_k(key), module.w_v(value)), dim=-1)
    return attention_in_kernels(project(query, module.w_q), memory, *sizes)


def _fits(
    query: Float[Tensor, "B T d_model"],
    key: Float[Tensor, "B S d_model"],
    value: Float[Tensor, "B S d_model"],
    d_k: int,
    d_v: int,
) -> bool:
    """Tell whether there are loops for the projections of these, and whether they are faster."""
    lowered = torch.is_autocast_enabled("cpu")
    dtype = torch.get_autocast_dtype("cpu") if lowered else query.dtype
    return (
        can_loop(query, key, value)
        and (lowered or query.dtype == key.dtype == value.dtype)
        and dtype in TYPES
        and d_k % LANES == 0
        and d_v % LANES == 0
        and query.size(0) == key.size(0) == value.size(0) > 0
        and 0 < query.size(1) <= LONGEST
        and 0 < key.size(1) <= LONGEST
        and threads.can_divide()
    )


def attention_in_kernels(
    queries: Float[Tensor, "B T width"],
    memory: Float[Tensor, "B S width"] | None,
    mask: Bool[Tensor, "..."] | None,
    num_heads: int,
    d_k: int,
) -> Float[Tensor, "B T H*d_v"]:
    """Compute equation 1 for every head, from projections as they are to `concat`.

    queries: Q, (B, T, H * d_k). memory: K beside V, (B, S, H * (d_k + d_v)); None where all three
    are side by side in queries. mask: (T, S) or four axes that broadcast to (B, H, T, S), True =
    may attend; None for all. A query with nothing to attend to gets zeros, and so does its
    gradient. For what `_fits`.
    """
    allowed = (
        torch.ones(1, 1, 1, 1, dtype=torch.bool, device=queries.device) if mask is None else mask
    )
    allowed = allowed.view(*(1,) * (4 - allowed.dim()), *allowed.shape)
    keys = (queries if memory is None else memory).size(1)
    allowed = allowed.expand(-1, -1, -1, keys)
    return _Attend.apply(queries, memory, allowed, num_heads, d_k)  # type: ignore[no-any-return]


class _Attend(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, queries: Tensor, memory: Tensor | None, allowed: Tensor, num_heads: int, d_k: int
    ) -> Tensor:
        loops = _loops()
        column = num_heads * d_k if memory is None else 0
        both = queries if memory is None else memory
        sizes = num_heads, d_k, (both.size(2) - column) // num_heads - d_k
        sentences, length, keys = *queries.shape[:2], both.size(1)
        rows = -(-length // loops.ROWS) * loops.ROWS
        room = -(-keys // LANES) * LANES
        weights = torch.empty(
            sentences, num_heads, rows, room, dtype=torch.float32, device=queries.device
        )
        out = queries.new_empty(sentences, length, num_heads * sizes[2])
        given = array(queries), array(both), column, sizes
        rest = array(allowed), array(weights), array(out)
        threads.divide(loops.attend, *given, *rest, count=sentences * num_heads)
        ctx.save_for_backward(queries, memory, weights)
        ctx.layout = column, sizes
        return out

    @staticmethod
    @first_derivatives_only
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        loops = _loops()
        queries, memory, weights = ctx.saved_tensors
        grad_queries = queries.new_empty(queries.shape)
        both, grad_both = queries, grad_queries
        if memory is not None:
            both, grad_both = memory, memory.new_empty(memory.shape)
        given = array(queries), array(both), *ctx.layout
        rest = (array(x) for x in (weights, grad_outputs[0], grad_queries, grad_both))
        heads = len(queries) * ctx.layout[1][0]
        threads.divide(loops.attend_backward, *given, *rest, count=heads)
        return grad_queries, None if memory is None else grad_both, None, None, None


def _loops() -> ModuleType:
    """Import what needs Numba when it is needed."""
    from headway.kernels import attention

    return attention
