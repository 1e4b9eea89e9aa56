"""What products of floats take: blocks of float32, or pairs of bfloat16 where these are summed."""

import numpy as np
from numba import types

from headway.kernels import packing
from headway.kernels.codegen import bfloat16
from headway.kernels.codegen.amx import room
from headway.kernels.codegen.numba_compiler import compiled
from headway.kernels.codegen.vectors import LANES, for_loops
from headway.kernels.linear_blocks import in_blocks


def in_float_blocks(weight, bias):
    """Return weights and bias, (out, in) and (out,), in blocks of float32."""
    return in_blocks(weight, bias)


def in_pair_blocks(weight, bias):
    """Return weights, rounded to bfloat16, and bias in blocks of uint32, with two in each word."""
    outputs, inputs = weight.shape
    rounded = np.zeros((outputs, 2 * packing.for_bytes(2 * inputs)), np.uint16)
    for row in range(outputs):
        _round(weight, row, 0, inputs, rounded.reshape(-1), row * rounded.shape[1])
    return packing.in_blocks(rounded.view(np.uint32), bias)


@compiled
def in_pairs(x):
    """Round to bfloat16, two in each word of uint32: (R, in) in the lines of `packing.multiply`.

    Zeros fill up each row, and rows that there are not may be anything.
    """
    rows, width = x.shape
    pairs = room_for_pairs(rows, width)
    size = packing.line_for(pairs.shape[1])
    lines = pairs.shape[1] // size
    upper = pairs.reshape(-1).view(np.uint16)
    for i in range(rows):
        for line in range(lines):
            place, first = 2 * packing.place(i, line, lines, size), 2 * size * line
            _round(x, i, first, min(width - first, 2 * size), upper, place)
    fill_up(pairs, rows, width)
    return pairs


@compiled
def fill_up(pairs, rows, width):
    """Put zeros behind so many numbers of each row: whatever stood there, they add nothing."""
    size = packing.line_for(pairs.shape[1])
    lines = pairs.shape[1] // size
    last = width - 2 * size * (lines - 1)
    if last < 2 * size:
        upper = pairs.reshape(-1).view(np.uint16)
        for i in range(rows):
            place = 2 * packing.place(i, lines - 1, lines, size)
            for c in range(place + last, place + 2 * size):
                upper[c] = np.uint16(0)


@compiled
def room_for_pairs(rows, width):
    """Return room for so many rows in bfloat16, as `in_pairs` returns them."""
    count = packing.for_bytes(2 * width)
    return room(packing.rows_for(rows) * count).reshape(-1, count)


@compiled
def _round(x, i, first, count, upper, place):
    """Write so many numbers of a row of x in bfloat16."""
    whole = count - count % LANES
    if whole:
        _round_off(x, i * x.shape[1] + first, upper, place, whole)
    for c in range(whole, count):
        bfloat16.write(upper, place + c, x[i, first + c])


@for_loops(types.void)
def _round_off(code, numbers, first, upper, place, width):
    """Write numbers[first:] in bfloat16 to upper[place:], by an instruction for it; in sixteens."""

    def each(index, values):
        vector = numbers.load(code.builder.add(first, index))
        upper.store(code.builder.add(place, index), code.rounded(vector))
        return values

    code.fold_all(width, LANES, [], each)
