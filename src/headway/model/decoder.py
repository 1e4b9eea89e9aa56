"""Decoder (section 3.1, Figure 1 right): the encoder's layers, and attention to its output."""

from collections.abc import Iterable

from jaxtyping import Bool, Float
from torch import Tensor, nn

from headway.model.attention import MultiHeadAttention
from headway.model.cache import DecoderCache, LayerCache
from headway.model.checks import check_parts, check_stack
from headway.model.feed_forward import PositionwiseFeedForward
from headway.model.probe import probe
from headway.model.residual import Residual
from headway.model.ssru import RecurrentDecoderLayer


class DecoderLayer(nn.Module):
    """Attend to the earlier target, then to the memory, then transform each position.

    Intermediates, besides those of its parts: `input` and `output`, (B, T, d_model).

    Elsewhere: decoder_layer, DecoderBlock, TransformerDecoderBlock, TransformerDecoderLayer.
    """

    def __init__(
        self,
        self_attention: MultiHeadAttention,
        cross_attention: MultiHeadAttention,
        feed_forward: PositionwiseFeedForward,
        self_attention_residual: Residual,
        cross_attention_residual: Residual,
        feed_forward_residual: Residual,
    ) -> None:
        """Combine three sub-layers and the residual connection of each."""
        super().__init__()
        check_parts(
            {
                "self_attention": self_attention,
                "cross_attention": cross_attention,
                "feed_forward": feed_forward,
                "self_attention_residual": self_attention_residual,
                "cross_attention_residual": cross_attention_residual,
                "feed_forward_residual": feed_forward_residual,
            }
        )
        self.self_attention = self_attention
        self.self_attention_residual = self_attention_residual
        self.cross_attention = cross_attention
        self.cross_attention_residual = cross_attention_residual
        self.feed_forward = feed_forward
        self.feed_forward_residual = feed_forward_residual

    def forward(
        self,
        x: Float[Tensor, "B T d_model"],
        memory: Float[Tensor, "B S d_model"],
        target_mask: Bool[Tensor, "..."] | None = None,
        source_mask: Bool[Tensor, "..."] | None = None,
        cache: LayerCache | None = None,
    ) -> Float[Tensor, "B T d_model"]:
        """Run the three sub-layers.

        target_mask broadcasts to (B, H, T, T) and hides later positions and padding. source_mask
        broadcasts to (B, H, T, S) and hides the padding of the source, not of the target.
        """
        self_cache = cache.self_attention if cache else None
        cross_cache = cache.cross_attention if cache else None
        x = probe(self, "input", x)
        x = self.self_attention_residual(
            x, lambda y: self.self_attention(y, y, y, target_mask, self_cache)
        )
        x = self.cross_attention_residual(
            x, lambda y: self.cross_attention(y, memory, memory, source_mask, cross_cache)
        )
        x = self.feed_forward_residual(x, self.feed_forward)
        return probe(self, "output", x)


class Decoder(nn.Module):
    """Run the layers one after the other; every layer attends to the same memory.

    Elsewhere: decoder, TransformerDecoder.
    """

    def __init__(
        self,
        layers: Iterable[DecoderLayer | RecurrentDecoderLayer],
        norm: nn.LayerNorm | None = None,
    ) -> None:
        """Stack the layers; `norm` ends a pre-norm stack, whose output is not yet normalized."""
        super().__init__()
        check_stack(layers)
        self.layers = nn.ModuleList(layers)
        self.norm = norm

    def forward(
        self,
        x: Float[Tensor, "B T d_model"],
        memory: Float[Tensor, "B S d_model"],
        target_mask: Bool[Tensor, "..."] | None = None,
        source_mask: Bool[Tensor, "..."] | None = None,
        cache: DecoderCache | None = None,
    ) -> Float[Tensor, "B T d_model"]:
        """Return the hidden states for the output projection."""
        caches = cache.layers if cache else [None] * len(self.layers)
        for layer, layer_cache in zip(self.layers, caches, strict=True):
            x = layer(x, memory, target_mask, source_mask, layer_cache)
        return probe(self, "output", x if self.norm is None else self.norm(x))
