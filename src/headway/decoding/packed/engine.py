"""The packed engine: the decoder step in as few and as large operations as it takes.

What it does otherwise than the reference: queries, keys and values come of one product; the keys
and values that all layers make of the memory come of one product, once a sentence, and its
hypotheses share them; source sentences are read without padding; caches are written in place and
grow rarely; a hypothesis knows by index in which row each position of its past lies, so that a
beam is re-ordered without copying keys and values.
"""

from collections.abc import Sequence
from typing import cast

import numpy as np
from jaxtyping import Float
from torch import Tensor

from headway.decoding.engine import Ints
from headway.decoding.packed.backend import Array, Backend
from headway.decoding.packed.layers import (
    DecoderStep,
    FeedForward,
    MemoryAttention,
    PackedEmbedding,
    PastAttention,
    SourceAttention,
    Stack,
    heads_of,
)
from headway.decoding.packed.state import PackedState
from headway.decoding.packed.weights import Projection, project_memory
from headway.model.decoder import DecoderLayer
from headway.model.encoder import EncoderLayer
from headway.model.transformer import Transformer
from headway.runtime.processes import trim_heap

# Numbers that caches may always hold: with so small a decoder the way into a step is what costs.
_ALWAYS = 2**20
# Numbers that are made together as keys and values of the memory, in all layers: the most that is
# computed of a source piece. More would leave the processor's caches (benchmarks/log/056).
_READ_TOGETHER = 2**21


class PackedEngine:
    """Compute what the model computes, with these kernels."""

    copies_weights = True

    def __init__(self, model: Transformer, backend: Backend) -> None:
        """Prepare the weights, some of which stay the model's own: it must not change any more."""
        self.backend = backend
        self.source_embedding = PackedEmbedding(model.source_embedding, backend)
        self.target_embedding = PackedEmbedding(model.target_embedding, backend)
        self.encoder = Stack(model.encoder.norm, backend)
        for layer in cast("list[EncoderLayer]", list(model.encoder.layers)):
            attention = SourceAttention(layer.self_attention, backend)
            self.encoder.add(attention, layer.self_attention_residual)
            self.encoder.add(FeedForward(layer.feed_forward, backend), layer.feed_forward_residual)
            trim_heap()  # what each weight was while it was prepared would add up
        self.decoder = Stack(model.decoder.norm, backend)
        layers = cast("list[DecoderLayer]", list(model.decoder.layers))
        for index, layer in enumerate(layers):
            past = PastAttention(layer.self_attention, index, backend)
            memory = MemoryAttention(layer.cross_attention, index, backend)
            self.decoder.add(past, layer.self_attention_residual)
            self.decoder.add(memory, layer.cross_attention_residual)
            self.decoder.add(FeedForward(layer.feed_forward, backend), layer.feed_forward_residual)
            trim_heap()
        crossing = [layer.cross_attention for layer in layers]
        self.memory_projection = backend.linear(project_memory(crossing), fine=True)
        output = Projection.of_output(model.output_projection)
        self.output_projection = backend.output(output)
        self.listed_projection = backend.listed(output)
        self.whole_decoder = backend.fuse(self.decoder)
        self.past_heads = [heads_of(layer.self_attention) for layer in layers]
        self.memory_heads = [heads_of(attention) for attention in crossing]
        parts = model.decoder, model.output_projection
        self.decoder_weights = sum(p.numel() for part in parts for p in part.parameters())
        self.memory_width = sum(h.num_heads * (h.d_k + h.d_v) for h in self.memory_heads)
        self.pieces_together = _READ_TOGETHER // self.memory_width if backend.by_memory else None

    def start(self, slots: int, copies: int) -> PackedState:
        """Return a state whose slots are all free."""
        return PackedState(slots, copies, self.past_heads, self.memory_heads, self.backend)

    def max_useful_source_pieces(self, copies: int) -> int | None:
        """Return for how many the caches hold as many numbers as the decoder has weights.

        Hypotheses are, on average, half written. A step reads both, and caches that are much
        larger push the weights out of the processor's own (benchmarks/log/018).
        """
        if not self.backend.by_memory:
            return None
        past = sum(heads.num_heads * (heads.d_k + heads.d_v) for heads in self.past_heads)
        numbers = max(self.decoder_weights, _ALWAYS)
        return max(round(numbers / (self.memory_width + past * copies / 2)), 1)

    def encode(
        self,
        state: PackedState,
        slots: Sequence[int],
        sources: Sequence[Sequence[int]],
        allowed: Sequence[Ints] | None = None,
    ) -> None:
        """Read source sentences, END included, into these slots."""
        lengths = np.array([len(ids) for ids in sources])
        state.begin(slots, lengths)
        state.allowed.begin(slots, allowed)
        for part in parts_of(lengths, self.pieces_together):
            self._read(state, slots[part], sources[part], lengths[part])

    def _read(
        self,
        state: PackedState,
        slots: Sequence[int],
        sources: Sequence[Sequence[int]],
        lengths: Ints,
    ) -> None:
        """Read some of them, whose pieces follow one another without padding."""
        starts = np.concatenate([[0], lengths.cumsum()])
        ids = np.concatenate([np.asarray(source, dtype=np.int64) for source in sources])
        at = np.concatenate([np.arange(length) for length in lengths])
        x = self.encoder(self.source_embedding(ids, at), starts)  # (N, d_model)
        state.remember(slots, starts, self.memory_projection(x))

    def step(self, state: PackedState, rows: Ints, previous_ids: Ints) -> Float[Tensor, "R V"]:
        """Take the newest piece of each of these rows; return the next logits."""
        at = state.lengths[rows]
        state.make_room(int(at.max()) + 1)
        slots = rows // state.copies
        pieces = state.allowed.pieces(slots, previous_ids)
        x: Array = self.target_embedding(pieces, at)  # (R, d_model)
        step = DecoderStep(state, rows, slots)
        decode = self.whole_decoder or self.decoder
        x = decode(x, step)
        state.lengths[rows] += 1
        if state.allowed:
            return self.backend.tensor(self.listed_projection(x, slots, state.allowed))
        return self.backend.tensor(self.output_projection(x))

    def reorder(self, state: PackedState, rows: Ints, parents: Ints) -> None:
        """Let rows[i] go on from where parents[i] stands: a matter of indices."""
        state.owners[rows] = state.owners[parents]
        state.lengths[rows] = state.lengths[parents]


def parts_of(lengths: Ints, most: int | None) -> list[slice]:
    """Divide sentences of these lengths, in their order, into parts of `most` pieces or one each.

    >>> parts_of(np.array([3, 2, 9, 1]), 5)
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    if most is None:
        return [slice(0, len(lengths))]
    parts, first, pieces = [], 0, 0
    for place, length in enumerate(lengths.tolist()):
        if place > first and pieces + length > most:
            parts.append(slice(first, place))
            first, pieces = place, 0
        pieces += length
    return [*parts, slice(first, len(lengths))]
