"""Products of rows with weights of any kind, and rounding of rows to bytes."""

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import overload
from numpy.typing import NDArray

from headway.kernels import LANES, packing, two_cores
from headway.kernels.arrays import Floats, Words
from headway.kernels.codegen.amx import aligned_words
from headway.kernels.codegen.numba_compiler import compiled
from headway.kernels.codegen.vectors import FLOATS, INTS, Code, FlatArray, Value, generated
from headway.kernels.float_linear import fill_up, in_pairs, room_for_pairs
from headway.kernels.linear_blocks import LARGEST_BYTE
from headway.kernels.quantized_linear import bytes_for
from headway.kernels.recurrence_step import sigmoid

_BYTES = ir.VectorType(ir.IntType(8), LANES)
_NO_STEPS, _NO_ZEROS = np.empty(0, np.float32), np.empty(0, np.int32)  # only bytes have them
_SIGN = np.uint32(2**31)  # the bits of -0.0
_ALONE = 0  # the argument `helper` of `two_cores.multiply` without a helper
_YES, _NO = np.True_, np.False_  # Numba would compile once more for each of True and False


@compiled
def quantize_ranges(
    x: Floats, whole: NDArray[np.uint8], steps: Floats, zeros: NDArray[np.int32]
) -> None:
    """Round each row to whole numbers from 0 to LARGEST_BYTE, which cover its own range.

    A number is (whole - zeros[i]) * steps[i]; the range includes 0, which is exact. So a row that
    is all positive, or reaches further on one side, wastes no levels on the other. whole: (R and
    more, in and more), uint8, in the lines of `packing.multiply`.
    """
    signed, unsigned, flat = x.view(np.int32), x.view(np.uint32), whole.reshape(-1)
    words_of_row = whole.shape[1] // 4
    size = packing.line_for(words_of_row)
    lines = words_of_row // size
    for i in range(x.shape[0]):
        # Floats above 0 are in the order of their bits, and LLVM vectorizes a maximum of integers.
        # With the sign bit, the numbers furthest below 0 are the largest. NaN is larger than any
        # number of its sign, so it shows.
        above, below = np.int32(0), _SIGN
        for c in range(x.shape[1]):
            above, below = max(above, signed[i, c]), max(below, unsigned[i, c])
        lowest = -np.uint32(below).view(np.float32)
        extent = lowest + np.float32(np.int32(above).view(np.float32))
        # Below this, the inverse would be infinite. NaN is not below, so it shows.
        vanishes = extent < np.float32(1e-30)
        # One step less than levels: both ends may be rounded outwards by a half.
        step = np.float32(1.0) if vanishes else extent / np.float32(LARGEST_BYTE - 1)
        steps[i] = step
        inverse = np.float32(1.0) / step
        zero = np.rint(lowest * inverse)
        zeros[i] = np.int32(zero)
        for line in range(lines):
            first, at = 4 * size * line, 4 * packing.place(i, line, lines, size)
            count = min(x.shape[1] - first, 4 * size)
            many = count - count % LANES
            if many:
                _round_to_bytes(x, i * x.shape[1] + first, inverse, zero, flat, at, many)
            for c in range(many, count):
                flat[at + c] = np.rint(x[i, first + c] * inverse) + zero


@generated(types.void)
def _round_to_bytes(
    code: Code,
    numbers: FlatArray,
    first: Value,
    inverse: Value,
    zero: Value,
    whole: FlatArray,
    place: Value,
    count: Value,
) -> None:
    """Write numbers[first:] * inverse + zero to whole[place:]; count: a multiple of 16."""
    inverses, zeros = code.broadcast(inverse), code.broadcast(zero)

    def write(index: Value) -> None:
        steps = code.exact_multiply(numbers.load(first + index), inverses)
        number = code.exact_add(code.call(f"llvm.rint.v{LANES}f32", FLOATS, steps), zeros)
        byte = number.to_integers(INTS).truncated(_BYTES)
        whole.store(place + index, byte)

    code.repeat(count, LANES, write)


def project(x: Floats, weight: Words, relu: bool, y: Floats) -> None:
    """Compute y = x weight + bias, then ReLU if asked, with weights of any kind.

    x: (R, in), float32; it is rounded as the weights are. weight: of `in_float_blocks`,
    `in_pair_blocks` or `in_byte_blocks`, which include the biases. y: (R, out). Sums are in
    float32, those of bytes exact.
    """
    product_with(weight)(x, weight, relu, y, _ALONE)


