"""The gradient of each layer is the limit of its difference quotients."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.autograd import gradcheck

from headway.model.attention import MultiHeadAttention, scaled_dot_product_attention
from headway.model.decoder import DecoderLayer
from headway.model.embedding import InputEmbedding, OutputProjection, TokenEmbedding
from headway.model.encoder import EncoderLayer
from headway.model.feed_forward import (
    ACTIVATIONS,
    GATED_ACTIVATIONS,
    PositionwiseFeedForward,
)
from headway.model.positional_encoding import LearnedPositionalEncoding
from headway.model.residual import Residual
from headway.model.ssru import RecurrentDecoderLayer, SimpleRecurrentUnit

MASK = torch.tensor([[1, 0, 1], [0, 0, 0]]).bool()  # the second query may attend to nothing


def real(*shape: int) -> Tensor:
    return torch.randn(shape, dtype=torch.float64, requires_grad=True)


def check(module: nn.Module, run: Callable[..., Tensor], *inputs: Tensor) -> None:
    """Check the gradients of the inputs and of every parameter."""
    module.double()
    assert gradcheck(lambda *_: run(*inputs), (*inputs, *module.parameters()), fast_mode=True)


def test_scaled_dot_product_attention() -> None:
    q, k, v = real(2, 4), real(3, 4), real(3, 5)

    assert gradcheck(lambda *x: scaled_dot_product_attention(*x, MASK), (q, k, v))


@pytest.mark.parametrize("fused", [False, True], ids=["explicit", "fused"])
def test_multi_head_attention(fused: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headway.model.attention.use_fused_kernel", lambda device: fused)
    attend = MultiHeadAttention(6, 2, d_k=4, d_v=5)

    check(
        attend, lambda x, y, z: attend(x, y, z, MASK), real(2, 2, 6), real(2, 3, 6), real(2, 3, 6)
    )


@pytest.mark.parametrize("activation", sorted(ACTIVATIONS | GATED_ACTIVATIONS))
def test_feed_forward(activation: str) -> None:
    feed_forward = PositionwiseFeedForward(3, 5, activation)

    check(feed_forward, feed_forward, real(2, 4, 3))


@pytest.mark.parametrize("position", ["post", "pre"])
def test_residual(position: Any) -> None:
    residual, inner = Residual(4, 0.0, position), nn.Linear(4, 4).double()

    check(nn.ModuleList([residual, inner]), lambda x: residual(x, inner), real(2, 3, 4))


def test_ssru() -> None:
    recur = SimpleRecurrentUnit(3)

    check(recur, recur, real(2, 6, 3))


def test_input_embedding_and_output_projection() -> None:
    tokens = TokenEmbedding(5, 4)
    embed = InputEmbedding(tokens, LearnedPositionalEncoding(4, 7), dropout=0.0)
    project = OutputProjection(tokens.weight, bias=True)
    ids = torch.tensor([[1, 4, 1]])

    check(nn.ModuleList([embed, project]), lambda: project(embed(ids, start=2)))


@pytest.mark.parametrize("position", ["post", "pre"])
@pytest.mark.parametrize("recurrent", [False, True], ids=["self-attention", "ssru"])
def test_encoder_and_decoder_layer(recurrent: bool, position: Any) -> None:
    def frame() -> Residual:
        return Residual(4, 0.0, position)

    encode = EncoderLayer(
        MultiHeadAttention(4, 2), PositionwiseFeedForward(4, 5, "gelu"), frame(), frame()
    )
    others = MultiHeadAttention(4, 1), PositionwiseFeedForward(4, 3, "silu")
    frames = frame(), frame(), frame()
    decode: nn.Module = (
        RecurrentDecoderLayer(SimpleRecurrentUnit(4), *others, *frames)
        if recurrent
        else DecoderLayer(MultiHeadAttention(4, 2), *others, *frames)
    )
    look_ahead, padding = torch.ones(2, 2).tril().bool(), torch.tensor([[1, 1, 0]]).bool()

    def run(x: Tensor, y: Tensor) -> Tensor:
        return decode(y, encode(x, padding), look_ahead, padding)

    check(nn.ModuleList([encode, decode]), run, real(2, 3, 4), real(2, 2, 4))
