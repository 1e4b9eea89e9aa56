"""Products in whole numbers are exact sums of rounded numbers; those in bfloat16 are near."""

import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from headway.decoding.packed import int8, torch_backend
from headway.decoding.packed.int8 import (
    LEVELS,
    ByteKind,
    Int8Product,
    quantize_rows,
    quantize_weight,
)
from headway.decoding.packed.layers import FeedForward
from headway.decoding.packed.torch_backend import (
    SHARP,
    SHARP_PIECES,
    SharpProduct,
    TorchBackend,
    product,
)
from headway.decoding.packed.weights import Projection
from headway.errors import ConfigError
from headway.kernels import dispatch
from headway.kernels.dispatch import Precision
from headway.model.feed_forward import PositionwiseFeedForward

CPU = torch.device("cpu")
Floats = NDArray[np.float32]
LOOP_PRODUCTS = ["Int8LoopProduct", "Bfloat16Product", "Float32Product"]
WEIGHTS = st.sampled_from([1.0, -1.0]) | st.floats(-1, 1, width=32)
# Signed bytes are slow without AMX, but right; with AMX what is taken out of unsigned ones' sums is
# rounded before, and nobody asks for them. Elsewhere oneDNN may sum in 16 bits.
BYTE_KINDS = {
    int8.TILES: [int8.TILES],
    int8.DOT_PRODUCTS: [int8.TILES, int8.DOT_PRODUCTS],
    None: [],
}[int8.byte_kind()]


def projection(outputs: int = 37, inputs: int = 130) -> Projection:
    return Projection(torch.randn(outputs, inputs), torch.randn(outputs))


def exactly(
    x: torch.Tensor, weights: Projection, *, ranges: bool = False, fitting: bool = False
) -> torch.Tensor:
    """Return what the rounded numbers give, in float64 and so without any further rounding."""
    whole, steps = quantize_ranges(x) if ranges else quantize_rows(x)
    quantize = compiled_products().quantize_to_fit if fitting else quantize_weight
    weight, weight_steps = quantize(weights.weight)
    sums = whole.double() @ weight.double().T
    return sums * (steps[:, None].double() * weight_steps.double()) + weights.bias.double()


