"""The equations of a model: how it differs from the paper's."""

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Literal

from torch import nn

from headway.model.feed_forward import GATED_ACTIVATIONS
from headway.model.positional_encoding import SinusoidalPositionalEncoding
from headway.model.residual import NormPosition
from headway.model.transformer import Transformer

Past = Literal["self_attention", "ssru"]
Positions = Literal["interleaved", "halved", "split", "learned"]


@dataclass(frozen=True, slots=True)
class Variant:
    """The choices behind a model's equations; the defaults are the paper's, except for biases."""

    norm_position: NormPosition = "post"
    decoder_past: Past = "self_attention"
    """The first sub-layer of the decoder."""
    activation: str = "relu"
    positions: Positions = "interleaved"
    first_position: int = 0
    """The position of the first token in the sinusoids."""
    scaled: bool = True
    """Embeddings are multiplied by sqrt(d_model)."""
    attention_bias: bool = True
    feed_forward_bias: bool = True
    output_bias: bool = False

    @property
    def gated(self) -> bool:
        """Return True if the feed-forward network has a gate."""
        return self.activation in GATED_ACTIVATIONS


def variant_of(model: Transformer) -> Variant:
    """Return the variant of a model.

    Each choice is that of the first layer that has it; parts of your own need not have any.
    """
    positions = first_with([model.target_embedding], "positions", None)
    sinusoidal = isinstance(positions, SinusoidalPositionalEncoding)
    layers = [*model.decoder.layers, *model.encoder.layers]
    recurrent = first_with(model.decoder.layers, "ssru", None) is not None
    return Variant(
        norm_position=first_with(layers, "self_attention_residual.norm_position", "post"),
        decoder_past="ssru" if recurrent else "self_attention",
        activation=first_with(layers, "feed_forward.activation", "relu"),
        positions=positions.layout if sinusoidal else "learned",  # type: ignore[arg-type]
        first_position=positions.first if sinusoidal else 0,
        scaled=first_with([model.target_embedding], "scale", 1.0) != 1.0,
        attention_bias=first_with(layers, "self_attention.w_q.bias", None) is not None,
        feed_forward_bias=first_with(layers, "feed_forward.w_1.bias", None) is not None,
        output_bias=first_with([model], "output_projection.bias", None) is not None,
    )


def first_with(parts: Iterable[nn.Module], path: str, default: Any) -> Any:
    """Return this attribute of the first part that has it, or the default."""
    for part in parts:
        with contextlib.suppress(AttributeError):
            return attrgetter(path)(part)
    return default
