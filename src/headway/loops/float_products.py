"""Products in float32, and in bfloat16 where the processor sums these up in float32."""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import overload

from headway.loops import bfloat16, words
from headway.loops.blocks import in_blocks, multiply_blocks
from headway.loops.compiling import compiled
from headway.loops.vectors import FLOATS, LANES, SHORTS, for_loops

_NO_STEPS, _NO_ZEROS = np.empty(0, np.float32), np.empty(0, np.int32)


def in_float_blocks(weight, bias):
    """Return weights and bias, (out, in) and (out,), in blocks for `multiply_floats`."""
    return in_blocks(weight, bias)


def in_pair_blocks(weight, bias):
    """Return the same with weights rounded to bfloat16, two in each word of uint32."""
    outputs, inputs = weight.shape
    return words.in_blocks(in_pairs(weight)[:outputs, : words.for_bytes(2 * inputs)], bias)


@compiled
def in_pairs(x):
    """Round to bfloat16, two in each word of uint32: (R, in) -> (R and more, in / 2 and more).

    As many as `words` wants; zeros fill up each row, and rows that there are not may be anything.
    """
    rows, width = x.shape
    upper = np.empty((words.rows_for(rows), 2 * words.row_for(2 * width)), np.uint16)
    whole = width - width % LANES
    for i in range(rows):
        line = upper[i]
        if whole:
            _round_off(x, i * width, upper, i * upper.shape[1], whole)
        for c in range(whole, width):
            bfloat16.write(line, c, x[i, c])
        line[width:] = np.uint16(0)
    return upper.view(np.uint32)


@for_loops(types.void)
def _round_off(code, numbers, first, upper, place, width):
    """Write numbers[first:] in bfloat16 to upper[place:], by an instruction for it; in sixteens."""
    name = "llvm.x86.avx512bf16.cvtneps2bf16.512"
    kind = ir.FunctionType(SHORTS, [FLOATS])
    instruction = cgutils.get_or_insert_function(code.builder.module, kind, name)

    def each(index, values):
        vector = numbers.load(code.builder.add(first, index))
        upper.store(code.builder.add(place, index), code.builder.call(instruction, [vector]))
        return values

    code.fold_all(width, LANES, [], each)


@compiled
def multiply_floats(x, weight, relu, y):
    """Compute y = x weight + bias; then max(0, y) where asked.

    x: (R, in), float32; it is rounded as the weights are. weight: `in_float_blocks` or
    `in_pair_blocks`. y: (R, out). Sums are in float32.
    """
    _multiply(x, weight, relu, y)


def _multiply(x, weight, relu, y):
    raise NotImplementedError


@overload(_multiply)
def _choose_kind(x, weight, relu, y):
    return _multiply_numbers if isinstance(weight.dtype, types.Float) else _multiply_pairs


def _multiply_numbers(x, weight, relu, y):
    multiply_blocks(x, weight, _NO_STEPS, _NO_ZEROS, relu, y)


def _multiply_pairs(x, weight, relu, y):
    words.multiply(in_pairs(x), weight, _NO_STEPS, _NO_ZEROS, relu, y)
