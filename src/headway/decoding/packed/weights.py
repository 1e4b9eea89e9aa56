"""The weights of the packed engine: projections of the same input are joined."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headway.model.attention import MultiHeadAttention
from headway.model.embedding import OutputProjection
from headway.model.feed_forward import PositionwiseFeedForward


@dataclass(frozen=True, slots=True)
class Projection:
    """y = x weight^T + bias."""

    weight: Float[Tensor, "out in"]
    bias: Float[Tensor, " out"]

    @classmethod
    def of(cls, *linears: nn.Linear) -> "Projection":
        """Join projections of the same input; their outputs are concatenated."""
        return cls(
            torch.cat([linear.weight.detach() for linear in linears]),
            torch.cat([_bias(linear) for linear in linears]),
        )

    @classmethod
    def of_output(cls, output: OutputProjection) -> "Projection":
        """Return the projection to the vocabulary."""
        weight = output.weight.detach()
        bias = weight.new_zeros(len(weight)) if output.bias is None else output.bias.detach()
        return cls(weight, bias)


def _bias(linear: nn.Linear) -> Tensor:
    if linear.bias is None:
        return linear.weight.new_zeros(linear.out_features)
    return linear.bias.detach()


def project_all(attention: MultiHeadAttention) -> Projection:
    """Join queries, keys and values: (L, d_model) -> (L, H * (2 d_k + d_v))."""
    return Projection.of(attention.w_q, attention.w_k, attention.w_v)


def project_memory(attentions: Sequence[MultiHeadAttention]) -> Projection:
    """Join the keys and values of the memory in all layers."""
    return Projection.of(*(linear for a in attentions for linear in (a.w_k, a.w_v)))


def first_projection(feed_forward: PositionwiseFeedForward) -> Projection:
    """Return w_1, followed by w_gate in a gated variant."""
    gate = [] if feed_forward.w_gate is None else [feed_forward.w_gate]
    return Projection.of(feed_forward.w_1, *gate)