def quantize_ranges(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return whole numbers and the step of each row, one step less than bytes have levels."""
    levels = importlib.import_module("headway.kernels.linear_blocks").LARGEST_BYTE
    steps = (x.amax(dim=1).clamp_min(0) - x.amin(dim=1).clamp_max(0)) / (levels - 1)
    return (x * steps.reciprocal()[:, None]).round(), steps


def places_of(x: NDArray[Any]) -> NDArray[np.int64]:
    """Return where the bytes of rows lie, (R, in), in the lines that loops multiply."""
    words = importlib.import_module("headway.kernels.packing")
    rows, width = np.indices(x.shape)
    count = bytes_for(x).shape[1]
    size = 4 * words.line_for(count // 4)
    lines = words.place.py_func(rows, width // size, count // size, size // 4)
    return 4 * lines + width % size


def bytes_for(x: NDArray[Any]) -> NDArray[np.uint8]:
    """Return room for these rows in bytes."""
    words = importlib.import_module("headway.kernels.packing")
    width = importlib.import_module("headway.kernels.quantized_linear").bytes_for(x.shape[1])
    return np.zeros((words.rows_for(len(x)), width), np.uint8)


def loop_product(kind: str) -> Any:
    """Return one of LOOP_PRODUCTS; skip where the processor has no such sums."""
    module = pytest.importorskip("headway.decoding.packed.numba_backend")
    there = {
        "Int8LoopProduct": dispatch.multiplies_bytes(),
        "Bfloat16Product": dispatch.multiplies_bfloat16(),
    }
    if not there.get(kind, True):
        pytest.skip("a processor without these sums")
    return getattr(module, kind)


def compiled_products():
    return pytest.importorskip("headway.decoding.packed.numba_backend")


def dots(weights: Projection, relu: bool):
    """Return the product by the processor's dot products; skip where it has none."""
    if not dispatch.multiplies_bytes():
        pytest.skip("a processor without sums of bytes")
    prepared = compiled_products().Int8LoopProduct(weights, relu)
    return lambda x: torch.from_numpy(prepared(x.numpy()))


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("rows", [1, 5, 70])
@pytest.mark.parametrize("way", [Int8Product, dots])
def test_whole_numbers_are_multiplied_without_rounding(
    way: Callable[..., torch_backend.Product], rows: int, relu: bool
) -> None:
    weights, x = projection(), torch.randn(rows, 130) * torch.logspace(-2, 2, rows)[:, None]
    expected = exactly(x, weights, ranges=way is dots, fitting=way is dots)

    y = way(weights, relu)(x)

    scale = float(expected.abs().max())
    expected = expected.relu() if relu else expected
    torch.testing.assert_close(y.double(), expected, rtol=1e-6, atol=1e-6 * scale)


@pytest.mark.parametrize("rows", [1, 3, 40])
def test_the_largest_numbers_do_not_run_over(rows: int) -> None:
    multiply = Int8Product(Projection(torch.full((37, 130), 5.0), torch.zeros(37)), False)
    whole = torch.full((rows, 130), float(LEVELS)) * torch.tensor([1.0, -1.0]).repeat(65)
    for numbers, sums in ((whole.abs(), 130 * LEVELS * 127), (-whole.abs(), -130 * LEVELS * 127)):
        assert (multiply.multiply(numbers) == sums).all()
    assert (multiply.multiply(whole) == 0).all()


@pytest.mark.skipif(not BYTE_KINDS, reason="oneDNN sums in 32 bits with AMX or VNNI only")
@pytest.mark.parametrize("kind", BYTE_KINDS)
@pytest.mark.parametrize("rows", [1, 3, 40])
def test_the_largest_numbers_do_not_run_over_in_bytes(
    kind: ByteKind, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(int8, "byte_kind", lambda: kind)
    inputs = 2050  # sums above 2^24, which float32 does not hold, with an offset that it would not
    multiply = Int8Product(Projection(torch.full((37, inputs), 5.0), torch.zeros(37)), False)
    given = torch.full((rows, inputs), LEVELS)

    for sign in (1, -1):
        sums = multiply.multiply((sign * given + kind.offset).to(kind.dtype))
        assert (sums == float(sign * inputs * LEVELS * 127)).all()


def test_rounding_is_within_what_is_promised() -> None:
    weights, x = projection(), torch.randn(9, 130)
    weight, steps = quantize_weight(weights.weight)
    whole, row_steps = quantize_rows(x)

    assert weight.abs().max() == 127
    assert whole.abs().max() == LEVELS
    assert ((weight * steps[:, None] - weights.weight).abs() <= steps[:, None] * 0.5001).all()
    assert ((whole * row_steps[:, None] - x).abs() <= row_steps[:, None] * 0.5001).all()


@pytest.mark.parametrize("way", [Int8Product, dots])
def test_a_row_of_zeros_gives_the_bias(way: Callable[..., torch_backend.Product]) -> None:
    weights = projection()

    for nearly in (0.0, 1e-44, 1e-38):  # of which no step has a finite inverse
        found = way(weights, False)(torch.full((2, 130), nearly))
        torch.testing.assert_close(found, weights.bias.expand(2, -1))


@pytest.mark.parametrize("rows", [2, 40])
@pytest.mark.parametrize(
    "odd", [float("nan"), math.copysign(float("nan"), -1), float("inf"), -float("inf")]
)
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("way", [Int8Product, dots])
def test_what_is_not_finite_shows(
    way: Callable[..., torch_backend.Product], relu: bool, rows: int, odd: float
) -> None:
    weights, x = projection(), torch.randn(rows, 130)
    x[1, 7] = odd

    finite = way(weights, relu)(x).isfinite().all(dim=1)

    assert finite[0]
    assert not finite[1]


@pytest.mark.parametrize("outputs", [300, 1100])  # the fewer may be in bfloat16 or float32
@pytest.mark.parametrize("precision", ["int8", "bfloat16"])
@pytest.mark.parametrize("way", ["plain", "compiled"])
def test_logits_near_the_best_are_those_of_float32_and_others_are_rough(
    way: str, precision: Precision, outputs: int
) -> None:
    weights, x = projection(outputs), torch.randn(6, 130)
    exact = x @ weights.weight.T + weights.bias
    if way == "plain":
        logits = TorchBackend(torch.device("cpu"), precision).output(weights)(x)
    else:
        module = pytest.importorskip("headway.decoding.packed.numba_backend")
        backend = module.NumbaBackend(precision)
        logits = torch.from_numpy(backend.output(weights)(x.numpy()))

    error = (logits - exact).abs()
    near = exact > exact.amax(dim=1, keepdim=True) - (SHARP[precision] - 0.5)
    far = exact < exact.amax(dim=1, keepdim=True) - (SHARP[precision] + 1)
    assert error[near].max() < 1e-4
    # Whole numbers in 7 bits of 130 inputs: a root mean square of 0.17, and single ones six times.
    mean = error[far].square().mean().sqrt()
    in_floats = way == "compiled" and type(backend.linear(weights)) is module.Float32Product
    assert mean < 1e-5 if in_floats else 1e-3 < mean < 0.3
    assert (logits.argmax(dim=1) == exact.argmax(dim=1)).all()


def test_a_gpu_does_not_wait_for_what_decides() -> None:
    backend = TorchBackend(CPU, "bfloat16")
    assert isinstance(backend.output(projection()), SharpProduct)

    backend.device = torch.device("meta")

    assert not isinstance(backend.output(projection()), SharpProduct)


def test_where_most_is_near_the_best_no_more_than_so_many_are_computed_again() -> None:
    weights = Projection(torch.randn(300, 130) / 1000, torch.zeros(300))  # all logits alike
    x = torch.randn(5, 130)
    exact = x @ weights.weight.T

    logits = TorchBackend(CPU, "bfloat16").output(weights)(x)

    assert ((logits - exact).abs() < 1e-6).sum(dim=1).min() >= SHARP_PIECES
    assert ((logits - exact).abs() > 1e-6).any()


def floats(weights: Projection, relu: bool):
    module = pytest.importorskip("headway.decoding.packed.numba_backend")
    multiply = module.Float32Product(weights, relu)
    return lambda x: torch.from_numpy(multiply(x.numpy()))


def pairs(weights: Projection, relu: bool):
    """Return the product in bfloat16 by the processor's own sums; skip where it has none."""
    if not dispatch.multiplies_bfloat16():
        pytest.skip("a processor without AVX512_BF16")
    module = importlib.import_module("headway.decoding.packed.numba_backend")
    multiply = module.Bfloat16Product(weights, relu)
    return lambda x: torch.from_numpy(multiply(x.numpy()))


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize(("outputs", "inputs"), [(37, 131), (128, 128), (1, 1), (200, 3)])
@pytest.mark.parametrize(("way", "dtype"), [(floats, torch.float32), (pairs, torch.bfloat16)])
def test_floats_are_summed_up_exactly_to_rounding_and_a_row_has_its_bits_in_every_batch(
    way: Callable[..., torch_backend.Product],
    dtype: torch.dtype,
    outputs: int,
    inputs: int,
    relu: bool,
) -> None:
    weights, x = projection(outputs, inputs), torch.randn(20, inputs)
    rounded, weight = (numbers.to(dtype).double() for numbers in (x, weights.weight))
    exact = rounded @ weight.T + weights.bias.double()
    multiply = way(weights, relu)

    y = multiply(x)

    bound = 1e-6 * (x.abs() @ weights.weight.abs().T + weights.bias.abs())
    assert ((y - (exact.relu() if relu else exact)).abs() <= bound).all()
    for rows in range(1, 20):
        assert torch.equal(multiply(x[:rows]), y[:rows])
        assert torch.equal(multiply(x[rows:].contiguous()), y[rows:])


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("column", [7, 129])
@pytest.mark.parametrize("odd", [float("nan"), float("inf")])
@pytest.mark.parametrize("way", [floats, pairs])
def test_what_is_not_finite_shows_in_floats(
    way: Callable[..., torch_backend.Product], odd: float, column: int, relu: bool
) -> None:
    weights, x = projection(), torch.randn(9, 130)
    x[4, column] = odd

    y = way(weights, relu)(x)

    assert torch.equal(y.isfinite().all(dim=1), torch.arange(9) != 4)


@pytest.mark.parametrize("relu", [False, True])
def test_bfloat16_is_near(relu: bool) -> None:
    weights, x = projection(), torch.randn(5, 130)
    exact = x @ weights.weight.T + weights.bias

    y = product(weights, "bfloat16", CPU, relu=relu)(x)

    assert y.dtype == torch.float32
    # Each factor and the result lose less than 1 part in 256; errors of a sum mostly cancel.
    bound = (x.abs() @ weights.weight.abs().T + weights.bias.abs()) / 128
    assert ((y - (exact.relu() if relu else exact)).abs() <= bound).all()


def test_small_products_stay_in_float32() -> None:
    small = projection(5, 6)
    assert small.weight.numel() < dispatch.INT8_WEIGHTS
    x = torch.randn(3, 6)

    y = product(small, "int8", CPU)(x)

    torch.testing.assert_close(y, x @ small.weight.T + small.bias)


def test_where_there_is_no_product_of_integers_it_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("no engine\nwith a long story")

    monkeypatch.setattr(int8.torch, "quantize_per_tensor", refuse)

    with pytest.raises(ConfigError, match=r"cannot multiply 8-bit integers here \(no engine\)"):
        Int8Product(projection(), False)


@pytest.mark.skipif(
    "onednn" not in torch.backends.quantized.supported_engines, reason="needs another kind"
)
def test_what_packs_and_cannot_multiply_is_said_before_the_first_product(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.backends.quantized, "engine", "onednn")

    with pytest.raises(ConfigError, match="cannot multiply 8-bit integers here"):
        Int8Product(projection(), False)


@pytest.mark.skipif(not BYTE_KINDS, reason="oneDNN sums in 32 bits with AMX or VNNI only")
@pytest.mark.parametrize("kind", BYTE_KINDS)
def test_bytes_give_the_very_same_sums(kind: ByteKind, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(int8, "byte_kind", lambda: kind)
    multiply = Int8Product(projection(), False)
    whole = torch.randint(-LEVELS, LEVELS + 1, (40, 130))

    sums = multiply.multiply((whole + kind.offset).to(kind.dtype))

    assert torch.equal(sums, multiply.multiply(whole.float()))


@pytest.mark.skipif(not BYTE_KINDS, reason="oneDNN sums in 32 bits with AMX or VNNI only")
@pytest.mark.parametrize("kind", BYTE_KINDS)
def test_a_row_is_the_same_among_few_and_among_many(
    kind: ByteKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(int8, "byte_kind", lambda: kind)
    x = torch.randn(kind.fewest_rows + 5, 130)
    multiply = Int8Product(projection(), True)
    few = kind.fewest_rows - 1

    assert multiply.bytes_for(few) is None
    assert multiply.bytes_for(len(x)) is kind
    assert torch.equal(multiply(x)[:few], multiply(x[:few]))


@pytest.mark.skipif(not BYTE_KINDS, reason="oneDNN sums in 32 bits with AMX or VNNI only")
@pytest.mark.parametrize("kind", BYTE_KINDS)
def test_onednn_multiplies_few_numbers_of_rows(
    kind: ByteKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with any number it would only be slower."""
    monkeypatch.setattr(int8, "byte_kind", lambda: kind)
    multiply, counts = Int8Product(projection(), False), set()
    many = multiply.for_many_rows
    assert many is not None

    def counted(whole: Any) -> Any:
        counts.add(len(whole))
        return many(whole)

    counted.kind = kind  # type: ignore[attr-defined]
    monkeypatch.setattr(multiply, "for_many_rows", counted)
    for rows in range(65, 257):
        assert len(multiply(torch.randn(rows, 130))) == rows

    assert counts == set(range(80, 257, 16))


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize(
    ("outputs", "inputs"), [(37, 130), (128, 128), (192, 4), (1, 3), (6000, 2051)]
)
@pytest.mark.parametrize("kind", LOOP_PRODUCTS)
def test_a_row_has_the_same_bits_in_every_batch(
    kind: str, outputs: int, inputs: int, relu: bool
) -> None:
    weights, x = projection(outputs, inputs), np.random.randn(70, inputs).astype(np.float32)
    multiply = loop_product(kind)(weights, relu)

    expected = multiply(x)

    for rows in (*range(1, 19), 31, 32, 33, 48, 49, 65):
        assert np.array_equal(multiply(x[:rows]), expected[:rows])
        assert np.array_equal(multiply(x[-rows:]), expected[-rows:])


@pytest.mark.parametrize(("rows", "inputs"), [(129, 1100), (300, 4100), (17, 2050)])
@pytest.mark.parametrize("kind", LOOP_PRODUCTS)
def test_many_rows_of_many_inputs_are_summed_up(kind: str, rows: int, inputs: int) -> None:
    """So many that neither what is multiplied together nor what stays in caches holds them."""
    random = np.random.default_rng(rows)
    x = random.integers(-3, 4, (rows, inputs)).astype(np.float32)
    weight, bias = random.integers(-3, 4, (70, inputs)), random.integers(-9, 10, 70)
    weights = Projection(torch.from_numpy(weight).float(), torch.from_numpy(bias).float())

    y = loop_product(kind)(weights, False)(x)

    if kind == "Int8LoopProduct":
        expected = exactly(torch.from_numpy(x), weights, ranges=True, fitting=True)
        torch.testing.assert_close(torch.from_numpy(y).double(), expected, rtol=1e-6, atol=1e-3)
    else:  # these numbers are whole in bfloat16, and their sums in float32
        assert np.array_equal(y, x @ weight.T + bias)


@pytest.mark.parametrize(
    ("d_model", "d_ff"), [(130, 70), (64, 256), (3, 1), (33, 65), (512, 1100), (16, 32), (1040, 70)]
)
@pytest.mark.parametrize("kind", LOOP_PRODUCTS)
def test_both_halves_in_one_call_have_the_bits_of_two(kind: str, d_model: int, d_ff: int) -> None:
    product = loop_product(kind)
    first = product(projection(d_ff, d_model), True)
    second = product(projection(d_model, d_ff), False)
    both = compiled_products().LoopFeedForward(first, second, "relu")
    x = np.random.randn(150, d_model).astype(np.float32)
    x[3], x[5, 1] = np.inf, np.nan
    first_of_zeros = product(Projection(-torch.ones(d_ff, d_model), torch.zeros(d_ff)), True)
    none = compiled_products().LoopFeedForward(first_of_zeros, second, "relu")

    expected = second(first(x))

    for rows in (1, 5, 6, 7, 16, 17, 33, 48, 150):
        assert np.array_equal(both(x[:rows]), expected[:rows], equal_nan=True)
        assert np.array_equal(both(x[-rows:]), expected[-rows:], equal_nan=True)
    # Infinity, which a ReLU makes 0, is not one beside zeros that fill up a row.
    assert np.array_equal(none(x), second(first_of_zeros(x)), equal_nan=True)


@pytest.mark.parametrize(
    ("d_model", "d_ff"), [(130, 70), (64, 256), (3, 1), (33, 65), (512, 1100), (16, 32)]
)
@pytest.mark.parametrize("kind", LOOP_PRODUCTS)
def test_silu_between_both_halves_is_that_of_pytorch(kind: str, d_model: int, d_ff: int) -> None:
    product = loop_product(kind)
    first = product(projection(d_ff, d_model), False)
    second = product(projection(d_model, d_ff), False)
    both = compiled_products().LoopFeedForward(first, second, "silu")
    x = np.random.randn(50, d_model).astype(np.float32)
    x[7] *= 100  # far beyond the numbers whose powers float32 has
    x[5, 1] = np.nan

    hidden = torch.nn.functional.silu(torch.from_numpy(first(x)))
    expected = torch.from_numpy(second(hidden.numpy()))

    found = torch.from_numpy(both(x))
    assert found[5].isnan().all() == expected[5].isnan().all()
    kept = [i for i in range(50) if i != 5]
    scale = float(hidden[kept].abs().max())
    coarse = 1e-5 if kind == "Float32Product" else 2e-2  # a number may be rounded the other way
    torch.testing.assert_close(found[kept], expected[kept], rtol=coarse, atol=coarse * scale)


@pytest.mark.parametrize(
    ("activation", "joined"), [("relu", True), ("silu", True), ("gelu", False)]
)
def test_a_feed_forward_with_relu_or_silu_is_one_call(activation: str, joined: bool) -> None:
    """As if there were none, it would only be slower."""
    backend = pytest.importorskip("headway.decoding.packed.numba_backend").NumbaBackend()
    module = PositionwiseFeedForward(24, 40, activation=activation)
    packed = FeedForward(module, backend)
    x = torch.randn(5, 24)

    assert (packed.joined is not None) == joined
    found = torch.from_numpy(packed(x.numpy(), None))
    torch.testing.assert_close(found, module(x), rtol=1e-5, atol=1e-5)


def test_what_lies_between_pairs_is_in_pairs() -> None:
    """As in float32 it would have the same bits, later."""
    products = pytest.importorskip("headway.kernels.linear")
    pairs, floats = (np.empty((1, 1, 1), dtype) for dtype in (np.uint32, np.float32))

    for first, second, way in (
        (pairs, pairs, products.feed_pairs_forward),
        (pairs, floats, products.feed_floats_forward),
        (floats, floats, products.feed_floats_forward),
    ):
        assert products.network_with(first, second) is way
        assert products.network_with(first, second, "silu") is products.feed_silu_forward


@pytest.mark.parametrize("kind", LOOP_PRODUCTS)
def test_of_no_rows_nothing_is_written(kind: str) -> None:
    multiply = loop_product(kind)(projection(), False)
    project = importlib.import_module("headway.kernels.linear").project
    y = np.full((3, 37), 7.0, np.float32)

    project(np.empty((0, 130), np.float32), multiply.weight, False, y[:0])

    assert (y == 7.0).all()


def test_a_row_on_one_side_of_zero_has_all_levels_there() -> None:
    """What comes of a ReLU is rounded half as coarsely as numbers of both signs."""
    loops = pytest.importorskip("headway.kernels.linear")
    x = np.random.default_rng(0).uniform(0.0, 2.0, (3, 130)).astype(np.float32)
    x[1] *= -1.0
    x[2, ::2] *= -0.5
    lines, steps, zeros = bytes_for(x), np.empty(3, np.float32), np.empty(3, np.int32)

    loops.quantize_ranges(x, lines, steps, zeros)

    whole = lines.reshape(-1)[places_of(x)]
    largest = loops.LARGEST_BYTE - 1
    assert zeros[0] == 0
    assert zeros[1] == largest
    assert 0.31 * largest < zeros[2] < 0.36 * largest
    assert whole.max() <= loops.LARGEST_BYTE
    extents = [x[0].max(), -x[1].min(), x[2].max() - x[2].min()]
    np.testing.assert_allclose(steps, np.array(extents) / largest, rtol=1e-6)
    found = (whole.astype(np.float32) - zeros[:, None]) * steps[:, None]
    assert (abs(found - x) <= 0.501 * steps[:, None]).all()


@given(
    arrays(np.float32, st.tuples(st.integers(1, 35), st.integers(1, 70)), elements=WEIGHTS),
    st.sampled_from([1.0, -1.0, 0.5]),
)
@example(np.ones((37, 2048), np.float32), 1.0)
@example(-np.ones((37, 2048), np.float32), 1.0)
def test_sums_of_dot_products_do_not_run_over(weight: Floats, number: float) -> None:
    """Rows of the largest bytes: without VNNI, weights get steps with which sums fit."""
    weights = Projection(torch.from_numpy(weight), torch.zeros(len(weight)))
    x = torch.full((2, weight.shape[1]), number)

    y = dots(weights, False)(x)

    expected = exactly(x, weights, ranges=True, fitting=True)
    torch.testing.assert_close(y.double(), expected, rtol=1e-5, atol=1e-5 * abs(weight).max())


@given(arrays(np.float32, st.tuples(st.integers(1, 35), st.integers(1, 70)), elements=WEIGHTS))
def test_sums_of_either_sign_fit_into_16_bits(weight: Floats) -> None:
    """The bound itself, on every processor: eight weights to a sum, bytes of up to 159."""
    loops = pytest.importorskip("headway.kernels.quantized_linear")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loops, "WORDS_AT_ONCE", 4)
        patch.setattr(loops, "_ALIGNED", 16)
        patch.setattr(loops, "_WEIGHTS", 2**15 // 159)
        whole, _ = compiled_products().quantize_to_fit(torch.from_numpy(weight))

    lanes = np.zeros((len(weight), -(-weight.shape[1] // 16) * 16), np.int64)
    lanes[:, : weight.shape[1]] = whole.numpy()
    lanes = lanes.reshape(len(weight), -1, 4, 2, 2)
    assert (159 * lanes.clip(0).sum(axis=(2, 4)) < 2**15).all()
    assert (159 * lanes.clip(None, 0).sum(axis=(2, 4)) >= -(2**15)).all()


@given(arrays(np.float32, st.tuples(st.integers(1, 35), st.integers(1, 70)), elements=WEIGHTS))
@example(np.where(np.arange(37 * 260).reshape(37, 260) % 3 == 0, 1, -0.61).astype(np.float32))
def test_the_largest_bytes_at_weights_of_one_sign_are_summed_exactly(weight: Floats) -> None:
    loops = pytest.importorskip("headway.kernels.quantized_linear")
    if not dispatch.multiplies_bytes():
        pytest.skip("a processor without sums of bytes")
    outputs = len(weight)
    whole = compiled_products().quantize_to_fit(torch.from_numpy(weight))[0].numpy()
    ones, nothing = np.ones(outputs, np.float32), np.zeros(outputs, np.float32)
    count, words = 2 * outputs, importlib.import_module("headway.kernels.packing")
    x = loops.LARGEST_BYTE * np.concatenate([whole > 0, whole < 0]).astype(np.uint8)
    lines = bytes_for(x)
    lines.reshape(-1)[places_of(x)] = x
    y = np.empty((count, outputs), np.float32)

    row_steps, zeros = np.ones(count, np.float32), np.zeros(count, np.int32)
    blocks = loops.in_byte_blocks(whole, ones, nothing)
    words.multiply(lines.view(np.int32), blocks, row_steps, zeros, False, y, 0)

    assert (y == x.astype(np.int64) @ whole.T.astype(np.int64)).all()


@pytest.mark.parametrize("rows", [1, 6, 13])
def test_blocks_beyond_those_taken_together_are_multiplied_too(rows: int) -> None:
    blocks = pytest.importorskip("headway.kernels.linear_blocks")
    module = importlib.import_module("headway.decoding.packed.numba_backend")
    weights, x = projection(5000, 130), torch.randn(rows, 130)
    assert 2 * blocks._TOGETHER < 5000 * 130

    exact = x @ weights.weight.T + weights.bias
    y = torch.from_numpy(module.Float32Product(weights, False)(x.numpy()))
    torch.testing.assert_close(y, exact, rtol=1e-5, atol=1e-4)

    expected = exactly(x, weights, ranges=True, fitting=True)
    torch.testing.assert_close(dots(weights, False)(x).double(), expected, rtol=1e-6, atol=1e-4)


@pytest.mark.parametrize("shape", [(37, 130), (5, 3), (64, 64)])
def test_no_vector_of_weights_lies_in_two_lines_of_the_caches(shape: tuple[int, int]) -> None:
    blocks = pytest.importorskip("headway.kernels.linear_blocks")
    weight = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)

    found = blocks.in_blocks(weight, np.ones(shape[0], np.float32))

    assert found.ctypes.data % 64 == 0
    assert found.flags.c_contiguous
    lines = found.transpose(1, 0, 2).reshape(shape[1] + 1, -1)
    assert (lines[0, : shape[0]] == 1).all()
    assert (lines[1:, : shape[0]] == weight.T).all()


@pytest.mark.parametrize("least", [0.001, 0.5])
def test_steps_are_as_large_as_they_have_to_be(least: float) -> None:
    weight, steps = projection().weight, torch.full((37,), least)

    whole, found = quantize_weight(weight, steps)

    assert torch.equal(found, torch.maximum(quantize_weight(weight)[1], steps))
    assert ((whole * found[:, None] - weight).abs() <= 0.5001 * found[:, None]).all()


def test_bytes_are_left_alone_where_they_were_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONEDNN_MAX_CPU_ISA", "AVX2")

    assert int8.byte_kind() is None
    assert Int8Product(projection(), False).bytes_for(10**6) is None


@pytest.mark.parametrize(
    ("has", "kind"),
    [
        (("amx_int8", "avx512_vnni"), int8.TILES),
        (("avx512_vnni",), int8.DOT_PRODUCTS),
        ((), None),
    ],
)
def test_bytes_are_of_the_kind_that_the_processor_multiplies_fast(
    has: tuple[str, ...], kind: ByteKind | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ONEDNN_MAX_CPU_ISA", raising=False)
    monkeypatch.delenv("DNNL_MAX_CPU_ISA", raising=False)
    monkeypatch.setattr(dispatch, "pytorch_has", lambda name: name in has)
    monkeypatch.setattr(int8.torch.backends.mkldnn, "is_available", lambda: True)

    assert int8.byte_kind() is kind
