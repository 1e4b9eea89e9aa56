"""Attention in Keras is equation 1, and the same as ours."""

import math
from typing import Any

import numpy as np
import pytest
import torch

from headway.errors import ConfigError
from headway.interop.keras import MultiHeadAttention, attention
from headway.interop.keras.backend import keras
from headway.model.attention import MultiHeadAttention as Ours
from headway.model.attention import scaled_dot_product_attention

ops = keras.ops


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)


def to_numpy(x: Any) -> np.ndarray:
    return ops.convert_to_numpy(x)


def test_the_worked_numbers_of_three_words() -> None:
    scores = np.array([[1, 0, 2], [1, 1, 1], [2, 3, 3]], dtype=np.float32)
    q = np.concatenate([scores, np.zeros((3, 1), np.float32)], axis=1)  # d_k is 4
    k = v = np.eye(3, 4, dtype=np.float32)

    output, weights = attention(*map(ops.convert_to_tensor, (q, k, v)))

    expected = [[0.3072, 0.1863, 0.5065], [0.3333, 0.3333, 0.3333], [0.2327, 0.3837, 0.3837]]
    np.testing.assert_allclose(to_numpy(weights), expected, atol=5e-5)
    np.testing.assert_allclose(to_numpy(output)[:, :3], to_numpy(weights), atol=1e-6)


def test_it_is_scaled_by_the_width_of_a_key() -> None:
    scores = np.array([[110, 90, 80], [70, 99, 70], [90, 70, 100]], dtype=np.float32)
    q = np.concatenate([scores, np.zeros((3, 61), np.float32)], axis=1)
    k = np.eye(3, 64, dtype=np.float32)

    _, weights = attention(*map(ops.convert_to_tensor, (q, k, k)))

    expected = scores / math.sqrt(64)
    expected = np.exp(expected) / np.exp(expected).sum(-1, keepdims=True)
    np.testing.assert_allclose(to_numpy(weights), expected, rtol=1e-5)


def test_output_and_weights_have_the_shapes_of_queries_keys_and_values() -> None:
    q, k, v = draw(3, 30, 128), draw(3, 50, 128), draw(3, 50, 256)
    output, weights = attention(*map(ops.convert_to_tensor, (q, k, v)))
    assert tuple(output.shape) == (3, 30, 256)
    assert tuple(weights.shape) == (3, 30, 50)
    np.testing.assert_allclose(to_numpy(weights).sum(-1), 1, rtol=1e-5)


def test_a_single_key_has_weight_one() -> None:
    # Warnings are errors here, and Keras warns of a softmax over one number.
    _, weights = attention(*map(ops.convert_to_tensor, (draw(2, 3), draw(1, 3), draw(1, 3))))
    assert to_numpy(weights).tolist() == [[1], [1]]


def test_it_equals_ours_also_where_there_is_nothing_to_attend_to() -> None:
    q, k, v = draw(2, 3, 4, 5), draw(2, 3, 7, 5), draw(2, 3, 7, 6)
    mask = np.random.default_rng(2).random((2, 1, 4, 7)) < 0.5
    mask[0, 0, 1] = False

    output, weights = attention(*map(ops.convert_to_tensor, (q, k, v, mask)))

    ours = scaled_dot_product_attention(*map(torch.from_numpy, (q, k, v, mask)))
    np.testing.assert_allclose(to_numpy(output), ours[0].numpy(), atol=5e-6)
    np.testing.assert_allclose(to_numpy(weights), ours[1].numpy(), atol=5e-6)
    hidden = np.broadcast_to(~mask, weights.shape)
    assert not to_numpy(weights)[hidden].any()
    assert not to_numpy(output)[0, :, 1].any()


def test_a_mask_does_not_overflow_in_half_precision() -> None:
    q, k = np.full((1, 1), -300, np.float16), np.full((2, 1), 100, np.float16)
    v = np.array([[1], [50]], np.float16)
    mask = np.array([[True, False]])

    output, _ = attention(*map(ops.convert_to_tensor, (q, k, v, mask)))

    assert float(to_numpy(output)[0, 0]) == 1


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (np.ones((1, 4, 7), np.float32), "must be boolean with True = may attend"),
        (np.ones((1, 7, 4), bool), "does not broadcast to 4 queries and 7 keys"),
    ],
    ids=["of numbers", "turned"],
)
def test_a_mask_of_the_wrong_kind_is_refused(mask: np.ndarray, message: str) -> None:
    q, k = ops.convert_to_tensor(draw(1, 4, 5)), ops.convert_to_tensor(draw(1, 7, 5))
    with pytest.raises(ConfigError, match=message):
        attention(q, k, k, ops.convert_to_tensor(mask))


