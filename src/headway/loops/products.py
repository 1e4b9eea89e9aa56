"""Products of rows with weights, of whichever kind these are, and rounding to whole numbers."""

import numpy as np
from numba import types
from numba.extending import overload

from headway.loops.blocks import LARGEST_BYTE
from headway.loops.compiling import compiled
from headway.loops.dot_products import OFFSET, multiply_bytes
from headway.loops.float_products import multiply_floats
from headway.loops.vector_loops import scaled


@compiled
def multiply_rows(x, weight, y):
    """Compute y = x weight for a few rows of whole numbers.

    x: (R, in), float32. weight: (in, out), int8. y: (R, out).
    """
    y[:] = np.float32(0.0)
    paired = x.shape[0] - x.shape[0] % 2
    for i in range(0, paired, 2):
        _add_products_of_two(x[i], x[i + 1], weight, y[i], y[i + 1])
    if paired < x.shape[0]:
        _add_products(x[paired], weight, y[paired])


@compiled
def _add_products(x, weight, y):
    """Add x weight to y, (in,) (in, out) -> (out,), eight inputs at a time.

    So y is read and written less often, and the outputs, side by side, fill the vectors.
    """
    whole = x.size - x.size % 8
    for c in range(0, whole, 8):
        x0, x1, x2, x3 = x[c], x[c + 1], x[c + 2], x[c + 3]
        x4, x5, x6, x7 = x[c + 4], x[c + 5], x[c + 6], x[c + 7]
        w0, w1, w2, w3 = weight[c], weight[c + 1], weight[c + 2], weight[c + 3]
        w4, w5, w6, w7 = weight[c + 4], weight[c + 5], weight[c + 6], weight[c + 7]
        for o in range(y.size):
            y[o] += (
                x0 * np.float32(w0[o])
                + x1 * np.float32(w1[o])
                + x2 * np.float32(w2[o])
                + x3 * np.float32(w3[o])
                + x4 * np.float32(w4[o])
                + x5 * np.float32(w5[o])
                + x6 * np.float32(w6[o])
                + x7 * np.float32(w7[o])
            )
    for c in range(whole, x.size):
        for o in range(y.size):
            y[o] += x[c] * np.float32(weight[c, o])


@compiled
def _add_products_of_two(x, z, weight, y, u):
    """Add x weight to y and z weight to u, four inputs at a time: a weight read serves both.

    In parts of 512 outputs, which stay in the nearest cache.
    """
    whole = x.size - x.size % 4
    for first in range(0, y.size, 512):
        end = min(first + 512, y.size)
        yy, uu = y[first:end], u[first:end]
        for c in range(0, whole, 4):
            x0, x1, x2, x3 = x[c], x[c + 1], x[c + 2], x[c + 3]
            z0, z1, z2, z3 = z[c], z[c + 1], z[c + 2], z[c + 3]
            w0, w1 = weight[c, first:end], weight[c + 1, first:end]
            w2, w3 = weight[c + 2, first:end], weight[c + 3, first:end]
            for o in range(yy.size):
                a, b = np.float32(w0[o]), np.float32(w1[o])
                d, e = np.float32(w2[o]), np.float32(w3[o])
                yy[o] += x0 * a + x1 * b + x2 * d + x3 * e
                uu[o] += z0 * a + z1 * b + z2 * d + z3 * e
        for c in range(whole, x.size):
            for o in range(yy.size):
                weight_here = np.float32(weight[c, first + o])
                yy[o] += x[c] * weight_here
                uu[o] += z[c] * weight_here


@compiled
def quantize_rows(x, levels, offset, whole, steps):
    """Write each row in whole numbers from -levels to levels, times steps[i], plus offset.

    whole: (R, in), float32, int8 or, with an offset, uint8.
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

    prepared: weights, the step of each output, biases, and the largest whole number of a row, or 0
    where they lie between the row's extremes. Weights are of `in_float_blocks`, `in_pair_blocks`,
    `in_byte_blocks` or, for few rows, integers (in, out); floats need neither steps nor levels. A
    bare tuple: on the way into a call a named one takes several times as long.
    """
    weight, steps, bias, levels = prepared
    _project(x, weight, steps, bias, levels, relu, y)


def _project(x, weight, steps, bias, levels, relu, y):
    raise NotImplementedError


@overload(_project)
def _choose_product(x, weight, steps, bias, levels, relu, y):
    if isinstance(weight.dtype, types.Float) or weight.dtype == types.uint32:
        return lambda x, weight, steps, bias, levels, relu, y: multiply_floats(x, weight, relu, y)
    return _project_bytes if weight.ndim == 3 else _project_few


def _project_bytes(x, weight, steps, bias, levels, relu, y):
    rows = x.shape[0]
    whole = np.empty((rows, -(-x.shape[1] // 4) * 4), np.uint8)
    row_steps = np.empty(rows, np.float32)
    zeros = np.full(rows, OFFSET, np.int32)
    if levels:
        quantize_rows(x, levels, OFFSET, whole, row_steps)
    else:
        quantize_ranges(x, whole, row_steps, zeros)
    multiply_bytes(whole, weight, row_steps, zeros, relu, y)


def _project_few(x, weight, steps, bias, levels, relu, y):
    whole = np.empty(x.shape, np.float32)
    row_steps = np.empty(x.shape[0], np.float32)
    quantize_rows(x, levels, 0, whole, row_steps)
    multiply_rows(whole, weight, y)
    scale_rows(y, row_steps, steps, bias, relu)
