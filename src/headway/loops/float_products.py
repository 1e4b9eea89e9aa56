"""What products of floats take: blocks of float32, or pairs of bfloat16 where these are summed."""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from headway.loops import bfloat16, words
from headway.loops.blocks import in_blocks
from headway.loops.compiling import compiled
from headway.loops.vectors import FLOATS, LANES, SHORTS, for_loops


def in_float_blocks(weight, bias):
    """Return weights and bias, (out, in) and (out,), in blocks of float32."""
    return in_blocks(weight, bias)


def in_pair_blocks(weight, bias):
    """Return weights, rounded to bfloat16, and bias in blocks of uint32, with two in each word."""
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
