"""Products of rows with weights, of whichever kind these are, and rounding to whole numbers."""

import numpy as np
from numba import types
from numba.extending import overload

from headway.loops.blocks import LARGEST_BYTE
from headway.loops.compiling import compiled
from headway.loops.dot_products import ALIGNED, OFFSET, multiply_bytes
from headway.loops.float_products import multiply_floats
from headway.loops.vector_loops import scaled


@compiled
def quantize_rows(x, levels, offset, whole, steps):
    """Write each row in whole numbers from -levels to levels, times steps[i], plus offset.

    whole: (R, in), int8 or, with an offset, uint8.
    """
    bits = x.view(np.int32)
    for i in range(x.shape[0]):
        # Without their sign bits, numbers are in the order of their bits; and a maximum of integers
        # fills the vectors. What is not a number is the largest, and shows.
        largest_bits = np.int32(0)
        for c in range(x.shape[1]):
            largest_bits = max(largest_bits, bits[i, c] & np.int32(0x7FFFFFFF))
        largest = np.float32(np.int32(largest_bits).view(np.float32))
        # Below, the inverse would be infinite. What is not a number is not below, and shows.
        nothing = largest < np.float32(1e-30)
        step = np.float32(1.0) if nothing else largest / np.float32(levels)
        steps[i] = step
        inverse = np.float32(1.0) / step
        for c in range(x.shape[1]):
            whole[i, c] = np.rint(x[i, c] * inverse) + np.float32(offset)


@compiled
def quantize_ranges(x, whole, steps, zeros):
    """Write each row in whole numbers from 0 to LARGEST_BYTE: what lies between its extremes.

    A number is (whole - zeros[i]) * steps[i]; 0 is among them, and exact. whole: (R, in), uint8. So
    a row that is all above 0, or reaches further on one side, loses no levels to the other.
    """
    bits = x.view(np.int32)
    for i in range(x.shape[0]):
        # As above, but each sign by itself: the bits of what is below 0 are below 0.
        above, below = np.int32(0), np.int32(0)
        for c in range(x.shape[1]):
            number = bits[i, c]
            above = max(above, number)
            below = max(below, (number >> np.int32(31)) & number & np.int32(0x7FFFFFFF))
        lowest = np.float32(np.int32(below).view(np.float32))
        extent = lowest + np.float32(np.int32(above).view(np.float32))
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
def scale_rows(y, steps, weight_steps, bias, relu):
    """Compute y * steps[i] * weight_steps[o] + bias in place; then max(0, y) where asked."""
    zero = np.float32(0.0)
    for i in range(y.shape[0]):
        for o in range(y.shape[1]):
            result = scaled(y[i, o], steps[i], weight_steps[o], bias[o])
            y[i, o] = max(result, zero) if relu else result


@compiled
def project(x, prepared, relu, y):
    """Compute y = x weight + bias, and a ReLU, with weights in floats or in 8-bit integers.

    prepared: weights, biases, and the largest whole number of a row, or 0 where they lie between
    the row's extremes. Weights are of `in_float_blocks`, `in_pair_blocks` or `in_byte_blocks`;
    floats need no levels. A bare tuple: on the way into a call a named one takes several times as
    long.
    """
    weight, _, levels = prepared
    _project(x, weight, levels, relu, y)


def _project(x, weight, levels, relu, y):
    raise NotImplementedError


@overload(_project)
def _choose_product(x, weight, levels, relu, y):
    if isinstance(weight.dtype, types.Float) or weight.dtype == types.uint32:
        return lambda x, weight, levels, relu, y: multiply_floats(x, weight, relu, y)
    return _project_bytes


def _project_bytes(x, weight, levels, relu, y):
    rows = x.shape[0]
    whole = np.empty((rows, -(-x.shape[1] // ALIGNED) * ALIGNED), np.uint8)
    row_steps = np.empty(rows, np.float32)
    zeros = np.full(rows, OFFSET, np.int32)
    if levels:
        quantize_rows(x, levels, OFFSET, whole, row_steps)
    else:
        quantize_ranges(x, whole, row_steps, zeros)
    multiply_bytes(whole, weight, row_steps, zeros, relu, y)