def feed_forward(
    x: Floats, w_1: Words, w_2: Words, d_ff: int, y: Floats, activation: str = "relu"
) -> None:
    """Compute y = max(0, x w_1 + b_1) w_2 + b_2, equation 2, as `project` computes each half.

    In bfloat16, the first half writes its result in the layout of the second half's input.
    activation: silu has h / (1 + e^-h) in place of max(0, h).
    """
    network_with(w_1, w_2, activation)(x, w_1, w_2, d_ff, y, _ALONE)


def product_with(weight: Words) -> Any:
    """Return the kernel of `project` for weights of this kind."""
    if weight.dtype == np.float32:
        return project_floats
    return project_pairs if weight.dtype == np.uint32 else project_bytes


def network_with(w_1: Words, w_2: Words, activation: str = "relu") -> Any:
    """Return the kernel of `feed_forward` for weights of these kinds, with ReLU or SiLU."""
    if activation == "silu":
        return feed_silu_forward
    pairs = w_1.dtype == np.uint32 and w_2.dtype == np.uint32
    return feed_pairs_forward if pairs else feed_floats_forward


def _project_floats(x: Any, weight: Any, relu: Any, y: Any, helper: Any) -> None:
    two_cores.multiply(x, weight, _NO_STEPS, _NO_ZEROS, relu, y, helper)


def _project_pairs(x: Any, weight: Any, relu: Any, y: Any, helper: Any) -> None:
    packing.multiply(in_pairs(x), weight, _NO_STEPS, _NO_ZEROS, relu, y, helper)


def _project_bytes(x: Any, weight: Any, relu: Any, y: Any, helper: Any) -> None:
    rows = x.shape[0]
    width = bytes_for(x.shape[1])
    whole = aligned_words(packing.rows_for(rows) * width // 4).view(np.uint8).reshape(-1, width)
    row_steps, zeros = np.empty(rows, np.float32), np.empty(rows, np.int32)
    quantize_ranges(x, whole, row_steps, zeros)
    packing.multiply(whole.view(np.int32), weight, row_steps, zeros, relu, y, helper)


project_floats, project_pairs = compiled(_project_floats), compiled(_project_pairs)
project_bytes = compiled(_project_bytes)


# Numba wants the same annotations in an overload and in its implementations.
def _project(x: Any, weight: Any, relu: Any, y: Any, helper: Any) -> None:
    raise NotImplementedError


@overload(_project)
def _choose_product(x: Any, weight: Any, relu: Any, y: Any, helper: Any) -> Callable[..., None]:
    if isinstance(weight.dtype, types.Float):
        return _project_floats
    return _project_pairs if weight.dtype == types.uint32 else _project_bytes


@compiled
def feed_floats_forward(
    x: Floats, w_1: Words, w_2: Words, d_ff: int, y: Floats, helper: int
) -> None:
    """Compute equation 2 with weights of any kinds, and float32 between the products."""
    hidden = np.empty((x.shape[0], d_ff), np.float32)
    _project(x, w_1, _YES, hidden, helper)
    _project(hidden, w_2, _NO, y, helper)


@compiled
def feed_silu_forward(x: Floats, w_1: Words, w_2: Words, d_ff: int, y: Floats, helper: int) -> None:
    """Compute equation 2 with SiLU and weights of any kinds, and float32 between the products."""
    hidden = np.empty((x.shape[0], d_ff), np.float32)
    _project(x, w_1, _NO, hidden, helper)
    for i in range(hidden.shape[0]):  # row by row: the bits do not depend on the number of rows
        numbers = hidden[i]
        for c in range(d_ff):
            numbers[c] *= sigmoid(numbers[c])
    _project(hidden, w_2, _NO, y, helper)


@compiled
def feed_pairs_forward(
    x: Floats, w_1: Words, w_2: Words, d_ff: int, y: Floats, helper: int
) -> None:
    """Compute equation 2 with weights in bfloat16."""
    rows = x.shape[0]
    hidden = room_for_pairs(rows, d_ff)
    packing.multiply(in_pairs(x), w_1, _NO_STEPS, _NO_ZEROS, _YES, hidden[:rows], helper)
    fill_up(hidden, rows, d_ff)  # infinity times a weight of 0 would be NaN
    packing.multiply(hidden, w_2, _NO_STEPS, _NO_ZEROS, _NO, y, helper)
