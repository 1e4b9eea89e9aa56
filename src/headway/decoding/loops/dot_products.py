"""Products of 8-bit integers by the processor's own dot products (VNNI).

LLVM does not make these instructions of a loop, so the innermost loop is put together of them here:
each multiplies unsigned bytes with signed ones and adds them, four by four, to 16 sums (AVX-512
VNNI) or 8 (AVX-VNNI).
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from headway.decoding.loops.compiling import compiled, host_has, scaled
from headway.decoding.loops.vectors import INT, WORD, for_loops

LEVELS = 127
"""The largest whole number of a row; sums of 32 bits have room for so many."""
OFFSET = 128
"""What is added to the rows' numbers to make them unsigned."""
_INPUTS = 4  # that one sum takes in one instruction
_ROWS = 6  # whose vectors of sums, with the weights, fill the registers, 32 or 16
_LANES, _VECTORS = (16, 4) if host_has("avx512vnni") else (8, 2)
_OUTPUTS = _LANES * _VECTORS  # of a block of weights
_LINE = _OUTPUTS * _INPUTS  # bytes
_SUMS = ir.VectorType(INT, _LANES)
_INSTRUCTION = f"llvm.x86.avx512.vpdpbusd.{32 * _LANES}"


def has_dot_products() -> bool:
    """Tell whether the processor has the instructions."""
    return host_has("avx512vnni") or host_has("avxvnni")


def in_blocks(weight):
    """Return weights as the loops below want them, int8, (out, in) -> (blocks, 1 + in / 4, 4 * 64).

    A block is of 64 outputs (AVX-VNNI: 16), of which each row holds four inputs, output by output;
    zeros fill up. Its first row holds, in int32, where the sums begin: so that the offset of the
    inputs is out of them at the end.
    """
    outputs, inputs = weight.shape
    blocks, steps = -(-outputs // _OUTPUTS), -(-inputs // _INPUTS)
    filled = np.zeros((blocks * _OUTPUTS, steps * _INPUTS), np.int8)
    filled[:outputs, :inputs] = weight
    begins = -OFFSET * filled.sum(axis=1, dtype=np.int32)
    parts = filled.reshape(blocks, _OUTPUTS, steps, _INPUTS).transpose(0, 2, 1, 3)
    first = begins.view(np.int8).reshape(blocks, 1, _OUTPUTS * _INPUTS)
    return np.concatenate([first, parts.reshape(blocks, steps, -1)], axis=1)


@compiled
def multiply_bytes(whole, weight, row_steps, steps, bias, relu, y):
    """Compute y = (whole - OFFSET) weight, times both steps, + bias; then max(0, y) where asked.

    whole: (R, in, rounded up to fours), uint8. weight: `in_blocks`. row_steps: (R,). steps, bias:
    (out,). y: (R, out). Sums are of 32 bits and exact.
    """
    count, outputs = y.shape
    width, lines = whole.shape[1], weight.shape[1]
    size = lines * _LINE
    sums = np.empty((_ROWS, _OUTPUTS), np.int32)
    zero = np.float32(0.0)
    for block in range(weight.shape[0]):
        first = block * _OUTPUTS
        end = min(first + _OUTPUTS, outputs)
        block_steps, block_bias = steps[first:end], bias[first:end]
        row = 0
        while row < count:
            rows = min(count - row, _ROWS)
            if rows == 6:
                _sum_six(whole, row * width, width, weight, block * size, lines, sums)
            elif rows == 5:
                _sum_five(whole, row * width, width, weight, block * size, lines, sums)
            elif rows == 4:
                _sum_four(whole, row * width, width, weight, block * size, lines, sums)
            elif rows == 3:
                _sum_three(whole, row * width, width, weight, block * size, lines, sums)
            elif rows == 2:
                _sum_two(whole, row * width, width, weight, block * size, lines, sums)
            else:
                _sum_one(whole, row * width, width, weight, block * size, lines, sums)
            for i in range(rows):
                row_step = row_steps[row + i]
                line = y[row + i, first:end]
                for o in range(line.size):
                    result = scaled(np.float32(sums[i, o]), row_step, block_steps[o], block_bias[o])
                    line[o] = max(result, zero) if relu else result
            row += rows


def _sum_up(rows: int) -> Any:
    """Return what computes the sums of so many rows of `whole`, the first beginning at `first`.

    They are of one block of weights, which begins at `begin`; width and lines are the lengths of a
    row and of a block. Nothing is checked.
    """

    def write(code, whole, first, width, weight, begin, lines, sums):
        builder = code.builder
        instruction = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(_SUMS, [_SUMS] * 3), _INSTRUCTION
        )

        def weights_at(place):
            places = [builder.add(place, WORD(_LINE // _VECTORS * v)) for v in range(_VECTORS)]
            return [weight.raw(each, _SUMS) for each in places]

        def each(line, totals):
            vectors = weights_at(builder.add(builder.add(begin, WORD(_LINE)), line))
            column = builder.add(first, builder.udiv(line, WORD(_LINE // _INPUTS)))
            summed = []
            for row in range(rows):
                place = builder.add(builder.mul(width, WORD(row)), column)
                four = code.everywhere(whole.raw(place, INT), _LANES)
                for v, vector in enumerate(vectors):
                    total = totals[row * _VECTORS + v]
                    summed.append(builder.call(instruction, [total, four, vector]))
            return summed

        size = builder.mul(builder.sub(lines, WORD(1)), WORD(_LINE))
        totals = code.fold_all(size, _LINE, rows * weights_at(begin), each)
        for number, total in enumerate(totals):
            sums.store(WORD(_LANES * number), total)

    return for_loops(types.void)(write)


_sum_one, _sum_two, _sum_three = (_sum_up(rows) for rows in (1, 2, 3))
_sum_four, _sum_five, _sum_six = (_sum_up(rows) for rows in (4, 5, 6))
