"""Page 4: the numbers of "I am good", and the size of a dot product."""

import numpy as np
import pytest
import torch

from headway.learn.checking import find_exercise, judge
from headway.learn.exercise import computed
from headway.learn.page_04 import D_K, PRODUCT, PUBLISHED_WEIGHTS, SCORES, VALUES, WEIGHTS
from headway.model.attention import scaled_dot_product_attention


def test_the_model_computes_the_weights_of_the_example() -> None:
    q = torch.zeros(3, D_K, dtype=torch.float64)
    q[:, :3] = torch.from_numpy(PRODUCT)
    k = torch.eye(3, D_K, dtype=torch.float64)

    context, weights = scaled_dot_product_attention(q, k, torch.from_numpy(VALUES))

    np.testing.assert_allclose(weights.numpy(), WEIGHTS, rtol=1e-12)
    np.testing.assert_allclose(context[0, 0].item(), computed(find_exercise("4.2").answer))
    assert SCORES[0].tolist() == [13.75, 11.25, 10]


def test_three_published_weights_are_no_roundings() -> None:
    wrong = np.argwhere(abs(PUBLISHED_WEIGHTS - WEIGHTS) > 0.005).tolist()

    assert wrong == [[0, 2], [2, 0], [2, 1]]


@pytest.mark.parametrize(
    ("number", "answer"),
    [("4.1", [0.2187, 0.0180, 0.7633]), ("4.2", 62.60), ("4.3", 10)],
)
def test_an_answer_with_the_digits_of_the_question_is_right(number: str, answer: object) -> None:
    assert judge(find_exercise(number), answer)[0]


@pytest.mark.parametrize(
    ("number", "answer", "words"),
    [
        ("4.1", [0.21, 0.03, 0.76], "published"),
        ("4.1", [0.0000454, 2.1e-14, 0.99995], "without the division"),
        ("4.1", [0.3368, 0.1392, 0.5240], "root of d_model"),
        ("4.1", [0.346, 0.269, 0.385], "divided by the sum of the scores"),
        ("4.2", 62.35, "published"),
        ("4.2", 31.03, "plain mean"),
        ("4.3", 100, "variance"),
    ],
)
def test_the_usual_slips_are_named(number: str, answer: object, words: str) -> None:
    is_right, sentence = judge(find_exercise(number), answer)

    assert not is_right
    assert words in sentence


def test_the_deviation_of_random_dot_products_is_the_answer() -> None:
    q, k = np.random.default_rng(0).standard_normal((2, 20_000, 100))

    deviation = (q * k).sum(axis=-1).std()

    assert deviation == pytest.approx(computed(find_exercise("4.3").answer), rel=0.02)
