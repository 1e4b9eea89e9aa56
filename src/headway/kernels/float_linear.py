"""Operands for products of floats: blocks of float32, or pairs of bfloat16 in words."""

import numpy as np
from numba import types
from numpy.typing import NDArray

from headway.kernels import packing
from headway.kernels.arrays import Floats
from headway.kernels.codegen import bfloat16
from headway.kernels.codegen.amx import aligned_words
from headway.kernels.codegen.numba_compiler import compiled
from headway.kernels.codegen.vectors import LANES, Code, FlatArray, Value, generated
from headway.kernels.linear_blocks import in_blocks


def in_float_blocks(weight: Floats, bias: Floats) -> Floats:
    """Return weights and bias, (out, in) and (out,), in blocks of float32."""
    return in_blocks(weight, bias)


def in_pair_blocks(weight: Floats, bias: Floats) -> NDArray[np.uint32]:
    """Return weights, rounded to bfloat16, and bias in blocks of uint32: two weights in a word."""
    outputs, inputs = weight.shape
    rounded = np.zeros((outputs, 2 * packing.for_bytes(2 * inputs)), np.uint16)
    for row in range(outputs):
        _round(weight, row, 0, inputs, rounded.reshape(-1), row * rounded.shape[1])
    return packing.in_blocks(rounded.view(np.uint32), bias)


@compiled
def in_pairs(x: Floats) -> NDArray[np.uint32]:
    """Round to bfloat16, two in each word of uint32: (R, in) in the lines of `packing.multiply`.

    Each row ends with zeros; rows beyond R have arbitrary content.
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
def fill_up(pairs: NDArray[np.uint32], rows: int, width: int) -> None:
    """Write zeros after the first `width` numbers of each row, so that the padding adds nothing."""
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
def room_for_pairs(rows: int, width: int) -> NDArray[np.uint32]:
    """Return memory for (rows, width) in bfloat16, in the layout of `in_pairs`."""
    count = packing.for_bytes(2 * width)
    return aligned_words(packing.rows_for(rows) * count).reshape(-1, count)


@compiled
def _round(
    x: Floats, i: int, first: int, count: int, upper: NDArray[np.uint16], place: int
) -> None:
    """Write `count` numbers of row i of x, from column `first` on, in bfloat16."""
    whole = count - count % LANES
    if whole:
        _round_off(x, i * x.shape[1] + first, upper, place, whole)
    for c in range(whole, count):
        bfloat16.write(upper, place + c, x[i, first + c])


@generated(types.void)
def _round_off(
    code: Code, numbers: FlatArray, first: Value, upper: FlatArray, place: Value, width: Value
) -> None:
    """Write numbers[first:] in bfloat16 to upper[place:]; width: a multiple of 16."""

    def write(index: Value) -> None:
        vector = numbers.load(first + index)
        upper.store(place + index, code.to_bfloat16(vector))

    code.repeat(width, LANES, write)
