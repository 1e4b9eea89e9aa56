"""The gradient of a weight in loops: sums in float32 of exact products, whoever adds them up."""

import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from headway.model import weight_gradient
from headway.model.projection import project
from headway.model.weight_gradient import fits, put_weight_gradient
from headway.training.loss import projected_cross_entropy

pytest.importorskip("numba")

pytestmark = pytest.mark.skipif(
    not weight_gradient._is_faster(), reason="this processor has no sums of bfloat16, or tiles"
)


@pytest.fixture
def whatever_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weight_gradient, "_LEAST", 1)


def draw(rows: int, d_out: int, d_in: int, seed: int = 2) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return (
        torch.randn(rows, d_out, generator=generator).bfloat16(),
        torch.randn(rows, d_in, generator=generator).bfloat16(),
    )


def put(grad: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    out = torch.full((grad.size(1), rows.size(1)), math.nan)
    sums = put_weight_gradient(grad, rows, out)
    return out, sums


# Fewer rows than a pair, than are multiplied at a time, and more; columns that fill no panel.
rows_of = st.sampled_from([1, 2, 3, 7, 64, 511, 512, 513, 1030])
outputs_of = st.sampled_from([1, 7, 8, 9, 31, 32, 33, 40, 100, 129])
inputs_of = st.sampled_from([32, 64, 96, 160])


@given(rows_of, outputs_of, inputs_of, st.integers(0, 3))
def test_it_is_the_product_and_the_sum_to_the_last_digits_of_float32(
    count: int, d_out: int, d_in: int, seed: int
) -> None:
    grad, rows = draw(count, d_out, d_in, seed)
    out, sums = put(grad, rows)
    wide, others = grad.double(), rows.double()

    # Each product is exact, and each addition is off by half a last digit of the sum so far.
    digits = count * 2.0**-23
    assert ((out - wide.T @ others).abs() <= digits * (wide.T.abs() @ others.abs())).all()
    assert ((sums - wide.sum(0)).abs() <= digits * wide.abs().sum(0)).all()


@pytest.mark.parametrize(("d_out", "d_in"), [(100, 64), (40, 160)], ids=["outputs", "inputs"])
def test_threads_change_no_bit(d_out: int, d_in: int) -> None:
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3, 7):
            torch.set_num_threads(threads)
            found.append(put(*draw(700, d_out, d_in)))
    finally:
        torch.set_num_threads(before)

    for out, sums in found[1:]:
        assert torch.equal(out, found[0][0])
        assert torch.equal(sums, found[0][1])


def test_a_part_can_be_added_to_what_is_there() -> None:
    grad, rows = draw(1100, 37, 64)
    whole, _ = put(grad, rows)

    out, sums = put(grad[:700], rows[:700])
    sums = sums + put_weight_gradient(grad[700:], rows[700:], out, add=True)

    torch.testing.assert_close(out, whole, rtol=1e-5, atol=1e-4)
    torch.testing.assert_close(sums, grad.float().sum(0), rtol=1e-5, atol=1e-4)


def test_rows_that_lie_otherwise_in_memory_are_the_same_rows() -> None:
    grad, rows = draw(33, 40, 64)
    turned = grad.T.contiguous().T, rows.T.contiguous().T

    for found, expected in zip(put(*turned), put(grad, rows), strict=True):
        assert torch.equal(found, expected)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_not_finite_shows_where_it_counts_and_nowhere_else(value: float) -> None:
    grad, rows = draw(5, 9, 64)  # an odd row and a panel that is not full have zeros beside them
    grad[4, 8] = value
    out, sums = put(grad, rows)

    assert not out[8].isfinite().any()
    assert not sums[8].isfinite()
    assert out[:8].isfinite().all()
    assert sums[:8].isfinite().all()


@pytest.mark.usefixtures("whatever_size")
def test_what_loops_are_for() -> None:
    grad, rows = draw(3, 5, 64)

    assert fits(grad, rows)
    assert not fits(grad, rows[:, :48])
    assert not fits(grad.float(), rows.float())
    assert not fits(grad[:0], rows[:0])
    with FlopCounterMode(display=False):
        assert not fits(grad, rows)


def test_little_is_left_to_pytorch() -> None:
    assert not fits(*draw(64, 64, 64))


def gradients(compute: Callable[[Tensor, nn.Linear], Tensor]) -> list[Tensor]:
    """Return those of a layer's weight and bias in bfloat16 by autocast."""
    torch.manual_seed(3)
    layer, x = nn.Linear(64, 45), torch.randn(2, 300, 64)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        compute(x, layer).backward()
    assert layer.weight.grad is not None
    assert layer.bias.grad is not None
    return [layer.weight.grad, layer.bias.grad]


def projected(x: Tensor, layer: nn.Linear) -> Tensor:
    y = project(x, layer)
    return (y.float() * torch.sin(torch.arange(y.numel())).view_as(y)).sum()


def lost(x: Tensor, layer: nn.Linear) -> Tensor:
    labels = torch.arange(600) % 45
    return projected_cross_entropy(x.flatten(0, 1), layer.weight, layer.bias, labels).loss


@pytest.mark.parametrize("compute", [projected, lost])
def test_learning_uses_it_and_rounds_less(
    monkeypatch: pytest.MonkeyPatch, compute: Callable[[Tensor, nn.Linear], Tensor]
) -> None:
    by_pytorch = gradients(compute)
    monkeypatch.setattr(weight_gradient, "_LEAST", 1)
    by_loops = gradients(compute)

    assert not torch.equal(by_loops[0], by_pytorch[0])
    assert not torch.equal(by_loops[0], by_loops[0].bfloat16().float())  # sums stay in float32
    for ours, theirs in zip(by_loops, by_pytorch, strict=True):
        # There each part of some hundred rows is rounded to 8 bits.
        torch.testing.assert_close(ours, theirs, rtol=2**-7, atol=2**-6)


@pytest.mark.usefixtures("whatever_size")
def test_a_loss_of_no_rows_has_a_gradient_of_zeros() -> None:
    weight = torch.randn(9, 64, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        sums = projected_cross_entropy(
            torch.randn(4, 64), weight, None, torch.zeros(4, dtype=torch.int64)
        )
    sums.loss.backward()

    assert weight.grad is not None
    assert not weight.grad.any()