def test_keys_of_another_width_are_refused() -> None:
    q, k = ops.convert_to_tensor(draw(4, 5)), ops.convert_to_tensor(draw(7, 6))
    with pytest.raises(ConfigError, match="Queries have width 5 and keys 6"):
        attention(q, k, k)


@pytest.mark.parametrize("sizes", [(12, 3, None, None, True), (14, 3, 5, 4, False)], ids=str)
def test_several_heads_equal_ours(sizes: tuple[Any, ...]) -> None:
    d_model, num_heads, d_k, d_v, bias = sizes
    ours = Ours(d_model, num_heads, d_k, d_v, bias)
    theirs = MultiHeadAttention(d_model, num_heads, d_k, d_v, bias)
    query, memory = draw(2, 4, d_model), draw(2, 7, d_model)
    mask = np.random.default_rng(1).random((2, 1, 4, 7)) < 0.7
    inputs = {"query": query, "key": memory, "value": memory, "mask": mask}
    inputs = {name: ops.convert_to_tensor(value) for name, value in inputs.items()}
    theirs(inputs)
    for name in ("w_q", "w_k", "w_v", "w_o"):
        linear = getattr(ours, name)
        getattr(theirs, name).kernel.assign(linear.weight.detach().numpy().T)
        if bias:
            torch.nn.init.normal_(linear.bias)
            getattr(theirs, name).bias.assign(linear.bias.detach().numpy())

    output = to_numpy(theirs(inputs))

    with torch.no_grad():
        expected = ours(*map(torch.from_numpy, (query, memory, memory, mask)))
    np.testing.assert_allclose(output, expected.numpy(), atol=2e-6)


def test_dropout_falls_on_the_weights_while_training_only() -> None:
    x = ops.convert_to_tensor(draw(2, 4, 6))
    inputs = {"query": x, "key": x, "value": x}
    attend = MultiHeadAttention(6, 2, dropout=1 - 1e-7)
    assert not to_numpy(attend(inputs, training=True)).any()  # no weight, and biases start at 0
    whole = to_numpy(attend(inputs, training=False))
    attend.dropout.rate = 0
    np.testing.assert_array_equal(whole, to_numpy(attend(inputs, training=True)))
    assert whole.any()


def test_projections_start_as_ours() -> None:
    attend = MultiHeadAttention(64, 4)
    attend.build({})
    limit = math.sqrt(6 / (64 + 64))
    for name, gain in (("w_q", 2**-0.5), ("w_k", 2**-0.5), ("w_v", 2**-0.5), ("w_o", 1)):
        largest = abs(to_numpy(getattr(attend, name).kernel)).max()
        assert 0.97 * gain * limit < largest <= gain * limit


@pytest.mark.parametrize("inputs", [{"query": 1, "key": 2}, {"query": 1, "keys": 2, "value": 3}, 5])
def test_other_names_are_refused(inputs: Any) -> None:
    with pytest.raises(ConfigError, match=r'Call it with \{"query"'):
        MultiHeadAttention(8, 2).call(inputs)


def test_a_wrong_number_of_heads_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"d_model 10 .* num_heads 4 \(remainder 2\).*12"):
        MultiHeadAttention(10, 4)


def test_it_is_the_layer_of_keras_itself_with_the_same_polarity_of_masks() -> None:
    ours, theirs = (
        MultiHeadAttention(12, 3),
        keras.layers.MultiHeadAttention(num_heads=3, key_dim=4),
    )
    query, memory = draw(2, 5, 12), draw(2, 7, 12)
    mask = np.random.default_rng(0).random((2, 1, 5, 7)) > 0.4
    mask[..., 2] = True
    ours.build({})
    theirs.build((None, None, 12), (None, None, 12))
    projections = [weight for p in (ours.w_q, ours.w_k, ours.w_v) for weight in (p.kernel, p.bias)]
    for source, target in zip(
        [*projections, ours.w_o.kernel, ours.w_o.bias], theirs.weights, strict=True
    ):
        target.assign(ops.reshape(source, target.shape))

    output = ours({"query": query, "key": memory, "value": memory, "mask": mask})
    expected = theirs(query, value=memory, key=memory, attention_mask=mask[:, 0])

    np.testing.assert_allclose(to_numpy(output), to_numpy(expected), atol=1e-6)
