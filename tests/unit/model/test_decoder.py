"""The decoder runs three sub-layers in the order of Figure 1; each layer reads the memory."""

import pytest
import torch
from torch import Tensor, nn

from headway.errors import ConfigError
from headway.model.attention import MultiHeadAttention
from headway.model.decoder import Decoder, DecoderLayer
from headway.model.feed_forward import PositionwiseFeedForward
from headway.model.probe import listen, stop_listening
from headway.model.residual import Residual


def decoder_layer() -> DecoderLayer:
    return DecoderLayer(
        MultiHeadAttention(14, 3, d_k=5, d_v=4),
        MultiHeadAttention(14, 2, d_k=3, d_v=6),
        PositionwiseFeedForward(14, 19),
        Residual(14),
        Residual(14),
        Residual(14),
    ).eval()


def test_a_layer_attends_to_the_target_then_to_the_memory_then_transforms() -> None:
    layer = decoder_layer()
    x, memory = torch.randn(2, 7, 14), torch.randn(2, 6, 14)
    target_mask, source_mask = torch.rand(2, 1, 7, 7) > 0.3, torch.rand(2, 1, 1, 6) > 0.3

    output = layer(x, memory, target_mask, source_mask)

    own = layer.self_attention_residual.norm(x + layer.self_attention(x, x, x, target_mask))
    other = layer.cross_attention(own, memory, memory, source_mask)
    read = layer.cross_attention_residual.norm(own + other)
    expected = layer.feed_forward_residual.norm(read + layer.feed_forward(read))
    torch.testing.assert_close(output, expected)


def test_every_layer_reads_the_same_memory() -> None:
    layers = [decoder_layer() for _ in range(3)]
    decoder, memory = Decoder(layers), torch.randn(2, 6, 14)
    keys: list[tuple[nn.Module, Tensor]] = []

    def listener(module: nn.Module, name: str, tensor: Tensor) -> Tensor:
        if name == "projected_k":
            keys.append((module, tensor))
        return tensor

    token = listen(listener)
    decoder(torch.randn(2, 7, 14), memory)
    stop_listening(token)

    crossing = [(module, key) for module, key in keys if key.size(1) == 6]
    assert [module for module, _ in crossing] == [layer.cross_attention for layer in layers]
    for layer, (_, key) in zip(layers, crossing, strict=True):
        torch.testing.assert_close(key, layer.cross_attention.w_k(memory))


def test_the_decoder_runs_its_layers_in_order_and_the_closing_norm_last() -> None:
    layers, norm = [decoder_layer() for _ in range(2)], nn.LayerNorm(14, eps=0.5)
    x, memory = torch.randn(2, 7, 14), torch.randn(2, 6, 14)

    output = Decoder(layers, norm)(x, memory)

    expected = norm(layers[1](layers[0](x, memory), memory))
    torch.testing.assert_close(output, expected)


def test_sizes_in_place_of_parts_and_one_layer_in_place_of_a_stack_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"^self_attention is 512, .*from_config builds"):
        DecoderLayer(512, 8, 2048, 0.1, 0, 0)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"^The layers are of type DecoderLayer, but must be a l"):
        Decoder(decoder_layer(), 6)  # type: ignore[arg-type]
