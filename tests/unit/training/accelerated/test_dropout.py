"""Dropout has the right rate and scale, the same mask both ways, and follows the seed."""

import math
from collections.abc import Callable

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from headway.errors import ConfigError
from headway.kernels import threads as loops_threads
from headway.training.accelerated.dropout import add_dropped, dropout, mask


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
    def every_draw_once(count: int, key: int) -> torch.Tensor:
        return torch.arange(-32768, 32768, dtype=torch.int16).view(torch.int64)

    monkeypatch.setattr("headway.training.accelerated.dropout.draw", every_draw_once)
    result = mask(torch.Size([65536]), key=0, p=p, dtype=torch.float64)

    assert (result == 0).sum().item() == round(p * 65536)
    assert result.sum().item() == pytest.approx(65536, rel=1e-12)


@pytest.mark.parametrize("low", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("shape", [(1,), (63,), (64,), (2, 65), (3, 5, 67), (2, 0)], ids=str)
@pytest.mark.parametrize("p", [1e-9, 0.1, 0.5, 0.99999], ids=str)
def test_loops_drop_what_plain_operations_drop(
    p: float, shape: tuple[int, ...], low: torch.dtype
) -> None:
    pytest.importorskip("numba")
    x, y = torch.randn(shape, requires_grad=True), torch.randn(shape).to(low).requires_grad_()
    torch.manual_seed(8)
    key = int(torch.empty((), dtype=torch.int64).random_(-(2**63), None))
    torch.manual_seed(8)

    result = add_dropped(x, y, p, training=True)
    grad = torch.randn(shape)
    result.backward(grad)

    factors = mask(torch.Size(shape), key, p)
    assert torch.equal(result, x + y.float() * factors)
    assert x.grad is not None
    assert y.grad is not None
    assert torch.equal(x.grad, grad)
    assert torch.equal(y.grad, (grad * factors).to(low))
    torch.manual_seed(8)
    assert torch.equal(dropout(y, p, training=True), (y.float() * factors).to(low))


@pytest.mark.parametrize("threads", [1, 3])
def test_each_thread_drops_its_part_of_the_same(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numba")
    counts, divide = [], loops_threads.divide

    def counted(loop: Callable[..., bool], *given: object, count: int) -> None:
        counts.append(count)
        divide(loop, *given, count=count)

    monkeypatch.setattr(loops_threads, "divide", counted)
    x, y, before = torch.randn(3, 4133), torch.randn(3, 4133), torch.get_num_threads()
    torch.manual_seed(8)
    key = int(torch.empty((), dtype=torch.int64).random_(-(2**63), None))
    factors = mask(x.shape, key, 0.3)
    torch.set_num_threads(threads)
    try:
        torch.manual_seed(8)
        added = add_dropped(x, y, 0.3, training=True)
        torch.manual_seed(8)
        dropped = dropout(y, 0.3, training=True)
    finally:
        torch.set_num_threads(before)

    assert torch.equal(added, x + y * factors)
    assert torch.equal(dropped, y * factors)
    assert counts == [4, 4]  # of 12,399 numbers


@pytest.mark.parametrize(
    ("x_type", "y_type"),
    [(torch.float64, torch.float64), (torch.float32, torch.float16), (torch.float16,) * 2],
    ids=str,
)
def test_what_has_no_loops_is_dropped_and_added_all_the_same(
    x_type: torch.dtype, y_type: torch.dtype
) -> None:
    x, y = torch.ones(4, 3, dtype=x_type), torch.ones(4, 3, dtype=y_type)
    torch.manual_seed(6)
    expected = x + dropout(y, 0.5, training=True)
    torch.manual_seed(6)

    result = add_dropped(x, y, 0.5, training=True)

    assert torch.equal(result, expected)
    assert result.dtype == x_type
    assert set(result.flatten().tolist()) == {1.0, 3.0}


@pytest.mark.parametrize("low", [torch.float32, torch.bfloat16], ids=str)
def test_what_has_loops_takes_no_plain_operations(
    low: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numba")

    def refuse(*given: object) -> torch.Tensor:
        raise AssertionError("a mask")

    monkeypatch.setattr("headway.training.accelerated.dropout.mask", refuse)
    x, y = torch.randn(70, requires_grad=True), torch.randn(70).to(low).requires_grad_()

    added = add_dropped(x, y, 0.5, training=True) + dropout(y, 0.5, training=True)
    added.sum().backward()

    assert y.grad is not None


@pytest.mark.parametrize("low", [torch.float32, torch.bfloat16], ids=str)
def test_without_numba_the_same_is_dropped(
    low: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = torch.randn(2, 5, 16).to(low)

    def seeded() -> tuple[torch.Tensor, torch.Tensor]:
        torch.manual_seed(5)
        return dropout(y, 0.1, training=True), add_dropped(x, y, 0.3, training=True)

    dropped, added = seeded()
    monkeypatch.setattr("headway.kernels.dispatch.has_numba", lambda: False)
    plain_dropped, plain_added = seeded()
    assert torch.equal(dropped, plain_dropped)
    # The loop does not round what it adds.
    torch.testing.assert_close(added, plain_added, rtol=torch.finfo(low).eps * 2, atol=1e-2)
    assert low == torch.bfloat16 or torch.equal(added, plain_added)


def test_what_is_not_finite_shows_even_where_it_is_dropped() -> None:
    x = torch.full((640,), torch.inf)

    for result in (dropout(x, 0.5, True), add_dropped(torch.zeros(640), x, 0.5, True)):
        assert not result.isfinite().any()


def test_checkpointing_drops_the_same_again() -> None:
    x = torch.randn(5, 70, requires_grad=True)

    def run() -> torch.Tensor:
        torch.manual_seed(5)
        result = checkpoint(
            lambda y: add_dropped(y, y, 0.5, training=True).square(), x, use_reentrant=False
        )
        return torch.autograd.grad(result.sum(), x)[0]

    torch.manual_seed(5)
    plain = add_dropped(x, x, 0.5, training=True).square()
    torch.testing.assert_close(run(), torch.autograd.grad(plain.sum(), x)[0])


def test_rows_that_are_broadcast_are_added_to_every_row() -> None:
    result = add_dropped(torch.zeros(4, 3), torch.ones(3), 0.5, training=True)

    assert torch.equal(result, result[:1].expand(4, 3))


def test_addition_is_all_there_is_in_eval_mode_or_without_dropout() -> None:
    x, state = torch.ones(9), torch.get_rng_state()

    assert torch.equal(add_dropped(x, x, 0.5, training=False), 2 * x)
    assert torch.equal(add_dropped(x, x, 0.0, training=True), 2 * x)
    assert torch.equal(torch.get_rng_state(), state)


def test_the_gradient_of_a_gradient_goes_through_the_same_mask() -> None:
    x, y = (torch.randn(70, requires_grad=True) for _ in range(2))

    result = add_dropped(x, y, 0.5, training=True)
    (grad,) = torch.autograd.grad((result**2).sum(), y, create_graph=True)
    (second,) = torch.autograd.grad(grad.sum(), y)

    factors = (grad / (2 * result)).detach()
    torch.testing.assert_close(second, 2 * factors**2)


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
    with pytest.raises(ConfigError, match="must be from 0 to below 1"):
        add_dropped(torch.ones(3), torch.ones(3), p, training=True)
