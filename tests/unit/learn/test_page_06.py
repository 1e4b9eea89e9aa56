"""Page 6: the weights of an attention, the split into heads, and the root of a head's width."""

import numpy as np
import pytest
import torch
from torch import Tensor

from headway.learn.checking import find_exercise, judge
from headway.learn.exercise import computed
from headway.learn.page_06 import (
    D_MODEL,
    FEW_HEADS,
    HEADS,
    LENGTH,
    TOKENS,
    WIDE_D_MODEL,
    WIDE_HEADS,
    parameters,
    tokens_that_reach,
)
from headway.model.attention import MultiHeadAttention, scaled_dot_product_attention
from headway.model.cache import KeyValueCache


@pytest.mark.parametrize("bias", [True, False])
def test_the_layer_has_as_many_weights(bias: bool) -> None:
    with torch.device("meta"):
        attend = MultiHeadAttention(D_MODEL, HEADS, bias=bias)

    assert sum(weights.numel() for weights in attend.parameters()) == parameters(bias=bias)
    assert parameters() == computed(find_exercise("6.1").answer) == 1_050_624


def test_the_layer_splits_in_the_same_way() -> None:
    attend = MultiHeadAttention(d_model=4, num_heads=2)

    first = attend.split("q", torch.from_numpy(TOKENS)[None])[0, 0]

    np.testing.assert_array_equal(first.numpy(), computed(find_exercise("6.2").answer))


def test_scores_of_the_wrong_root_are_too_small_by_the_answer() -> None:
    width = WIDE_D_MODEL // WIDE_HEADS
    q, k = torch.randn(2, 7, width, dtype=torch.float64)
    right = (q * k).sum(-1) / width**0.5
    wrong = (q * k).sum(-1) / WIDE_D_MODEL**0.5

    np.testing.assert_allclose(right / wrong, computed(find_exercise("6.3").answer))


def test_heads_that_are_split_at_once_keep_blocks_of_tokens_apart() -> None:
    assert [tokens_that_reach(t, LENGTH, FEW_HEADS, at_once=True) for t in range(LENGTH)] == [
        4
    ] * 12
    assert tokens_that_reach(2, LENGTH, FEW_HEADS, at_once=False) == LENGTH
    # Of three tokens and two heads, the middle one is in both heads.
    assert [tokens_that_reach(t, 3, 2, at_once=True) for t in range(3)] == [2, 3, 2]


def test_the_influence_in_a_layer_with_the_mistake_is_that_of_the_answer() -> None:
    class SplitAtOnce(MultiHeadAttention):
        def split(self, name: str, projected: Tensor) -> Tensor:
            return projected.view(len(projected), self.num_heads, projected.size(1), -1)

        def forward(
            self,
            query: Tensor,
            key: Tensor,
            value: Tensor,
            mask: Tensor | None = None,
            cache: KeyValueCache | None = None,
        ) -> Tensor:
            heads, _ = scaled_dot_product_attention(*self.project(query, key, value), mask)
            return self.w_o(heads.reshape(query.shape))

    attend = SplitAtOnce(6, FEW_HEADS)
    x = torch.randn(1, LENGTH, 6, requires_grad=True)

    (gradient,) = torch.autograd.grad(attend(x, x, x)[0, 2].sum(), x)

    assert (gradient[0].abs().sum(-1) > 0).sum() == computed(find_exercise("6.4").answer)


@pytest.mark.parametrize(
    ("number", "answer", "words"),
    [
        ("6.1", 1_048_576, "without the biases"),
        ("6.1", 787_968, "W^O is missing"),
        ("6.2", [[1, 2], [3, 4], [5, 6]], "at once"),
        ("6.2", [[3, 4], [7, 8], [11, 12]], "second head"),
        ("6.3", 5, "roots"),
        ("6.3", 0.447, "inverse"),
        ("6.4", 12, "right split"),
        ("6.4", 1, "Only itself"),
        ("6.4", 3, "number of heads"),
    ],
)
def test_the_usual_slips_are_named(number: str, answer: object, words: str) -> None:
    is_right, sentence = judge(find_exercise(number), answer)

    assert not is_right
    assert words in sentence
