"""The decoder in one compiled call, for few rows: a single sentence is mostly waiting for calls."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headway.decoding import loops
from headway.decoding.packed.compiled import FEW_ROWS, Float32Product
from headway.decoding.packed.state import PackedState
from headway.decoding.packed.sublayers import (
    FeedForward,
    MemoryAttention,
    PastAttention,
    Stack,
    Step,
)

Floats = NDArray[np.float32]


class FusedDecoder:
    """All layers of a float32 decoder with ReLU."""

    limit = FEW_ROWS

    def __init__(self, decoder: Stack) -> None:
        """Take the prepared weights, as they are."""
        products = [p for s in decoder.sublayers for p in _products(s)]
        self.weights = tuple(product.arrays[0] for product in products)
        self.biases = tuple(product.arrays[1] for product in products)
        self.gammas = tuple(norm.gamma for norm in decoder.norms)
        self.betas = tuple(norm.beta for norm in decoder.norms)
        self.epsilon = decoder.norms[0].epsilon
        self.pre = decoder.pre

    @staticmethod
    def fits(decoder: Stack) -> bool:
        """Tell whether a decoder is of the kind that this one can run."""
        products = [p for s in decoder.sublayers for p in _products(s)]
        relu = all(s.activation is None for s in decoder.sublayers if isinstance(s, FeedForward))
        one_epsilon = len({float(norm.epsilon) for norm in decoder.norms}) == 1
        return relu and one_epsilon and all(isinstance(p, Float32Product) for p in products)

    def __call__(self, x: Floats, step: Step) -> Floats:
        """Compute (R, d_model) -> (R, d_model), R at most FEW_ROWS, in place."""
        state: PackedState = step.state
        loops.decode_rows(
            x, step.rows, step.slots, state.lengths, state.owners, state.source_lengths,
            tuple(cache.keys for cache in state.past),
            tuple(cache.values for cache in state.past),
            tuple(cache.keys for cache in state.memory),
            tuple(cache.values for cache in state.memory),
            self.weights, self.biases, self.gammas, self.betas, self.epsilon, self.pre,
        )  # fmt: skip
        return x


def _products(sublayer: Any) -> Sequence[Any]:
    """Return the products of a sub-layer in the order in which it takes them."""
    if isinstance(sublayer, PastAttention):
        return [sublayer.w_qkv, sublayer.w_o]
    if isinstance(sublayer, MemoryAttention):
        return [sublayer.w_q, sublayer.w_o]
    return [sublayer.w_1, sublayer.w_2]
