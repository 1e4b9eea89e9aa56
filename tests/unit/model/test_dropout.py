"""Dropout has its rate and its scale, follows the seed, and refuses what is not a probability."""

import functools
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from headway.errors import ConfigError
from headway.model.attention import MultiHeadAttention
from headway.model.dropout import dropout
from headway.model.embedding import InputEmbedding, TokenEmbedding
from headway.model.feed_forward import PositionwiseFeedForward
from headway.model.positional_encoding import SinusoidalPositionalEncoding
from headway.model.residual import Residual


@pytest.mark.parametrize("p", [0.1, 0.25, 0.9], ids=str)
def test_rate_and_scale_are_those_of_p(p: float) -> None:
    count = 100_000
    torch.manual_seed(3)
    result = dropout(torch.ones(count), p, training=True)
    kept = result[result != 0]
    share = 1 - len(kept) / count
    assert abs(share - p) < 5 * math.sqrt(p * (1 - p) / count)  # five standard deviations
    torch.testing.assert_close(kept, torch.full_like(kept, 1 / (1 - p)))


def test_the_seed_of_pytorch_decides_the_mask() -> None:
    masks = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        masks.append(dropout(torch.ones(999), 0.5, training=True))
    assert torch.equal(masks[0], masks[1])
    assert not torch.equal(masks[0], masks[2])


def test_nothing_happens_in_eval_mode_or_without_dropout() -> None:
    x, state = torch.ones(9), torch.get_rng_state()
    assert dropout(x, 0.5, training=False) is x
    assert dropout(x, 0.0, training=True) is x
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("p", [-0.1, 1.0, 1.5, math.nan], ids=str)
def test_a_probability_that_is_none_is_refused(p: float) -> None:
    with pytest.raises(ConfigError, match="must be from 0 to below 1"):
        dropout(torch.ones(3), p, training=True)


@pytest.mark.parametrize(
    "layer",
    [
        functools.partial(MultiHeadAttention, 4, 2),
        functools.partial(PositionwiseFeedForward, 4, 3),
        functools.partial(Residual, 4),
        functools.partial(InputEmbedding, TokenEmbedding(5, 4), SinusoidalPositionalEncoding(4)),
    ],
)
def test_a_layer_refuses_it_before_it_is_called(layer: Callable[..., nn.Module]) -> None:
    layer(dropout=0.0)
    with pytest.raises(ConfigError, match=r"Dropout is 1\.5, but must be from 0 to below 1"):
        layer(dropout=1.5)


@pytest.mark.parametrize("p", ["0.1", None])
def test_what_is_no_number_is_no_dropout(p: Any) -> None:
    with pytest.raises(ConfigError, match=r"Dropout is .*, but must be from 0 to below 1"):
        Residual(4, dropout=p)
