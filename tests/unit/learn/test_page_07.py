"""Page 7: LayerNorm by hand, the feed-forward network's size, the direct path, the dropouts."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from headway.learn.checking import find_exercise, judge
from headway.learn.exercise import computed
from headway.learn.page_07 import ATTENDED, BASE, LAYERS, X, direct_path
from headway.model.attention import scaled_dot_product_attention
from headway.model.embedding import InputEmbedding
from headway.model.feed_forward import PositionwiseFeedForward
from headway.model.residual import Residual
from headway.model.transformer import Transformer


def test_the_example_is_the_first_of_the_three_words() -> None:
    q, k, v = (
        torch.tensor(rows, dtype=torch.float64)
        for rows in (
            [[1, 0, 1, 0]],
            [[1, 1, 0, 0], [0, 1, 0, 1], [1, 0, 1, 1]],
            [[1, 0, 0, 2], [0, 2, 1, 0], [1, 1, 0, 1]],
        )
    )

    output, _ = scaled_dot_product_attention(q, k, v)

    np.testing.assert_allclose(output[0].numpy(), ATTENDED, atol=5e-5)


def test_layer_norm_of_the_model_gives_the_answer() -> None:
    expected = F.layer_norm(torch.from_numpy(X + ATTENDED), (4,), eps=0).numpy()

    np.testing.assert_allclose(computed(find_exercise("7.1").answer), expected, rtol=1e-12)


def test_the_layer_has_as_many_weights() -> None:
    with torch.device("meta"):
        transform = PositionwiseFeedForward(BASE.d_model, BASE.d_ff)

    count = sum(weights.numel() for weights in transform.parameters())
    assert computed(find_exercise("7.2").answer) == count == 2_099_712


def test_the_gradient_on_the_direct_path_of_the_layer_is_the_answer() -> None:
    generator = torch.Generator().manual_seed(0)
    x = y = torch.randn(1, 4, 2048, generator=generator, requires_grad=True)
    residual = Residual(2048, dropout=0.0)
    for _ in range(2 * LAYERS):
        y = residual(y, lambda z: torch.randn(z.shape, generator=generator))
    direction = torch.randn(y.shape, generator=generator)

    (gradient,) = torch.autograd.grad(y, x, direction)

    factor = (gradient.norm() / direction.norm()).item()
    assert factor == pytest.approx(direct_path(2 * LAYERS), rel=0.1)


def test_the_model_has_as_many_dropouts() -> None:
    with torch.device("meta"):
        model = Transformer.from_config(BASE)

    places = sum(isinstance(part, Residual | InputEmbedding) for part in model.modules())
    assert computed(find_exercise("7.4").answer) == places == 32


@pytest.mark.parametrize(
    ("number", "answer"),
    [
        ("7.1", [0.065, 1.149, -1.591, 0.377]),
        ("7.1", [0.0648, 1.1492, -1.5914, 0.3775]),
        ("7.2", 2_099_712),
        ("7.3", 0.000244),
        ("7.3", 2**-12),
        ("7.4", 32),
    ],
)
def test_an_answer_with_the_digits_of_the_question_is_right(number: str, answer: object) -> None:
    assert judge(find_exercise(number), answer)[0]


@pytest.mark.parametrize(
    ("number", "answer", "words"),
    [
        ("7.1", [0.0561, 0.9952, -1.3782, 0.3269], "n − 1"),
        ("7.1", [1.8137, 2.8791, 0.1863, 2.1209], "comes after it"),
        ("7.2", 2_097_152, "without their biases"),
        ("7.2", 1_048_576, "W_1 alone"),
        ("7.3", 0.015625, "two sub-layers"),
        ("7.3", 1, "pre-norm"),
        ("7.4", 30, "Embedding plus position"),
        ("7.4", 26, "three sub-layers"),
    ],
)
def test_the_usual_slips_are_named(number: str, answer: object, words: str) -> None:
    is_right, sentence = judge(find_exercise(number), answer)

    assert not is_right
    assert words in sentence
