"""The sub-layers of the packed engine: on rows, with caches."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from headway.decoding.engine import Ints
from headway.decoding.packed.backend import Array, Backend, Heads, Linear
from headway.decoding.packed.state import PackedState
from headway.decoding.packed.weights import Projection, first_projection, project_all
from headway.errors import ConfigError
from headway.model.attention import MultiHeadAttention
from headway.model.checks import check_head_width
from headway.model.embedding import InputEmbedding, TokenEmbedding
from headway.model.feed_forward import ACTIVATIONS, GATED_ACTIVATIONS, PositionwiseFeedForward
from headway.model.residual import Residual
from headway.model.ssru import SimpleRecurrentUnit


@dataclass(frozen=True, slots=True)
class DecoderStep:
    """The rows that a decoder step computes, and the slot of each."""

    state: PackedState
    rows: Ints
    slots: Ints


class PackedEmbedding:
    """embedding * sqrt(d_model) + position, for pieces at any positions."""

    def __init__(self, embedding: InputEmbedding, backend: Backend) -> None:
        """Convert the table; positions are computed when they are needed."""
        self.backend = backend
        self.table = backend.array(_table(embedding.tokens))
        self.scale = embedding.scale
        self.module = embedding.positions
        self.positions = backend.array(self.module(1))

    def __call__(self, ids: Ints, at: Ints) -> Array:
        """Embed ids at these positions, (R,) each -> (R, d_model)."""
        positions = self.positions_to(int(at.max()) + 1)
        try:
            vectors = self.backend.take(self.table, ids) * self.scale
        except IndexError:
            raise self.unknown(ids) from None
        return vectors + self.backend.take(positions, at)

    def positions_to(self, length: int) -> Array:
        """Return the vectors of this many positions or more, (T, d_model)."""
        positions = self.positions  # read once: another worker may replace it
        if length > positions.shape[0]:
            positions = self.positions = self.backend.array(self.module(length))
        return positions

    def unknown(self, ids: Ints) -> ConfigError:
        """Return the error for ids that are not all in the table."""
        return ConfigError(
            f"The ids go from {ids.min()} to {ids.max()}, but the vocabulary has tokens 0 to "
            f"{self.table.shape[0] - 1}.",
            "Use the tokenizer that belongs to this model.",
        )


def _table(tokens: TokenEmbedding) -> Tensor:
    """Return the table; if the row of `zero_id` is not zero, a copy in which it is."""
    if tokens.zero_id is None or not tokens.weight[tokens.zero_id].any():
        return tokens.weight
    table = tokens.weight.detach().clone()
    table[tokens.zero_id] = 0.0
    return table


class Stack:
    """Sub-layers one after the other, each with Add & Norm.

    One LayerNorm follows each addition. In post-norm it belongs to the sub-layer itself. In
    pre-norm it belongs to the next sub-layer, or ends the stack, and the sum is kept as well.
    """

    def __init__(self, last_norm: nn.LayerNorm | None, backend: Backend) -> None:
        """Start without sub-layers; last_norm ends a pre-norm stack, and is None in post-norm."""
        self.backend = backend
        self.pre = last_norm is not None
        self.norms: list[Any] = [] if last_norm is None else [backend.norm(last_norm)]
        self.sublayers: list[Callable[[Array, Any], Array]] = []

    def add(self, sublayer: Callable[[Array, Any], Array], residual: Residual) -> None:
        """Append a sub-layer with its residual connection."""
        self.sublayers.append(sublayer)
        place = len(self.norms) - 1 if self.pre else len(self.norms)
        self.norms.insert(place, self.backend.norm(residual.norm))

    def __call__(self, x: Array, context: Any) -> Array:
        """Run all sub-layers, (R, d_model) -> (R, d_model)."""
        norms = iter(self.norms)
        base = x
        if self.pre:
            x = self.backend.normalize(x, next(norms))
        for sublayer, norm in zip(self.sublayers, norms, strict=True):
            total, x = self.backend.add_norm(base, sublayer(x, context), norm)
            base = total if self.pre else x
        return x


def heads_of(attention: MultiHeadAttention) -> Heads:
    """Return the heads of an attention; ConfigError if its projections have other widths."""
    for name, linear in (("q", attention.w_q), ("k", attention.w_k), ("v", attention.w_v)):
        check_head_width(attention, name, linear.out_features)
    return Heads(attention.num_heads, attention.d_k, attention.d_v)


class SourceAttention:
    """Self-attention in the encoder, over concatenated sentences."""

    def __init__(self, attention: MultiHeadAttention, backend: Backend) -> None:
        """Prepare the projections."""
        self.backend = backend
        self.heads = heads_of(attention)
        self.w_qkv: Linear = backend.linear(project_all(attention))
        self.w_o: Linear = backend.linear(Projection.of(attention.w_o))

    def __call__(self, x: Array, starts: Ints) -> Array:
        """Compute (N, d_model) -> (N, d_model)."""
        return self.w_o(self.backend.attend_to_source(self.w_qkv(x), starts, self.heads))


class PastAttention:
    """Self-attention in the decoder: one position a row, earlier positions in a cache."""

    def __init__(self, attention: MultiHeadAttention, layer: int, backend: Backend) -> None:
        """Prepare the projections."""
        self.backend = backend
        self.heads = heads_of(attention)
        self.layer = layer
        self.w_qkv: Linear = backend.linear(project_all(attention))
        self.w_o: Linear = backend.linear(Projection.of(attention.w_o), sensitive=True)

    def __call__(self, x: Array, step: DecoderStep) -> Array:
        """Compute (R, d_model) -> (R, d_model)."""
        state = step.state
        heads = self.backend.attend_to_past(
            self.w_qkv(x),
            step.rows,
            state.lengths,
            state.owners,
            state.past[self.layer],
            self.heads,
        )
        return self.w_o(heads)


class PastRecurrence:
    """An SSRU in the decoder: one position a row, the newest cells in a cache."""

    def __init__(self, ssru: SimpleRecurrentUnit, layer: int, backend: Backend) -> None:
        """Prepare both projections as one product."""
        self.backend = backend
        self.layer = layer
        self.w_xf: Linear = backend.linear(Projection.of(ssru.w_x, ssru.w_f))

    def __call__(self, x: Array, step: DecoderStep) -> Array:
        """Compute (R, d_model) -> (R, d_model)."""
        state = step.state
        return self.backend.recur(
            self.w_xf(x), step.rows, state.lengths, state.owners, state.cells[self.layer]
        )


class MemoryAttention:
    """Cross-attention; encoding has already made the keys and values of the memory."""

    def __init__(self, attention: MultiHeadAttention, layer: int, backend: Backend) -> None:
        """Prepare the projections of queries and outputs."""
        self.backend = backend
        self.heads = heads_of(attention)
        self.layer = layer
        self.w_q: Linear = backend.linear(Projection.of(attention.w_q))
        self.w_o: Linear = backend.linear(Projection.of(attention.w_o), sensitive=True)

    def __call__(self, x: Array, step: DecoderStep) -> Array:
        """Compute (R, d_model) -> (R, d_model)."""
        state = step.state
        heads = self.backend.attend_to_memory(
            self.w_q(x), step.slots, state.source_lengths, state.memory[self.layer], self.heads
        )
        return self.w_o(heads)


class FeedForward:
    """Equation 2, or its gated variant."""

    def __init__(self, feed_forward: PositionwiseFeedForward, backend: Backend) -> None:
        """Prepare both projections; a ReLU is part of the first."""
        self.name = name = feed_forward.activation
        self.backend = backend
        self.gated = feed_forward.w_gate is not None
        self.d_ff = feed_forward.w_1.out_features
        self.activation = None if name == "relu" else (ACTIVATIONS | GATED_ACTIVATIONS)[name]
        first = first_projection(feed_forward)
        self.w_1: Linear = backend.linear(first, relu=self.activation is None)
        self.w_2: Linear = backend.linear(Projection.of(feed_forward.w_2))
        self.joined = backend.join(self.w_1, self.w_2, name)

    def __call__(self, x: Array, context: Any) -> Array:
        """Compute (R, d_model) -> (R, d_model)."""
        return self.joined(x) if self.joined else self.w_2(self._activate(self.w_1(x)))

    def _activate(self, hidden: Array) -> Array:
        if self.activation is None:
            return hidden
        values = self.backend.tensor(hidden)
        if not self.gated:
            return self.backend.array(self.activation(values))
        values, gate = values.chunk(2, dim=1)
        return self.backend.array(self.activation(gate) * values)
