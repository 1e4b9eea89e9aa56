"""Products of rows with weights, of whichever kind these are, and rounding to whole numbers."""

import numpy as np
from numba import types
from numba.extending import overload

from headway.loops import words
from headway.loops.blocks import LARGEST_BYTE, multiply_blocks
from headway.loops.byte_products import bytes_for
from headway.loops.compiling import compiled
from headway.loops.float_products import in_pairs

_NO_STEPS, _NO_ZEROS = np.empty(0, np.float32), np.empty(0, np.int32)  # only bytes have them


@compiled
def quantize_ranges(x, whole, steps, zeros):
    """Write each row in whole numbers from 0 to LARGEST_BYTE: what lies between its extremes.

    A number is (whole - zeros[i]) * steps[i]; 0 is among them, and exact. whole: (R, in), uint8. So
    a row that is all above 0, or reaches further on one side, loses no levels to the other.
    """
    bits = x.view(np.int32)
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
        for c in range(x.shape[1]):
            whole[i, c] = np.rint(x[i, c] * inverse) + zero


@compiled
def project(x, weight, relu, y):
    """Compute y = x weight + bias, and a ReLU where asked, with weights of any kind.

    x: (R, in), float32; it is rounded as the weights are. weight: of `in_float_blocks`,
    `in_pair_blocks` or `in_byte_blocks`, which have the biases too. y: (R, out). Sums are in
    float32, those of bytes exact.
    """
    _project(x, weight, relu, y)


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
    words.multiply(in_pairs(x), weight, _NO_STEPS, _NO_ZEROS, relu, y)


def _project_bytes(x, weight, relu, y):
    rows = x.shape[0]
    whole = np.empty((words.rows_for(rows), 4 * words.row_for(bytes_for(x.shape[1]))), np.uint8)
    row_steps, zeros = np.empty(rows, np.float32), np.empty(rows, np.int32)
    quantize_ranges(x, whole, row_steps, zeros)
    words.multiply(whole.view(np.int32), weight, row_steps, zeros, relu, y)
