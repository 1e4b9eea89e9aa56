"""Attention as a flow, and heads cut right and wrong."""

import numpy as np
import pytest
import torch

from headway.errors import ConfigError
from headway.learn.figures.attention import attention, heads_of_numbers, right_split, wrong_split
from headway.model.attention import MultiHeadAttention

TOKENS = np.arange(1, 13).reshape(3, 4)


def test_attention_names_its_boxes() -> None:
    picture = attention(notes={"x": "(3, 512)"})

    assert "Softmax" in picture.alt
    with pytest.raises(ConfigError, match="no box 'keys'"):
        attention(notes={"keys": "(3, 64)"})


def test_the_right_split_is_that_of_the_layer_and_the_wrong_one_mixes_tokens() -> None:
    attend = MultiHeadAttention(d_model=4, num_heads=2)

    layer = attend.split("q", torch.from_numpy(TOKENS)[None])[0]

    np.testing.assert_array_equal(right_split(TOKENS, 2), layer.numpy())
    assert wrong_split(TOKENS, 2)[0].tolist() == [[1, 2], [3, 4], [5, 6]]


def test_heads_must_divide_the_width() -> None:
    picture = heads_of_numbers(TOKENS, 2, alt="numbers")

    assert picture.alt == "numbers"
    for tokens, heads in ((TOKENS, 3), (TOKENS, 0), (np.ones((2, 5)), 5), ([1, 2], 1)):
        with pytest.raises(ConfigError):
            heads_of_numbers(tokens, heads, alt="numbers")
