"""The decoder in one compiled call: a step of few rows is mostly waiting for calls."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headway.decoding.packed.compiled_products import LoopProduct
from headway.decoding.packed.state import PackedState
from headway.decoding.packed.sublayers import (
    DecoderStep,
    FeedForward,
    MemoryAttention,
    PastAttention,
    Stack,
)
from headway.kernels.decoder_step import decode_rows

Floats = NDArray[np.float32]


class FusedDecoder:
    """All layers of a decoder with ReLU, of the same sizes and kinds of products in all of them."""

    def __init__(self, decoder: Stack) -> None:
        """Take the prepared weights, as they are."""
        products = _products(decoder)
        self.weights = tuple(tuple(product.weight for product in role) for role in products)
        self.d_ff = products[-2][0].num_outputs
        self.gammas = np.stack([norm.gamma for norm in decoder.norms])
        self.betas = np.stack([norm.beta for norm in decoder.norms])
        self.epsilon = decoder.norms[0].epsilon
        attentions = [s for s in decoder.sublayers if isinstance(s, PastAttention)]
        self.num_heads = attentions[0].heads.num_heads
        self.pre = decoder.pre

    @staticmethod
    def fits(decoder: Stack) -> bool:
        """Tell whether a decoder is of the kind that this one can run."""
        products = _products(decoder)
        relu = all(s.activation is None for s in decoder.sublayers if isinstance(s, FeedForward))
        one_epsilon = len({float(norm.epsilon) for norm in decoder.norms}) == 1
        one_kind = all(len({type(product) for product in role}) == 1 for role in products)
        compiled = all(isinstance(p, LoopProduct) for role in products for p in role)
        return relu and one_epsilon and one_kind and compiled and _has_one_size(decoder)

    def __call__(self, x: Floats, step: DecoderStep) -> Floats:
        """Compute (R, d_model) -> (R, d_model), in place."""
        state: PackedState = step.state
        decode_rows(
            x, step.rows, step.slots, state.lengths, state.owners, state.source_lengths,
            tuple(cache.keys for cache in state.past),
            tuple(cache.values for cache in state.past),
            tuple(cache.keys for cache in state.memory),
            tuple(cache.values for cache in state.memory),
            self.num_heads, self.d_ff, self.weights,
            self.gammas, self.betas, self.epsilon, self.pre,
        )  # fmt: skip
        return x


def _has_one_size(decoder: Stack) -> bool:
    """Tell whether all layers are as wide as the first, and all attentions divided as its own."""
    attentions = (s for s in decoder.sublayers if isinstance(s, PastAttention | MemoryAttention))
    networks = (s for s in decoder.sublayers if isinstance(s, FeedForward))
    heads = {attention.heads for attention in attentions}
    return len(heads) == len({network.d_ff for network in networks}) == 1


def _products(decoder: Stack) -> list[list[Any]]:
    """Return those of all layers, by what they are for, as `decode_rows` takes them."""
    past = [s for s in decoder.sublayers if isinstance(s, PastAttention)]
    memory = [s for s in decoder.sublayers if isinstance(s, MemoryAttention)]
    feed_forward = [s for s in decoder.sublayers if isinstance(s, FeedForward)]
    return [
        [attention.w_qkv for attention in past],
        [attention.w_o for attention in past],
        [attention.w_q for attention in memory],
        [attention.w_o for attention in memory],
        [network.w_1 for network in feed_forward],
        [network.w_2 for network in feed_forward],
    ]
