"""Encoder (section 3.1, Figure 1 left): N layers of self-attention and feed-forward."""

from collections.abc import Iterable

from jaxtyping import Bool, Float
from torch import Tensor, nn

from headway.model.attention import MultiHeadAttention
from headway.model.checks import check_parts, check_stack
from headway.model.feed_forward import PositionwiseFeedForward
from headway.model.probe import probe
from headway.model.residual import Residual


class EncoderLayer(nn.Module):
    """Let every position attend to the whole source, then transform each position.

    Intermediates, besides those of its parts: `input` and `output`, (B, S, d_model).

    Elsewhere: encoder_layer, EncoderBlock, TransformerBlock, TransformerEncoderBlock,
    TransformerEncoderLayer, TransformerLayer.
    """

    def __init__(
        self,
        self_attention: MultiHeadAttention,
        feed_forward: PositionwiseFeedForward,
        self_attention_residual: Residual,
        feed_forward_residual: Residual,
    ) -> None:
        """Combine two sub-layers and the residual connection of each."""
        super().__init__()
        check_parts(
            {
                "self_attention": self_attention,
                "feed_forward": feed_forward,
                "self_attention_residual": self_attention_residual,
                "feed_forward_residual": feed_forward_residual,
            }
        )
        self.self_attention = self_attention
        self.self_attention_residual = self_attention_residual
        self.feed_forward = feed_forward
        self.feed_forward_residual = feed_forward_residual

    def forward(
        self,
        x: Float[Tensor, "B S d_model"],
        source_mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "B S d_model"]:
        """Run both sub-layers; source_mask broadcasts to (B, H, S, S)."""
        x = probe(self, "input", x)
        x = self.self_attention_residual(x, lambda y: self.self_attention(y, y, y, source_mask))
        x = self.feed_forward_residual(x, self.feed_forward)
        return probe(self, "output", x)


class Encoder(nn.Module):
    """Run the layers one after the other; the output is the memory.

    Elsewhere: clones, encoder, get_clones, TransformerEncoder.
    """

    def __init__(self, layers: Iterable[EncoderLayer], norm: nn.LayerNorm | None = None) -> None:
        """Stack the layers; `norm` ends a pre-norm stack, whose output is not yet normalized."""
        super().__init__()
        check_stack(layers)
        self.layers = nn.ModuleList(layers)
        self.norm = norm

    def forward(
        self,
        x: Float[Tensor, "B S d_model"],
        source_mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "B S d_model"]:
        """Return the memory."""
        for layer in self.layers:
            x = layer(x, source_mask)
        return probe(self, "output", x if self.norm is None else self.norm(x))
