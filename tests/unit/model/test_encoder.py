"""The encoder runs its sub-layers in the order of Figure 1 and hides padding."""

import pytest
import torch
from torch import nn

from headway.errors import ConfigError
from headway.model.attention import MultiHeadAttention
from headway.model.encoder import Encoder, EncoderLayer
from headway.model.feed_forward import PositionwiseFeedForward
from headway.model.residual import Residual


def encoder_layer() -> EncoderLayer:
    return EncoderLayer(
        MultiHeadAttention(14, 3, d_k=5, d_v=4),
        PositionwiseFeedForward(14, 19),
        Residual(14),
        Residual(14),
    ).eval()


def test_a_layer_is_self_attention_then_feed_forward_each_added_and_normalized() -> None:
    layer = encoder_layer()
    x, mask = torch.randn(2, 6, 14), torch.rand(2, 1, 1, 6) > 0.3

    output = layer(x, mask)

    attended = layer.self_attention_residual.norm(x + layer.self_attention(x, x, x, mask))
    expected = layer.feed_forward_residual.norm(attended + layer.feed_forward(attended))
    torch.testing.assert_close(output, expected)


def test_the_encoder_runs_its_layers_in_order_and_the_closing_norm_last() -> None:
    layers, norm = [encoder_layer() for _ in range(3)], nn.LayerNorm(14, eps=0.5)
    x = torch.randn(2, 6, 14)

    memory = Encoder(layers, norm)(x)

    expected = norm(layers[2](layers[1](layers[0](x))))
    torch.testing.assert_close(memory, expected)
    torch.testing.assert_close(Encoder(layers)(x), layers[2](layers[1](layers[0](x))))


def test_dropout_falls_on_both_sub_layers() -> None:
    layer = encoder_layer()
    layer.self_attention_residual.dropout = layer.feed_forward_residual.dropout = 0.0
    x = torch.randn(2, 6, 14)
    quiet = layer.train()(x)

    for residual in (layer.self_attention_residual, layer.feed_forward_residual):
        residual.dropout = 0.5
        assert not torch.equal(layer(x), quiet)
        residual.dropout = 0.0
    assert torch.equal(layer(x), quiet)


def test_sizes_in_place_of_parts_and_one_layer_in_place_of_a_stack_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"^self_attention is 512, .*from_config builds"):
        EncoderLayer(512, 8, 2048, 0.1)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"^The layers are of type EncoderLayer, but must be a l"):
        Encoder(encoder_layer(), 6)  # type: ignore[arg-type]
