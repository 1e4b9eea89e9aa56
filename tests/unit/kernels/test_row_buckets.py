"""Rows filled up are the rows with zeros below, and there are few numbers of them."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from headway.kernels.row_buckets import few_counts, filled_up
from headway.training.accelerated import linear as projection_module
from headway.training.accelerated import linear_gradients as gradients_module
from headway.training.accelerated.linear import project
from headway.training.accelerated.linear_gradients import input_gradient, weight_gradient


@given(rows=st.integers(1, 2**40))
def test_the_next_number_is_of_whole_tiles_or_an_eighth_larger(rows: int) -> None:
    count = few_counts(rows)

    assert rows <= count <= max(rows * 9 / 8, rows + 15)
    assert count % 16 == 0
    assert few_counts(count) == count
    assert few_counts(rows - 1) <= count


def test_between_powers_of_two_there_are_eight() -> None:
    for power in range(7, 14):
        assert len({few_counts(rows) for rows in range(2**power + 1, 2 ** (power + 1) + 1)}) == 8
    assert few_counts(0) == 0


@pytest.mark.parametrize("given_dtype", [torch.float32, torch.bfloat16])
def test_below_the_rows_are_zeros(given_dtype: torch.dtype) -> None:
    rows = torch.randn(37, 5).to(given_dtype)

    filled = filled_up(rows, torch.bfloat16)

    assert filled.shape == (48, 5)
    assert filled.dtype == torch.bfloat16
    assert torch.equal(filled[:37], rows.to(torch.bfloat16))
    assert not filled[37:].any()


def test_only_products_in_bfloat16_that_nobody_watches_get_more_rows() -> None:
    rows = torch.randn(37, 5)

    assert filled_up(rows, torch.float32) is rows
    assert filled_up(rows.double(), torch.float16).shape == (37, 5)
    assert filled_up(rows.to("meta"), torch.bfloat16).shape == (37, 5)
    with FlopCounterMode(display=False):
        assert filled_up(rows, torch.bfloat16).shape == (37, 5)
    assert torch.func.vmap(lambda each: filled_up(each, torch.bfloat16))(rows[None]).size(1) == 37


def learned(x: Tensor, weight: Tensor, bias: Tensor) -> list[Tensor]:
    """Return what a layer in bfloat16 makes of x, and the gradients of x and its parameters."""
    layer = torch.nn.Linear(*weight.T.shape)
    with torch.no_grad():
        layer.weight.copy_(weight)
        layer.bias.copy_(bias)
    x = x.clone().requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = project(x, layer, relu=True)
    y.backward(torch.cos(torch.arange(y.numel())).view_as(y).to(y.dtype))
    assert x.grad is not None
    assert layer.weight.grad is not None
    assert layer.bias.grad is not None
    return [y.detach(), x.grad, layer.weight.grad, layer.bias.grad]


@pytest.mark.parametrize("rows", [0, 1, 17, 37, 261])
def test_a_layer_learns_the_same_from_more_rows(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    torch.manual_seed(4)
    given = torch.randn(rows, 24), torch.randn(40, 24), torch.randn(40)
    found = learned(*given)
    for module in (projection_module, gradients_module):
        monkeypatch.setattr(module, "filled_up", lambda given, dtype: given.to(dtype))
    expected = learned(*given)

    assert found[0].shape == (rows, 40)
    assert found[0].is_contiguous()
    for ours, plain in zip(found, expected, strict=True):
        # oneDNN may sum up other numbers of rows in another order; that is rounded to 8 bits.
        torch.testing.assert_close(ours, plain, rtol=2**-7, atol=2**-7)


def test_products_of_text_have_few_numbers_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    linear, counts = projection_module._linear, set()

    def counted(rows: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        counts.add(len(rows))
        return linear(rows, weight, bias)

    monkeypatch.setattr(projection_module, "_linear", counted)
    weight, bias = torch.randn(3, 2), torch.randn(3)
    for rows in range(129, 513):
        learned(torch.randn(rows, 2), weight, bias)

    assert len(counts) == 16


def test_gradients_have_few_numbers_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    product, inputs, sums = Tensor.__matmul__, set(), set()

    def counted(left: Tensor, right: Tensor) -> Tensor:
        (sums if len(left) == 6 else inputs).add(left.size(1) if len(left) == 6 else len(left))
        return product(left, right)

    monkeypatch.setattr(Tensor, "__matmul__", counted)
    weight = torch.randn(6, 4).to(torch.bfloat16)
    for rows in range(129, 257):
        grad = torch.randn(rows, 6).to(torch.bfloat16)
        weight_gradient(grad, torch.randn(rows, 4).to(torch.bfloat16))
        assert input_gradient(grad, weight, torch.float32).shape == (rows, 4)

    assert len(inputs) == len(sums) == 8
