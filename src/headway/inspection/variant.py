"""Which equations are in force: how a model differs from the paper's."""

from dataclasses import dataclass
from typing import Literal

from headway.model.decoder import DecoderLayer
from headway.model.feed_forward import GATED_ACTIVATIONS
from headway.model.positional_encoding import SinusoidalPositionalEncoding
from headway.model.residual import NormPosition
from headway.model.transformer import Transformer

Positions = Literal["interleaved", "halved", "learned"]


@dataclass(frozen=True, slots=True)
class Variant:
    """What the equations of a model depend on; the defaults are the paper's, but for biases."""

    norm_position: NormPosition = "post"
    activation: str = "relu"
    positions: Positions = "interleaved"
    scaled: bool = True
    """Embeddings are multiplied by sqrt(d_model)."""
    attention_bias: bool = True
    feed_forward_bias: bool = True
    output_bias: bool = False

    @property
    def gated(self) -> bool:
        """Tell whether the feed-forward network has a gate."""
        return self.activation in GATED_ACTIVATIONS


def variant_of(model: Transformer) -> Variant:
    """Read off a model which equations are in force in it."""
    layer, embedding = model.decoder.layers[0], model.target_embedding
    assert isinstance(layer, DecoderLayer)
    positions = embedding.positions
    sinusoidal = isinstance(positions, SinusoidalPositionalEncoding)
    return Variant(
        norm_position=layer.self_attention_residual.norm_position,
        activation=layer.feed_forward.activation,
        positions=positions.layout if sinusoidal else "learned",  # type: ignore[arg-type]
        scaled=embedding.scale != 1.0,
        attention_bias=layer.self_attention.w_q.bias is not None,
        feed_forward_bias=layer.feed_forward.w_1.bias is not None,
        output_bias=model.output_projection.bias is not None,
    )
