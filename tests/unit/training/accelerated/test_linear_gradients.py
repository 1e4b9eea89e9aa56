"""Gradients of a projection in loops: sums in float32 of exact products, whoever adds them up."""

import math
from collections.abc import Callable, Iterator

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from headway.kernels import dispatch
from headway.training.accelerated import linear_gradients as module
from headway.training.accelerated.cross_entropy import projected_cross_entropy
from headway.training.accelerated.linear import project
from headway.training.accelerated.linear_gradients import (
    add_weight_gradient,
    input_gradient,
    weight_gradient,
)

pytest.importorskip("numba")

from headway.kernels import input_gradient as input_loops
from headway.kernels import weight_gradient as weight_loops
from headway.kernels import weight_gradient_amx

pytestmark = pytest.mark.skipif(
    not dispatch.multiplies_bfloat16(), reason="this processor has no sums of bfloat16"
)


# For a weight there are loops by the processor's sums and, where it has them, by its tiles.
by_sums_and_tiles = pytest.mark.usefixtures("kind")


@pytest.fixture(scope="module", params=[False, True] if dispatch.has_amx() else [False])
def kind(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dispatch, "has_amx", lambda: request.param)
        yield


@pytest.fixture
def by_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "has_amx", lambda: False)


@pytest.fixture
def loops_whatever_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "LEAST_PRODUCTS", 1)
    monkeypatch.setattr(dispatch, "LEAST_PRODUCTS_AMX", 1)
    monkeypatch.setattr(dispatch, "BLOCKS_PER_THREAD", 0)


def draw(rows: int, d_out: int, d_in: int, seed: int = 2) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return (
        torch.randn(rows, d_out, generator=generator).bfloat16(),
        torch.randn(rows, d_in, generator=generator).bfloat16(),
    )


def by_kernel(grad: Tensor, rows: Tensor) -> bool:
    return dispatch.weight_gradient(grad, rows).by is not dispatch.By.PYTORCH


