"""Equation 1 for training on a CPU, with its gradient, in compiled kernels."""

from types import ModuleType
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from headway.kernels import LANES, dispatch, threads
from headway.model.probe import listening
from headway.training.accelerated.arrays import array
from headway.training.accelerated.linear import Project
from headway.training.accelerated.no_double_backward import first_derivatives_only


@runtime_checkable
class AttentionLayer(Protocol):
    """The parts of a `MultiHeadAttention` that are read here."""

    w_q: nn.Linear
    w_k: nn.Linear
    w_v: nn.Linear
    num_heads: int
    d_k: int
    d_v: int
    dropout: float
    training: bool


def learns_in_kernels(
    module: AttentionLayer,
    query: Float[Tensor, "B T d_model"],
    key: Float[Tensor, "B S d_model"],
    value: Float[Tensor, "B S d_model"],
) -> bool:
    """Return True if equation 1 and its gradient are computed by the compiled kernels."""
    if not module.training or not torch.is_grad_enabled():
        return False
    if listening():  # a trace needs every intermediate
        return False
    choice = dispatch.attention(query, key, value, module.d_k, module.d_v, module.dropout)
    return choice.by is dispatch.By.NUMBA


def concat_in_kernels(
    module: AttentionLayer,
    project: Project,
    query: Float[Tensor, "B T d_model"],
    key: Float[Tensor, "B S d_model"],
    value: Float[Tensor, "B S d_model"],
    mask: Bool[Tensor, "..."] | None,
) -> Float[Tensor, "B T H*d_v"]:
    """Compute `concat` with few large operations; project: of several `nn.Linear`, side by side."""
    if query is key is value:
        qkv = project(query, module.w_q, module.w_k, module.w_v)
        return attention_in_kernels(qkv, None, mask, module.num_heads, module.d_k)
    if key is value:
        memory = project(key, module.w_k, module.w_v)
    else:
        memory = torch.cat((module.w_k(key), module.w_v(value)), dim=-1)
    queries = project(query, module.w_q)
    return attention_in_kernels(queries, memory, mask, module.num_heads, module.d_k)


def attention_in_kernels(
    queries: Float[Tensor, "B T width"],
    memory: Float[Tensor, "B S width"] | None,
    mask: Bool[Tensor, "..."] | None,
    num_heads: int,
    d_k: int,
) -> Float[Tensor, "B T H*d_v"]:
    """Compute equation 1 for every head, from the projections to `concat`.

    queries: Q, (B, T, H * d_k). memory: K and V, (B, S, H * (d_k + d_v)); None where all three are
    side by side in queries. mask: (T, S) or four axes that broadcast to (B, H, T, S), True =
    may attend; None for all. A query without any allowed key gets zeros, and so does its gradient.
    Call it only where `dispatch.attention` chooses the kernel.
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
        kernels = _kernels()
        column = num_heads * d_k if memory is None else 0
        keys_values = queries if memory is None else memory
        d_v = (keys_values.size(2) - column) // num_heads - d_k
        sentences, length, keys = *queries.shape[:2], keys_values.size(1)
        padded_length = -(-length // kernels.ROWS) * kernels.ROWS
        padded_keys = -(-keys // LANES) * LANES
        weights = torch.empty(
            sentences, num_heads, padded_length, padded_keys,
            dtype=torch.float32, device=queries.device,
        )  # fmt: skip
        out = queries.new_empty(sentences, length, num_heads * d_v)
        threads.divide(
            kernels.attend, array(queries), array(keys_values), column, (num_heads, d_k, d_v),
            array(allowed), array(weights), array(out), count=sentences * num_heads,
        )  # fmt: skip
        ctx.save_for_backward(queries, memory, weights)
        ctx.column, ctx.sizes = column, (num_heads, d_k, d_v)
        return out

    @staticmethod
    @first_derivatives_only
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        queries, memory, weights = ctx.saved_tensors
        grad_queries = queries.new_empty(queries.shape)
        keys_values, grad_keys_values = queries, grad_queries
        if memory is not None:
            keys_values, grad_keys_values = memory, memory.new_empty(memory.shape)
        threads.divide(
            _kernels().attend_backward, array(queries), array(keys_values), ctx.column, ctx.sizes,
            array(weights), array(grad_outputs[0]), array(grad_queries), array(grad_keys_values),
            count=len(queries) * ctx.sizes[0],
        )  # fmt: skip
        grad_memory = None if memory is None else grad_keys_values
        return grad_queries, grad_memory, None, None, None


def _kernels() -> ModuleType:
    """Import the kernels, which need Numba, when they are used."""
    from headway.kernels import attention

    return attention
