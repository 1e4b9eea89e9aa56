"""The Transformer of section 3 of the paper.

The reading order is attention, feed_forward, embedding, positional_encoding, residual, masks,
encoder, decoder, transformer; then ssru, which may replace the decoder's self-attention. The other
files are dropout, initialization, accounting and modes;
cache (decoding step by step); probe (names of intermediates); checks (of inputs); customized (parts
of your own); uninitialized (a model whose weights are read later). Training computes the same with
faster code: see `headway.training.accelerated`.

The letters of all shapes in the package follow. Counts are capital letters; widths have the names
of the paper.

    B  sentences in the batch          d_model  width of the residual stream
    T  target positions, the queries   d_ff     inner width of the feed-forward
    S  source positions, the keys      d_k, d_v width of a key and of a value, per head
    H  heads                           V        pieces in the vocabulary
    M  positions kept in a cache       K        hypotheses of a sentence (beam)
    L  positions of either side        d_in     width of a projection's input
    R  hypotheses of a decoding step   d_out    width of a projection's output
    N  rows of any sentences
    W  pieces in a sentence's shortlist
    U  pieces in any shortlist of the batch

In attention, T positions are queries and S positions are keys; in self-attention they are the same
positions. A mask is boolean and True where a query may attend.

`from headway.model import MultiHeadAttention` works for every layer and function of the paper, as
listed in `headway.model.__all__`. A file is imported when one of its names is first asked for.
"""

import importlib
import sys
from typing import TYPE_CHECKING, Any

from headway.errors.elsewhere import missing
from headway.model import vector_math

if TYPE_CHECKING:
    from headway.model.accounting import count_parameters, multiply_adds
    from headway.model.attention import MultiHeadAttention, scaled_dot_product_attention
    from headway.model.decoder import Decoder, DecoderLayer
    from headway.model.embedding import InputEmbedding, OutputProjection, TokenEmbedding
    from headway.model.encoder import Encoder, EncoderLayer
    from headway.model.feed_forward import PositionwiseFeedForward
    from headway.model.initialization import initialize
    from headway.model.masks import look_ahead_mask, padding_mask, target_mask
    from headway.model.positional_encoding import (
        LearnedPositionalEncoding,
        SinusoidalPositionalEncoding,
        sinusoid_table,
    )
    from headway.model.residual import Residual
    from headway.model.ssru import RecurrentDecoderLayer, SimpleRecurrentUnit
    from headway.model.transformer import Transformer

__all__ = [
    "Decoder",
    "DecoderLayer",
    "Encoder",
    "EncoderLayer",
    "InputEmbedding",
    "LearnedPositionalEncoding",
    "MultiHeadAttention",
    "OutputProjection",
    "PositionwiseFeedForward",
    "RecurrentDecoderLayer",
    "Residual",
    "SimpleRecurrentUnit",
    "SinusoidalPositionalEncoding",
    "TokenEmbedding",
    "Transformer",
    "count_parameters",
    "initialize",
    "look_ahead_mask",
    "multiply_adds",
    "padding_mask",
    "scaled_dot_product_attention",
    "sinusoid_table",
    "target_mask",
]

_HOMES = {
    "Decoder": "decoder",
    "DecoderLayer": "decoder",
    "Encoder": "encoder",
    "EncoderLayer": "encoder",
    "InputEmbedding": "embedding",
    "LearnedPositionalEncoding": "positional_encoding",
    "MultiHeadAttention": "attention",
    "OutputProjection": "embedding",
    "PositionwiseFeedForward": "feed_forward",
    "RecurrentDecoderLayer": "ssru",
    "Residual": "residual",
    "SimpleRecurrentUnit": "ssru",
    "SinusoidalPositionalEncoding": "positional_encoding",
    "TokenEmbedding": "embedding",
    "Transformer": "transformer",
    "count_parameters": "accounting",
    "initialize": "initialization",
    "look_ahead_mask": "masks",
    "multiply_adds": "accounting",
    "padding_mask": "masks",
    "scaled_dot_product_attention": "attention",
    "sinusoid_table": "positional_encoding",
    "target_mask": "masks",
}

vector_math.prepare()


if not TYPE_CHECKING:  # to a type checker each name would be one of this module

    def __getattr__(name: str) -> Any:
        """Import a layer or function when it is first asked for."""
        if name not in _HOMES:
            raise missing(sys.modules[__name__], name)
        value = getattr(importlib.import_module(f"headway.model.{_HOMES[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *__all__})