def put(grad: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    out = torch.full((grad.size(1), rows.size(1)), math.nan)
    by = dispatch.By.NUMBA_AMX if dispatch.has_amx() else dispatch.By.NUMBA
    sums = module._multiply(grad, rows, out, by, add=False)
    return out, sums


# Fewer rows than a pair, than are multiplied at a time, and more; columns that fill no panel.
rows_of = st.sampled_from([1, 2, 3, 7, 64, 511, 512, 513, 1030])
outputs_of = st.sampled_from([1, 7, 8, 9, 31, 32, 33, 40, 100, 129, 1100])
inputs_of = st.sampled_from([32, 64, 96, 160, 544])


@by_sums_and_tiles
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


@pytest.mark.parametrize(
    ("count", "tiles", "loops"), [(300, True, True), (300, False, False), (100, True, False)]
)
def test_by_tiles_smaller_products_are_in_loops(
    count: int, tiles: bool, loops: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For which PyTorch would make machine code, as for each number of rows."""
    taken: list[Tensor] = []
    monkeypatch.setattr(dispatch, "BLOCKS_PER_THREAD", 0)
    monkeypatch.setattr(dispatch, "has_amx", lambda: tiles)
    monkeypatch.setattr(module, "_multiply", lambda grad, *_, **__: taken.append(grad))
    assert (
        100 * 160 * 128 < dispatch.LEAST_PRODUCTS_AMX <= 300 * 160 * 128 < dispatch.LEAST_PRODUCTS
    )

    weight_gradient(*draw(count, 160, 128))

    assert len(taken) == loops


def by_threads(compute: Callable[[], tuple[Tensor, ...]]) -> list[tuple[Tensor, ...]]:
    """Return what is computed by one thread, by two, by three, and by seven."""
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3, 7):
            torch.set_num_threads(threads)
            found.append(compute())
    finally:
        torch.set_num_threads(before)
    return found


@by_sums_and_tiles
@pytest.mark.parametrize(("d_out", "d_in"), [(100, 64), (40, 160)], ids=["outputs", "inputs"])
def test_threads_change_no_bit(d_out: int, d_in: int) -> None:
    first, *others = by_threads(lambda: put(*draw(700, d_out, d_in)))

    for out, sums in others:
        assert torch.equal(out, first[0])
        assert torch.equal(sums, first[1])


# Fewer rows than are multiplied at a time, than a block is fetched for, and more; sums over less
# than a block is deep, and more.
@pytest.mark.usefixtures("loops_whatever_size", "by_sums")
@pytest.mark.parametrize("count", [1, 7, 8, 9, 127, 128, 130, 300])
@pytest.mark.parametrize(("d_out", "d_in"), [(64, 64), (96, 32), (512, 160), (514, 96), (1030, 64)])
def test_inputs_have_the_product_to_the_last_digits_of_float32(
    monkeypatch: pytest.MonkeyPatch, count: int, d_out: int, d_in: int
) -> None:
    grad, weight = draw(count, d_out, 32)[0], draw(d_out, 32, d_in, seed=5)[1]
    wide, others = grad.double(), weight.double()
    called = forbid_products(monkeypatch)

    found = input_gradient(grad, weight, torch.float32)
    rounded = input_gradient(grad, weight, torch.bfloat16)

    assert not called
    digits = d_out * 2.0**-23
    assert ((found - wide @ others).abs() <= digits * (wide.abs() @ others.abs())).all()
    assert torch.equal(rounded, found.bfloat16())


def forbid_products(monkeypatch: pytest.MonkeyPatch) -> list[Tensor]:
    """Return a list into which go the matrices that PyTorch's product is asked for."""
    called: list[Tensor] = []
    product = Tensor.__matmul__

    def multiply(matrix: Tensor, other: Tensor) -> Tensor:
        if matrix.dtype == torch.bfloat16:
            called.append(matrix)
        return product(matrix, other)

    monkeypatch.setattr(Tensor, "__matmul__", multiply)
    return called


@pytest.mark.usefixtures("loops_whatever_size", "by_sums")
def test_threads_change_no_bit_of_what_inputs_have() -> None:
    grad, weight = draw(301, 130, 32)[0], draw(130, 32, 96)[1]

    first, *others = by_threads(lambda: (input_gradient(grad, weight, torch.float32),))

    assert first[0].any()
    for (found,) in others:
        assert torch.equal(found, first[0])


@pytest.mark.usefixtures("loops_whatever_size", "by_sums")
@pytest.mark.parametrize(
    ("d_out", "d_in", "dtype"),
    [(63, 32, torch.float32), (32, 64, torch.float32), (64, 48, torch.float32),
     (64, 32, torch.float64)],
    ids=["odd", "wider", "columns", "type"],
)  # fmt: skip
def test_inputs_that_have_no_loops_have_pytorchs_product(
    monkeypatch: pytest.MonkeyPatch, d_out: int, d_in: int, dtype: torch.dtype
) -> None:
    grad, weight = draw(9, d_out, 32)[0], draw(d_out, 32, d_in)[1]
    called = forbid_products(monkeypatch)

    found = input_gradient(grad, weight, dtype)

    assert len(called) == 1
    assert found.dtype == dtype
    assert torch.equal(found, (grad @ weight).to(dtype))


@pytest.mark.usefixtures("loops_whatever_size")
@pytest.mark.parametrize("tiles", [True, False])
def test_where_there_are_tiles_weights_have_loops_of_these_and_inputs_pytorchs_product(
    tiles: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    grad, weight = draw(9, 64, 32)[0], draw(64, 32, 64)[1]
    called, loops = forbid_products(monkeypatch), []
    monkeypatch.setattr(dispatch, "has_amx", lambda: tiles)
    monkeypatch.setattr(module.threads, "divide", lambda loop, *_, count: loops.append(loop))

    weight_gradient(grad, draw(9, 32, 64)[1])
    input_gradient(grad, weight, torch.float32)

    own = [weight_gradient_amx.multiply_columns] if tiles else [weight_loops.multiply_columns]
    assert loops == own + ([] if tiles else [input_loops.multiply_rows])
    assert len(called) == tiles


@pytest.mark.usefixtures("loops_whatever_size", "by_sums")
def test_inputs_show_what_is_not_finite_where_it_counts_and_nowhere_else() -> None:
    grad, weight = draw(13, 64, 32)[0], draw(64, 32, 64)[1]
    grad[12, 63] = math.nan
    weight[5, 33] = math.inf

    found = input_gradient(grad, weight, torch.float32)

    assert not found[12].isfinite().any()
    assert not found[:, 33].isfinite().any()
    assert found[:12, :33].isfinite().all()
    assert found[:12, 34:].isfinite().all()


@by_sums_and_tiles
@pytest.mark.usefixtures("loops_whatever_size")
@pytest.mark.parametrize(("d_out", "d_in"), [(37, 32), (37, 96)])
def test_a_part_can_be_added_to_what_is_there(d_out: int, d_in: int) -> None:
    grad, rows = draw(1100, d_out, d_in)
    whole, _ = put(grad, rows)

    total, _ = put(grad[:700], rows[:700])
    add_weight_gradient(total, grad[700:], rows[700:])

    torch.testing.assert_close(total, whole, rtol=1e-5, atol=1e-4)


@by_sums_and_tiles
@pytest.mark.usefixtures("loops_whatever_size")
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("turned", [True, False])
def test_a_total_of_any_type_and_layout_is_added_to(dtype: torch.dtype, turned: bool) -> None:
    grad, rows = draw(70, 40, 64)
    total = torch.ones(64, 40, dtype=dtype).T if turned else torch.ones(40, 64, dtype=dtype)
    expected = 1.0 + grad.double().T @ rows.double()

    add_weight_gradient(total, grad, rows)

    torch.testing.assert_close(total.double(), expected, rtol=2**-7, atol=2**-3)


@by_sums_and_tiles
def test_rows_that_lie_otherwise_in_memory_are_the_same_rows() -> None:
    grad, rows = draw(33, 40, 64)
    turned = grad.T.contiguous().T, rows.T.contiguous().T
    same = grad[:1].expand(33, 40)  # all rows are one in memory, as after a sum

    for other in (turned, (same, rows)):
        plain = [matrix.contiguous() for matrix in other]
        for found, expected in zip(put(*other), put(plain[0], plain[1]), strict=True):
            assert torch.equal(found, expected)


@by_sums_and_tiles
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

    assert by_kernel(grad, rows)
    assert not by_kernel(grad, rows[:, :48])
    assert not by_kernel(grad.float(), rows.float())
    assert not by_kernel(grad[:0], rows[:0])
    assert not by_kernel(nn.Parameter(grad), rows)
    assert not by_kernel(grad.to("meta"), rows.to("meta"))
    with FlopCounterMode(display=False):
        assert not by_kernel(grad, rows)


def test_little_is_left_to_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    small, large = draw(1, 512, 512), draw(1024, 512, 512)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        assert not by_kernel(*small)
        assert by_kernel(*large)
        torch.set_num_threads(9)  # with one or two lots of columns each
        assert not by_kernel(*large)
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
    """Return those of weights, biases and input in autocast, added up so many times; one frozen."""
    x, learning = torch.sin(torch.arange(38400.0)).view(2, 300, 64).requires_grad_(), layers()
    learning[1].weight.requires_grad_(False)
    for _ in range(times):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            compute(x, learning).backward()
    learned = [p for layer in learning for p in layer.parameters()]
    return [p.grad for p in (*learned, x) if p.grad is not None]


@pytest.mark.usefixtures("by_sums")
@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize(("compute", "count", "products"), [(projected, 6, 1), (lost, 3, 2)])
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
    by_pytorchs_product = forbid_products(monkeypatch)
    by_loops = gradients(compute, times)

    assert not by_pytorchs_product
    assert called == times * products * [compute is lost]
    assert len(by_loops) == len(by_pytorch) == count
    for ours, theirs in zip(by_loops, by_pytorch, strict=True):
        assert ours.dtype == theirs.dtype
        # There each part of some hundred rows is rounded to 8 bits.
        torch.testing.assert_close(
            ours, theirs, rtol=2**-7, atol=2**-6 * float(theirs.abs().amax())
        )


@by_sums_and_tiles
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


@by_sums_and_tiles
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
