"""Dropout has the right rate and scale, the same mask both ways, and follows the seed."""

import math

import pytest
import torch

from headway.errors import ConfigError
from headway.model.dropout import dropout


def quantized(p: float) -> float:
    return round(p * 65536) / 65536


@pytest.mark.parametrize("p", [0.1, 0.25, 0.3, 0.9], ids=str)
def test_rate_and_scale_are_those_of_p(p: float) -> None:
    count = 200_000
    result = dropout(torch.ones(count), p, training=True)

    kept = result[result != 0]
    share = 1 - len(kept) / count
    assert abs(share - p) < 5 * math.sqrt(p * (1 - p) / count)  # five standard deviations
    torch.testing.assert_close(
        kept, torch.full_like(kept, 1 / (1 - quantized(p))), rtol=1e-6, atol=0
    )
    assert abs(result.mean().item() - 1) < 5 * math.sqrt(p / (1 - p) / count)


@pytest.mark.parametrize("p", [1e-9, 1e-5, 0.1, 1 / 3, 0.123456, 0.99999, 1 - 1e-9], ids=str)
def test_the_scale_is_within_what_sixteen_bits_allow(p: float) -> None:
    result = dropout(torch.ones(70_000, dtype=torch.float64), p, training=True)

    kept = result[result != 0]
    assert result.isfinite().all()
    # 1 - 1 / scale is the probability in use.
    assert all(abs(1 - 1 / scale - p) <= 1 / 65536 for scale in kept.unique().tolist())


@pytest.mark.parametrize("p", [1 / 65536, 0.1, 0.5, 65535 / 65536], ids=str)
def test_of_all_draws_that_are_possible_exactly_the_share_p_is_dropped(
    p: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    def every_draw_once(self: torch.Tensor, *bounds: object) -> torch.Tensor:
        self.view(torch.int16).copy_(torch.arange(-32768, 32768))
        return self

    monkeypatch.setattr(torch.Tensor, "random_", every_draw_once)
    result = dropout(torch.ones(65536, dtype=torch.float64), p, training=True)

    assert (result == 0).sum().item() == round(p * 65536)
    assert result.sum().item() == pytest.approx(65536, rel=1e-12)


def test_each_element_is_drawn_on_its_own() -> None:
    # Four neighbours share one 64-bit number; if they shared their fate, this would be 0.1.
    kept = dropout(torch.ones(200_000), 0.1, training=True).view(-1, 4) != 0

    both_dropped = (~kept[:, :1] & ~kept[:, 1:]).double().mean(0)
    torch.testing.assert_close(
        both_dropped, torch.full((3,), 0.01, dtype=torch.float64), rtol=0, atol=0.003
    )
    torch.testing.assert_close(
        (~kept).double().mean(0), torch.full((4,), 0.1, dtype=torch.float64), rtol=0, atol=0.008
    )


def test_the_gradient_goes_through_the_same_mask() -> None:
    x = torch.randn(5, 7, 3, requires_grad=True)

    result = dropout(x, 0.4, training=True)
    result.backward(torch.full_like(x, 3.0))

    assert x.grad is not None
    torch.testing.assert_close(x.grad * x.detach(), 3 * result.detach())
    assert ((x.grad == 0) == (result == 0)).all()


def test_gradcheck_under_a_fixed_seed() -> None:
    x = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)

    def seeded(x: torch.Tensor) -> torch.Tensor:
        torch.manual_seed(3)
        return dropout(x, 0.3, training=True)

    assert torch.autograd.gradcheck(seeded, x)
    assert torch.autograd.gradgradcheck(seeded, x)


def test_the_seed_decides_the_mask() -> None:
    masks = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        masks.append(dropout(torch.ones(999), 0.5, training=True))

    assert torch.equal(masks[0], masks[1])
    assert not torch.equal(masks[0], masks[2])


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 5, 7), (2, 0, 3), (4, 4)], ids=str)
def test_any_shape_keeps_its_shape(shape: tuple[int, ...]) -> None:
    result = dropout(torch.ones(shape), 0.5, training=True)

    assert result.shape == shape
    assert set(result.flatten().tolist()) <= {0.0, 2.0}


def test_a_transposed_tensor_is_scaled_in_place_of_its_elements() -> None:
    x = torch.arange(1.0, 36.0).view(5, 7).T

    result = dropout(x, 0.5, training=True)

    assert ((result == 0) | (result == 2 * x)).all()


@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16], ids=str
)
def test_every_type_is_kept_and_scaled_within_its_precision(dtype: torch.dtype) -> None:
    result = dropout(torch.ones(1000, dtype=dtype), 0.1, training=True)

    assert result.dtype == dtype
    kept = result[result != 0].double()
    scale = torch.full_like(kept, 1 / (1 - quantized(0.1)))
    torch.testing.assert_close(kept, scale, rtol=torch.finfo(dtype).eps, atol=0)


def test_nothing_happens_in_eval_mode_or_without_dropout() -> None:
    x, state = torch.ones(9), torch.get_rng_state()

    assert dropout(x, 0.5, training=False) is x
    assert dropout(x, 0.0, training=True) is x
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("p", [-0.1, 1.0, 1.5, math.nan], ids=str)
def test_a_probability_that_is_none_is_refused(p: float) -> None:
    with pytest.raises(ConfigError, match="must be from 0 to below 1"):
        dropout(torch.ones(3), p, training=True)
