"""A decoder that translates as another thing than what was trained is found out."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from headway.decoding.build_engine import build_engine
from headway.decoding.stepwise_check import find_stepwise_mismatch
from headway.model.attention import MultiHeadAttention
from headway.model.feed_forward import PositionwiseFeedForward
from headway.model.transformer import Transformer

Build = Callable[..., Transformer]


class Mixed(PositionwiseFeedForward):
    """Looks at the position before and keeps nothing of it, as a causal convolution might."""

    def forward(self, x: Tensor) -> Tensor:
        before = torch.cat([torch.zeros_like(x[:, :1]), x[:, :-1]], dim=1)
        return super().forward(x + before)


class Peeking(MultiHeadAttention):
    """Does not hide what is to come."""

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Any, cache: Any = None):
        hides = mask is not None and mask.size(-2) > 1
        return super().forward(query, key, value, None if hides else mask, cache)


class Noisy(PositionwiseFeedForward):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) + 1e-7 * torch.randn_like(x)


class Gated(PositionwiseFeedForward):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) * torch.sigmoid(x)


class Uncached(MultiHeadAttention):
    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Any) -> Tensor:
        return super().forward(query, key, value, mask)


@pytest.mark.parametrize(
    ("path", "kind", "position"),
    [
        ("decoder.layers.1.feed_forward", Mixed, 1),
        ("decoder.layers.0.self_attention", Peeking, 0),
    ],
)
@pytest.mark.parametrize("changes", [{}, {"positions": "learned", "max_positions": 4}])
def test_the_first_position_is_named(
    build: Build, path: str, kind: Any, position: int, changes: dict[str, Any]
) -> None:
    model = build(**changes).train()
    model.get_submodule(path).__class__ = kind

    found = find_stepwise_mismatch(model)

    assert f"At target position {position} " in found
    assert f"{path} is of class {kind.__name__}. " in found
    assert all(part.training for part in model.modules())


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("decoder.layers.0.feed_forward", Gated),
        ("decoder.layers.0.feed_forward", Noisy),
        ("encoder.layers.0.feed_forward", Mixed),
        ("encoder.layers.0.self_attention", Peeking),
    ],
)
def test_parts_that_agree_are_not_spoken_of(build: Build, path: str, kind: Any) -> None:
    model = build(dropout=0.3).eval()
    assert find_stepwise_mismatch(model) == ""
    model.get_submodule(path).__class__ = kind
    before = torch.get_rng_state()

    assert find_stepwise_mismatch(model) == ""

    assert torch.equal(torch.get_rng_state(), before)


def test_what_cannot_be_given_a_cache_says_so_at_once(build: Build) -> None:
    model = build()
    model.decoder.layers[0].self_attention.__class__ = Uncached
    with pytest.raises(TypeError, match="positional arguments but"):
        find_stepwise_mismatch(model)


def test_an_engine_warns_of_it(build: Build) -> None:
    model = build()
    model.decoder.layers[0].feed_forward.__class__ = Mixed
    with (
        pytest.warns(UserWarning, match="The reference engine translates"),
        pytest.warns(UserWarning, match="At target position 1 this model gives other results"),
    ):
        build_engine(model)
