"""Products of rows with weights, of whichever kind these are, and rounding to whole numbers."""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import overload

from headway.kernels import LANES, packing
from headway.kernels.codegen.amx import room
from headway.kernels.codegen.numba_compiler import compiled
from headway.kernels.codegen.vectors import FLOATS, INTS, for_loops
from headway.kernels.float_linear import fill_up, in_pairs, room_for_pairs
from headway.kernels.linear_blocks import LARGEST_BYTE, multiply_blocks
from headway.kernels.quantized_linear import bytes_for

_NO_STEPS, _NO_ZEROS = np.empty(0, np.float32), np.empty(0, np.int32)  # only bytes have them


@compiled
def quantize_ranges(x, whole, steps, zeros):
    """Write each row in whole numbers from 0 to LARGEST_BYTE: what lies between its extremes.

    A number is (whole - zeros[i]) * steps[i]; 0 is among them, and exact. whole: (R and more, in
    and more), uint8, in lines as `packing.multiply` has them. So a row that is all above 0, or
    reaches further on one side, loses no levels to the other.
    """
    bits, flat = x.view(np.int32), whole.reshape(-1)
    words_of_row = whole.shape[1] // 4
    size = packing.line_for(words_of_row)
    lines = words_of_row // size
    for i in range(x.shape[0]):
        # Without their sign bits, numbers are in the order of their bits, and a maximum of integers
        # fills the vectors. What is not a number is the largest, and shows. Each sign by itself.
        above, below = np.int32(0), np.int32(0)
        for c in range(x.shape[1]):
            number = bits[i, c]
            above = max(above, number)
            below = max(below, (number >> np.int32(31)) & number & np.int32(0x7FFFFFFF))
        lowest = np.float32(np.int32(below).view(np.float32))
        extent = lowest + np.float32(np.int32(above).view(np.float32))
        # Below, the inverse would be infinite. What is not a number is not below, and shows.
        nothing = extent < np.float32(1e-30)
        # One step less than levels: both ends may be rounded outwards by a half.
        step = np.float32(1.0) if nothing else extent / np.float32(LARGEST_BYTE - 1)
        steps[i] = step
        inverse = np.float32(1.0) / step
        zero = np.rint(lowest * inverse)
        zeros[i] = np.int32(zero)
        for line in range(lines):
            first, at = 4 * size * line, 4 * packing.place(i, line, lines, size)
            there = min(x.shape[1] - first, 4 * size)
            many = there - there % LANES
            if many:
                _round_to_bytes(x, i * x.shape[1] + first, inverse, zero, flat, at, many)
            for c in range(many, there):
                flat[at + c] = np.rint(x[i, first + c] * inverse) + zero


@for_loops(types.void)
def _round_to_bytes(code, numbers, first, inverse, zero, whole, place, count):
    """Write numbers[first:], in steps and from zero, to whole[place:]; in sixteens."""
    builder, bytes_ = code.builder, ir.VectorType(ir.IntType(8), LANES)
    inverses, zeros = code.everywhere(inverse), code.everywhere(zero)
    kind = ir.FunctionType(FLOATS, [FLOATS])
    rint = cgutils.get_or_insert_function(builder.module, kind, f"llvm.rint.v{LANES}f32")

    def each(index, _):
        steps = code.times(numbers.load(builder.add(first, index)), inverses)
        number = code.plus(builder.call(rint, [steps]), zeros)
        byte = builder.trunc(builder.fptosi(number, INTS), bytes_)
        whole.store(builder.add(place, index), byte)
        return []

    code.fold_all(count, LANES, [], each)


@compiled
def project(x, weight, relu, y):
    """Compute y = x weight + bias, and a ReLU where asked, with weights of any kind.

    x: (R, in), float32; it is rounded as the weights are. weight: of `in_float_blocks`,
    `in_pair_blocks` or `in_byte_blocks`, which have the biases too. y: (R, out). Sums are in
    float32, those of bytes exact.
    """
    _project(x, weight, relu, y)


@compiled
def feed_forward(x, w_1, w_2, d_ff, y):
    """Compute y = max(0, x w_1 + b_1) w_2 + b_2, equation 2, as `project` does each half.

    What lies between is, in bfloat16, written as the second half takes it.
    """
    _feed_forward(x, w_1, w_2, d_ff, y)


def _feed_forward(x, w_1, w_2, d_ff, y):
    raise NotImplementedError


@overload(_feed_forward)
def _choose_feed_forward(x, w_1, w_2, d_ff, y):
    if w_1.dtype == types.uint32 and w_2.dtype == types.uint32:
        return _feed_pairs_forward
    return _feed_floats_forward


def _feed_floats_forward(x, w_1, w_2, d_ff, y):
    hidden = np.empty((x.shape[0], d_ff), np.float32)
    project(x, w_1, True, hidden)
    project(hidden, w_2, False, y)


def _feed_pairs_forward(x, w_1, w_2, d_ff, y):
    rows = x.shape[0]
    hidden = room_for_pairs(rows, d_ff)
    packing.multiply(in_pairs(x), w_1, _NO_STEPS, _NO_ZEROS, True, hidden[:rows])
    fill_up(hidden, rows, d_ff)  # there, too, infinity times a weight of 0 is not a number
    packing.multiply(hidden, w_2, _NO_STEPS, _NO_ZEROS, False, y)


def _project(x, weight, relu, y):
    raise NotImplementedError


@overload(_project)
def _choose_product(x, weight, relu, y):
    if isinstance(weight.dtype, types.Float):
        return _project_floats
    return _project_pairs if weight.dtype == types.uint32 else _project_bytes


def _project_floats(x, weight, relu, y):
    multiply_blocks(x, weight, _NO_STEPS, _NO_ZEROS, relu, y)


def _project_pairs(x, weight, relu, y):
    packing.multiply(in_pairs(x), weight, _NO_STEPS, _NO_ZEROS, relu, y)


def _project_bytes(x, weight, relu, y):
    rows = x.shape[0]
    width = bytes_for(x.shape[1])
    whole = room(packing.rows_for(rows) * width // 4).view(np.uint8).reshape(-1, width)
    row_steps, zeros = np.empty(rows, np.float32), np.empty(rows, np.int32)
    quantize_ranges(x, whole, row_steps, zeros)
    packing.multiply(whole.view(np.int32), weight, row_steps, zeros, relu, y)
