"""The packed engine: a decoder step in few, large operations.

The differences from the reference engine: one product makes queries, keys and values. One product
makes the keys and values of the memory for all layers, once a sentence, and all hypotheses share
them. Source sentences are encoded without padding. Caches are written in place and grow rarely. A
hypothesis has an index of the row that holds each position of its past, so that a beam is reordered
without copying keys and values.
"""

from collections.abc import Sequence
from typing import cast

import numpy as np
from jaxtyping import Float
from torch import Tensor

from headway.data.draft_counts import DraftCounts
from headway.decoding.engine import Batch, Ints
from headway.decoding.options import SearchOptions
from headway.decoding.packed.backend import Array, Backend
from headway.decoding.packed.layers import (
    DecoderStep,
    FeedForward,
    MemoryAttention,
    PackedEmbedding,
    PastAttention,
    PastRecurrence,
    SourceAttention,
    Stack,
    heads_of,
)
from headway.decoding.packed.state import PackedState
from headway.decoding.packed.weights import Projection, project_memory
from headway.model.decoder import DecoderLayer
from headway.model.encoder import EncoderLayer
from headway.model.ssru import RecurrentDecoderLayer
from headway.model.transformer import Transformer
from headway.runtime.processes import trim_heap

# Caches may always hold this many numbers: in a decoder so small, overhead dominates a step.
_ALWAYS = 2**20
# Numbers of the memory's keys and values, of all layers, that are computed together. These are the
# largest arrays of encoding; more would not fit into the processor's caches (benchmarks/log/056).
_READ_TOGETHER = 2**21
# Weights of a decoder from which guesses pay, because a step spends most of its time reading them.
# With 1.7 million, looking at the counts takes as long as the steps that it saves; with 26 million,
# a sentence takes 0.7 of the time (benchmarks/log/085).
_WORTH_GUESSES = 2**23


class PackedEngine:
    """Compute the model's logits with the operations of a backend."""

    copies_weights = True

    def __init__(
        self, model: Transformer, backend: Backend, drafts: DraftCounts | None = None
    ) -> None:
        """Prepare the weights; some are shared with the model, which must not change any more.

        drafts: the counts from which a compiled greedy search guesses pieces.
        """
        self.backend = backend
        self.source_embedding = PackedEmbedding(model.source_embedding, backend)
        self.target_embedding = PackedEmbedding(model.target_embedding, backend)
        self.encoder = Stack(model.encoder.norm, backend)
        for layer in cast("list[EncoderLayer]", list(model.encoder.layers)):
            attention = SourceAttention(layer.self_attention, backend)
            self.encoder.add(attention, layer.self_attention_residual)
            self.encoder.add(FeedForward(layer.feed_forward, backend), layer.feed_forward_residual)
            trim_heap()  # frees the temporary copies of weights
        self.decoder = Stack(model.decoder.norm, backend)
        layers = cast("list[DecoderLayer | RecurrentDecoderLayer]", list(model.decoder.layers))
        for index, layer in enumerate(layers):
            if isinstance(layer, RecurrentDecoderLayer):
                recurrence = PastRecurrence(layer.ssru, index, backend)
                self.decoder.add(recurrence, layer.ssru_residual)
            else:
                past = PastAttention(layer.self_attention, index, backend)
                self.decoder.add(past, layer.self_attention_residual)
            memory = MemoryAttention(layer.cross_attention, index, backend)
            self.decoder.add(memory, layer.cross_attention_residual)
            self.decoder.add(FeedForward(layer.feed_forward, backend), layer.feed_forward_residual)
            trim_heap()
        crossing = [layer.cross_attention for layer in layers]
        self.memory_projection = backend.linear(project_memory(crossing), sensitive=True)
        output = Projection.of_output(model.output_projection)
        self.output_projection = backend.output(output)
        self.listed_projection = backend.listed(output)
        self.whole_decoder = backend.fuse(self.decoder)
        self.whole_encoder = backend.fuse_encoder(
            self.source_embedding, self.encoder, self.memory_projection
        )
        parts = model.decoder, model.output_projection
        self.decoder_weights = sum(p.numel() for part in parts for p in part.parameters())
        self.search_loop = backend.search_loop(
            self.target_embedding,
            self.whole_decoder,
            self.output_projection,
            self.whole_encoder,
            drafts if self.decoder_weights >= _WORTH_GUESSES else None,
        )
        self.past_heads = [
            heads_of(layer.self_attention) for layer in layers if isinstance(layer, DecoderLayer)
        ]
        self.cell_widths = [
            layer.ssru.d_model for layer in layers if isinstance(layer, RecurrentDecoderLayer)
        ]
        self.memory_heads = [heads_of(attention) for attention in crossing]
        self.memory_width = sum(h.num_heads * (h.d_k + h.d_v) for h in self.memory_heads)
        self.pieces_together = _READ_TOGETHER // self.memory_width if backend.by_memory else None

    def start(self, slots: int, copies: int) -> PackedState:
        """Return a state whose slots are all free."""
        return PackedState(
            slots, copies, self.past_heads, self.cell_widths, self.memory_heads, self.backend
        )

    def batch(self, options: SearchOptions, slots: int) -> Batch | None:
        """Return a batch with the compiled loop; None if the backend has none for this decoder."""
        return None if self.search_loop is None else self.search_loop.batch(self, options, slots)

    def max_useful_source_pieces(self, copies: int) -> int | None:
        """Return the number for which the caches are as large as the weights of the decoder.

        A step reads both. Larger caches would evict the weights from the processor's caches
        (benchmarks/log/018). On average, half of each hypothesis is written.
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
        """Encode source sentences, END included, into these slots."""
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
        """Encode some sentences together, without padding."""
        starts = np.concatenate([[0], lengths.cumsum()])
        ids = np.concatenate([np.asarray(source, dtype=np.int64) for source in sources])
        encode = self.whole_encoder or self._encode_separately
        state.remember(slots, starts, encode(ids, starts))

    def _encode_separately(self, ids: Ints, starts: Ints) -> Array:
        """Compute the result of a `WholeEncoder` with one call for each operation."""
        at = np.concatenate([np.arange(length) for length in np.diff(starts)])
        return self.memory_projection(self.encoder(self.source_embedding(ids, at), starts))

    def step(self, state: PackedState, rows: Ints, previous_ids: Ints) -> Float[Tensor, "R V"]:
        """Append the newest piece to each of these rows; return the next logits."""
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
        """Let rows[i] continue parents[i], by copying indices."""
        state.owners[rows] = state.owners[parents]
        state.lengths[rows] = state.lengths[parents]


def parts_of(lengths: Ints, most: int | None) -> list[slice]:
    """Divide sentences of these lengths, in order, into parts of at most `most` pieces.

    A longer sentence is a part by itself.

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
