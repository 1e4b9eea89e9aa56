"""Section 3 written once more in NumPy, from the text alone, gives the same numbers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from headway.model.attention import MultiHeadAttention, scaled_dot_product_attention
from headway.model.feed_forward import PositionwiseFeedForward
from headway.model.positional_encoding import sinusoid_table
from headway.model.transformer import Transformer

Array = NDArray[np.float64]
Build = Callable[..., Transformer]


def softmax(x: Array) -> Array:
    exponentials = np.exp(x - x.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def attention(q: Array, k: Array, v: Array, may: NDArray[np.bool_]) -> Array:
    """Compute equation 1 for one head of one sentence, leaving out illegal connections."""
    output = np.zeros((len(q), v.shape[1]))
    for t in range(len(q)):
        seen = np.flatnonzero(may[t])
        output[t] = softmax(q[t] @ k[seen].T / np.sqrt(k.shape[1])) @ v[seen]
    return output


def linear(part: torch.nn.Linear, x: Array) -> Array:
    y = x @ numpy(part.weight).T
    return y if part.bias is None else y + numpy(part.bias)


def numpy(tensor: torch.Tensor) -> Array:
    return tensor.detach().numpy()


def multi_head(part: MultiHeadAttention, x: Array, y: Array, may: NDArray[np.bool_]) -> Array:
    """Compute Concat(head_1, ..., head_h) W^O with head_i = Attention(Q W_i, K W_i, V W_i)."""
    q, k, v = linear(part.w_q, x), linear(part.w_k, y), linear(part.w_v, y)
    heads = []
    for i in range(part.num_heads):
        keys, values = (
            slice(i * part.d_k, (i + 1) * part.d_k),
            slice(i * part.d_v, (i + 1) * part.d_v),
        )
        heads.append(attention(q[:, keys], k[:, keys], v[:, values], may))
    return linear(part.w_o, np.concatenate(heads, axis=1))


def feed_forward(part: PositionwiseFeedForward, x: Array) -> Array:
    """Compute equation 2: max(0, x W_1 + b_1) W_2 + b_2."""
    return linear(part.w_2, np.maximum(0, linear(part.w_1, x)))


def norm(part: torch.nn.LayerNorm, x: Array) -> Array:
    centred = x - x.mean(axis=-1, keepdims=True)
    deviation = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + part.eps)
    return centred / deviation * numpy(part.weight) + numpy(part.bias)


def positions(length: int, d_model: int) -> Array:
    """Compute section 3.5, one number at a time."""
    table = np.empty((length, d_model))
    for pos in range(length):
        for i in range(0, d_model, 2):
            table[pos, i] = np.sin(pos / 10000 ** (i / d_model))
            if i + 1 < d_model:
                table[pos, i + 1] = np.cos(pos / 10000 ** (i / d_model))
    return table


def embed(table: torch.nn.Parameter, ids: list[int]) -> Array:
    d_model = table.size(1)
    return numpy(table)[ids] * np.sqrt(d_model) + positions(len(ids), d_model)


def transformer(model: Any, source: list[int], target: list[int]) -> Array:
    """Compute Figure 1 for one sentence pair without padding."""
    table = model.source_embedding.tokens.weight
    everything = np.ones((len(source), len(source)), dtype=bool)
    memory = embed(table, source)
    for layer in model.encoder.layers:
        attended = multi_head(layer.self_attention, memory, memory, everything)
        memory = norm(layer.self_attention_residual.norm, memory + attended)
        memory = norm(
            layer.feed_forward_residual.norm, memory + feed_forward(layer.feed_forward, memory)
        )
    x = embed(table, target)
    no_peek = np.tril(np.ones((len(target), len(target)), dtype=bool))
    across = np.ones((len(target), len(source)), dtype=bool)
    for layer in model.decoder.layers:
        attended = multi_head(layer.self_attention, x, x, no_peek)
        x = norm(layer.self_attention_residual.norm, x + attended)
        read = multi_head(layer.cross_attention, x, memory, across)
        x = norm(layer.cross_attention_residual.norm, x + read)
        x = norm(layer.feed_forward_residual.norm, x + feed_forward(layer.feed_forward, x))
    return x @ numpy(table).T


def test_equation_1() -> None:
    q, k, v = (torch.randn(shape, dtype=torch.float64) for shape in ((5, 7), (6, 7), (6, 9)))
    mask = torch.rand(5, 6) > 0.4
    mask[:, 1] = True

    output, _ = scaled_dot_product_attention(q, k, v, mask)

    expected = attention(numpy(q), numpy(k), numpy(v), mask.numpy())
    np.testing.assert_allclose(numpy(output), expected, rtol=0, atol=1e-12)


def test_equation_2() -> None:
    part = PositionwiseFeedForward(5, 11).double()
    x = torch.randn(3, 4, 5, dtype=torch.float64)

    np.testing.assert_allclose(numpy(part(x)), feed_forward(part, numpy(x)), rtol=0, atol=1e-12)


@pytest.mark.parametrize("d_model", [1, 6, 7, 64])
def test_positional_encoding(d_model: int) -> None:
    table = numpy(sinusoid_table(50, d_model))

    np.testing.assert_allclose(table, positions(50, d_model), rtol=0, atol=1e-12)


def test_the_whole_model(build: Build) -> None:
    model = build(dtype=torch.float64, num_encoder_layers=2, num_decoder_layers=3)
    source, target = [5, 9, 22, 3], [2, 11, 4, 7, 7, 19]

    logits = model(torch.tensor([source]), torch.tensor([target]))[0]

    expected = transformer(model, source, target)
    np.testing.assert_allclose(numpy(logits), expected, rtol=0, atol=1e-11)
