"""The gradient of a weight in loops: sums in float32 of exact products, whoever adds them up."""

import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from headway.model import weight_gradient as module
from headway.model.projection import project
from headway.model.weight_gradient import add_weight_gradient, weight_gradient
from headway.training.loss import projected_cross_entropy

pytest.importorskip("numba")

from headway.loops.blocks import multiplies_bfloat16

pytestmark = pytest.mark.skipif(
    not multiplies_bfloat16(), reason="this processor has no sums of bfloat16"
)


@pytest.fixture
def loops_whatever_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LEAST", 1)
    monkeypatch.setattr(module, "_LOTS", 0)
    monkeypatch.setattr(module, "_has_sums", lambda: True)  # tiles (AMX), too, are beside them


def draw(rows: int, d_out: int, d_in: int, seed: int = 2) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return (
        torch.randn(rows, d_out, generator=generator).bfloat16(),
        torch.randn(rows, d_in, generator=generator).bfloat16(),
    )


def put(grad: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    out = torch.full((grad.size(1), rows.size(1)), math.nan)
    sums = module._multiply(grad, rows, out, add=False)
    return out, sums


# Fewer rows than a pair, than are multiplied at a time, and more; columns that fill no panel.
rows_of = st.sampled_from([1, 2, 3, 7, 64, 511, 512, 513, 1030])
outputs_of = st.sampled_from([1, 7, 8, 9, 31, 32, 33, 40, 100, 129, 1100])
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


@pytest.mark.usefixtures("loops_whatever_size")
@pytest.mark.parametrize(("d_out", "d_in"), [(37, 32), (37, 96)])
def test_a_part_can_be_added_to_what_is_there(d_out: int, d_in: int) -> None:
    grad, rows = draw(1100, d_out, d_in)
    whole, _ = put(grad, rows)

    total, _ = put(grad[:700], rows[:700])
    add_weight_gradient(total, grad[700:], rows[700:])

    torch.testing.assert_close(total, whole, rtol=1e-5, atol=1e-4)


@pytest.mark.usefixtures("loops_whatever_size")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("turned", [True, False])
def test_a_total_of_any_type_and_layout_is_added_to(dtype: torch.dtype, turned: bool) -> None:
    grad, rows = draw(70, 40, 64)
    total = torch.ones(64, 40, dtype=dtype).T if turned else torch.ones(40, 64, dtype=dtype)
    expected = 1.0 + grad.double().T @ rows.double()

    add_weight_gradient(total, grad, rows)

    torch.testing.assert_close(total.double(), expected, rtol=2**-7, atol=2**-3)


def test_rows_that_lie_otherwise_in_memory_are_the_same_rows() -> None:
    grad, rows = draw(33, 40, 64)
    turned = grad.T.contiguous().T, rows.T.contiguous().T
    same = grad[:1].expand(33, 40)  # all rows are one in memory, as after a sum

    for other in (turned, (same, rows)):
        plain = [matrix.contiguous() for matrix in other]
        for found, expected in zip(put(*other), put(plain[0], plain[1]), strict=True):
            assert torch.equal(found, expected)


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("count", [5, 6, 513])
def test_what_is_not_finite_shows_where_it_counts_and_nowhere_else(
    count: int, value: float
) -> None:
    # An odd row, and a panel that is not full, have zeros beside them.
    grad, rows = draw(count, 9, 64)
    grad[-1, 8] = value
    out, sums = put(grad, rows)

    assert not out[8].isfinite().any()
    assert not sums[8].isfinite()
    assert out[:8].isfinite().all()
    assert sums[:8].isfinite().all()

    grad, rows = draw(count, 9, 64)
    rows[-1, 63] = value
    out, sums = put(grad, rows)

    assert not out[:, 63].isfinite().any()
    assert out[:, :63].isfinite().all()
    assert sums.isfinite().all()


@pytest.mark.usefixtures("loops_whatever_size")
def test_what_loops_are_for() -> None:
    grad, rows = draw(3, 5, 64)

    assert module._has_loops(grad, rows)
    assert not module._has_loops(grad, rows[:, :48])
    assert not module._has_loops(grad.float(), rows.float())
    assert not module._has_loops(grad[:0], rows[:0])
    assert not module._has_loops(nn.Parameter(grad), rows)
    assert not module._has_loops(grad.to("meta"), rows.to("meta"))
    with FlopCounterMode(display=False):
        assert not module._has_loops(grad, rows)


def test_little_is_left_to_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_has_sums", lambda: True)
    small, large = draw(1, 512, 512), draw(1024, 512, 512)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        assert not module._has_loops(*small)
        assert module._has_loops(*large)
        torch.set_num_threads(9)  # with one or two lots of columns each
        assert not module._has_loops(*large)
    finally:
        torch.set_num_threads(before)

    product, sums = weight_gradient(*small)
    assert product.dtype == torch.bfloat16
    assert sums is None


def layers() -> list[nn.Linear]:
    torch.manual_seed(3)
    return [nn.Linear(64, width) for width in (45, 8, 19)]


def projected(x: Tensor, layers: list[nn.Linear]) -> Tensor:
    y = project(x, *layers, relu=True)
    return (y.float() * torch.sin(torch.arange(y.numel())).view_as(y)).sum()


def lost(x: Tensor, layers: list[nn.Linear]) -> Tensor:
    labels = torch.arange(600) % 45
    weight, bias = layers[0].weight, layers[0].bias
    return projected_cross_entropy(x.flatten(0, 1), weight, bias, labels).loss


def gradients(compute: Callable[[Tensor, list[nn.Linear]], Tensor], times: int) -> list[Tensor]:
    """Return those of weights and biases in autocast, added up so many times; one is frozen."""
    x, learning = torch.sin(torch.arange(38400.0)).view(2, 300, 64), layers()
    learning[1].weight.requires_grad_(False)
    for _ in range(times):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            compute(x, learning).backward()
    return [p.grad for layer in learning for p in layer.parameters() if p.grad is not None]


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize(("compute", "count", "products"), [(projected, 5, 1), (lost, 2, 2)])
def test_learning_uses_it(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    compute: Callable[[Tensor, list[nn.Linear]], Tensor],
    count: int,
    products: int,
    times: int,
) -> None:
    by_pytorch = gradients(compute, times)
    request.getfixturevalue("loops_whatever_size")
    multiply, called = module._multiply, []

    def counted(*given: Tensor, add: bool) -> Tensor:
        called.append(add)
        return multiply(*given, add=add)

    monkeypatch.setattr(module, "_multiply", counted)
    by_loops = gradients(compute, times)

    assert called == times * products * [compute is lost]
    assert len(by_loops) == len(by_pytorch) == count
    for ours, theirs in zip(by_loops, by_pytorch, strict=True):
        assert ours.dtype == theirs.dtype
        # There each part of some hundred rows is rounded to 8 bits.
        torch.testing.assert_close(
            ours, theirs, rtol=2**-7, atol=2**-6 * float(theirs.abs().amax())
        )


@pytest.mark.usefixtures("loops_whatever_size")
def test_a_loss_of_no_rows_has_a_gradient_of_zeros() -> None:
    weight = torch.randn(9, 64, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        sums = projected_cross_entropy(
            torch.randn(4, 64), weight, None, torch.zeros(4, dtype=torch.int64)
        )
    sums.loss.backward()

    assert weight.grad is not None
    assert not weight.grad.any()


@pytest.mark.usefixtures("loops_whatever_size")
def test_a_table_that_lies_turned_in_memory_learns() -> None:
    labels, hidden = torch.arange(40) % 9, torch.randn(40, 64)
    turned = torch.sin(torch.arange(576.0)).view(64, 9).T
    tables = [nn.Parameter(turned), nn.Parameter(turned.contiguous())]
    for table in tables:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            projected_cross_entropy(hidden, table, None, labels).loss.backward()

    found, expected = (table.grad for table in tables)
    assert found is not None
    assert expected is not None
    assert expected.any()
    assert torch.equal(found, expected)
