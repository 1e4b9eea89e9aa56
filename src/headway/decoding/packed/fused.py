"""The decoder in one compiled call: a step of few rows is mostly waiting for calls."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headway.decoding.loops.decoder import decode_rows
from headway.decoding.packed.compiled import Float32Product, Int8LoopProduct
from headway.decoding.packed.dot_products import DotProduct
from headway.decoding.packed.state import PackedState
from headway.decoding.packed.sublayers import (
    FeedForward,
    MemoryAttention,
    PastAttention,
    Stack,
    Step,
)

Floats = NDArray[np.float32]
_KINDS = (Float32Product, Int8LoopProduct, DotProduct)


class FusedDecoder:
    """All layers of a decoder with ReLU, in one kind of products throughout."""

    def __init__(self, decoder: Stack) -> None:
        """Take the prepared weights, as they are."""
        products = _products(decoder)
        self.weights = tuple(product.weight for product in products)
        self.steps = tuple(product.steps for product in products)
        self.biases = tuple(product.bias for product in products)
        self.gammas = tuple(norm.gamma for norm in decoder.norms)
        self.betas = tuple(norm.beta for norm in decoder.norms)
        self.epsilon = decoder.norms[0].epsilon
        attentions = [s for s in decoder.sublayers if isinstance(s, PastAttention)]
        self.num_heads = attentions[0].heads.num_heads
        self.pre = decoder.pre
        self.levels = products[0].levels
        self.limit = min(product.most_rows for product in products)

    @staticmethod
    def fits(decoder: Stack) -> bool:
        """Tell whether a decoder is of the kind that this one can run."""
        products = _products(decoder)
        relu = all(s.activation is None for s in decoder.sublayers if isinstance(s, FeedForward))
        one_epsilon = len({float(norm.epsilon) for norm in decoder.norms}) == 1
        one_kind = len({type(p) for p in products}) == 1
        compiled = all(isinstance(p, _KINDS) and p.weight is not None for p in products)
        return relu and one_epsilon and one_kind and compiled

    def __call__(self, x: Floats, step: Step) -> Floats:
        """Compute (R, d_model) -> (R, d_model), R at most `limit`, in place."""
        state: PackedState = step.state
        decode_rows(
            x, step.rows, step.slots, state.lengths, state.owners, state.source_lengths,
            tuple(cache.keys for cache in state.past),
            tuple(cache.values for cache in state.past),
            tuple(cache.keys for cache in state.memory),
            tuple(cache.values for cache in state.memory),
            self.num_heads, self.weights, self.steps, self.biases, self.gammas, self.betas,
            self.epsilon, self.pre, self.levels,
        )  # fmt: skip
        return x


def _products(decoder: Stack) -> list[Any]:
    """Return the products of all sub-layers in the order in which they are taken."""
    return [product for sublayer in decoder.sublayers for product in _products_of(sublayer)]


def _products_of(sublayer: Any) -> Sequence[Any]:
    if isinstance(sublayer, PastAttention):
        return [sublayer.w_qkv, sublayer.w_o]
    if isinstance(sublayer, MemoryAttention):
        return [sublayer.w_q, sublayer.w_o]
    return [sublayer.w_1, sublayer.w_2]
