"""The answers of page 1, worked out by hand."""

import pytest

from headway.learn.checking import judge
from headway.learn.exercise import computed
from headway.learn.page_01 import EXERCISES

RATIO, LAYERS, SHARE = EXERCISES


def test_the_ratio_of_the_costs_is_d_over_n() -> None:
    assert computed(RATIO.answer) == pytest.approx(512 / 70)
    assert judge(RATIO, 7.31) == (True, "Right. With more digits: 7.3143.")


def test_stacked_layers_add_two_tokens_and_dilated_ones_triple() -> None:
    assert computed(LAYERS.answer) == [(81 - 1) / 2, 4]
    assert 3**4 == 81


def test_the_share_of_attention_by_hand() -> None:
    n, d, hidden, vocabulary = 70, 512, 2048, 37_000
    attention = 18 * 2 * n * n * d  # 6 + 12 attentions, two products each
    projections, feed_forward = 18 * 4 * n * d * d, 12 * 2 * n * d * hidden
    total = attention + projections + feed_forward + n * d * vocabulary
    assert computed(SHARE.answer) == pytest.approx(attention / total)
