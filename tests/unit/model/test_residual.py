"""Add & Norm: the sub-layer's output is dropped out, added and normalized, in this order."""

from typing import Any

import pytest
import torch

from headway.errors import ConfigError
from headway.model.residual import Residual


def test_post_norm_by_hand() -> None:
    residual = Residual(4, norm_epsilon=1e-12).double().eval()
    x = torch.tensor([[[1.0, 2.0, 3.0, 6.0]]], dtype=torch.float64)

    output = residual(x, lambda y: y)  # sum 2, 4, 6, 12: mean 6, variance (16+4+0+36)/4 = 14

    expected = torch.tensor([-4.0, -2.0, 0.0, 6.0], dtype=torch.float64) / 14**0.5
    torch.testing.assert_close(output[0, 0], expected, rtol=1e-12, atol=1e-12)


def test_pre_norm_by_hand() -> None:
    residual = Residual(4, norm_position="pre", norm_epsilon=1e-12).double().eval()
    x = torch.tensor([[[2.0, 4.0, 6.0, 12.0]]], dtype=torch.float64)

    output = residual(x, lambda y: 10 * y)

    expected = x[0, 0] + 10 * (x[0, 0] - 6) / 14**0.5
    torch.testing.assert_close(output[0, 0], expected, rtol=1e-12, atol=1e-12)


def test_the_epsilon_is_added_to_the_variance() -> None:
    residual = Residual(2, norm_epsilon=3.0)  # x = 1, -1 has variance 1, so sqrt(1 + 3) = 2

    output = residual.eval()(torch.tensor([[[0.5, -0.5]]]), lambda y: y)

    assert output.tolist() == [[[0.5, -0.5]]]


@pytest.mark.parametrize("position", ["post", "pre"])
def test_dropout_falls_on_the_sub_layer_and_not_on_what_passes_by(position: Any) -> None:
    residual = Residual(8, dropout=0.5, norm_position=position).train()
    x = torch.randn(64, 7, 8)

    passed_by = residual(x, torch.zeros_like)
    dropped = [residual(torch.zeros(64, 7, 8), lambda y: torch.ones_like(y)) for _ in range(2)]

    assert torch.equal(passed_by, x if position == "pre" else residual.norm(x))
    assert not torch.equal(dropped[0], dropped[1])
    if position == "pre":
        assert set(dropped[0].unique().tolist()) == {0.0, 2.0}


def test_an_unknown_norm_position_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"no norm position 'before'.*'post'"):
        Residual(4, norm_position="before")  # type: ignore[arg-type]


def test_the_output_of_a_sub_layer_in_its_place_is_refused() -> None:
    x = torch.randn(2, 3, 4)
    with pytest.raises(ConfigError, match=r"^The sub-layer is of type Tensor, .* residual\(x"):
        Residual(4)(x, 2 * x)  # type: ignore[arg-type]
