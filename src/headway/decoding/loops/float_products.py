"""Products in float32, a few rows and outputs at a time in the processor's registers.

Each output is one sum, in the order of its inputs, however many rows there are: so the bits of a
row do not depend on its batch.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from headway.decoding.loops.compiling import compiled, host_has
from headway.decoding.loops.vectors import WORD, for_loops

# Vectors of sums that, with the weights and an input, fit into the registers: 32 of 16 numbers with
# AVX-512, 16 of 8 with AVX, 32 of 4 on ARM.
_LANES, _VECTORS = (16, 4) if host_has("avx512f") else (8, 2)
_OUTPUTS = _LANES * _VECTORS
_ROWS = 6
_FLOATS = ir.VectorType(ir.FloatType(), _LANES)


def in_float_blocks(weight, bias):
    """Return weights as the loops below want them, (out, in) -> (blocks, 1 + in, 16 or 64).

    A block is of so many outputs; its first row holds their biases. Zeros fill up.
    """
    outputs, inputs = weight.shape
    blocks = -(-outputs // _OUTPUTS)
    filled = np.zeros((1 + inputs, blocks * _OUTPUTS), np.float32)
    filled[0, :outputs] = bias
    filled[1:, :outputs] = weight.T
    return np.ascontiguousarray(filled.reshape(1 + inputs, blocks, _OUTPUTS).transpose(1, 0, 2))


@compiled
def multiply_floats(x, weight, relu, y):
    """Compute y = x weight + bias; then max(0, y) where asked.

    x: (R, in). weight: `in_float_blocks`. y: (R, out).
    """
    count, outputs = y.shape
    width, size = x.shape[1], weight.shape[1] * _OUTPUTS
    sums = np.empty((_ROWS, _OUTPUTS), np.float32)
    zero = np.float32(0.0)
    for block in range(weight.shape[0]):
        first = block * _OUTPUTS
        end = min(first + _OUTPUTS, outputs)
        row = 0
        while row < count:
            rows = min(count - row, _ROWS)
            if rows == 6:
                _sum_six(x, row * width, width, weight, block * size, sums)
            elif rows == 5:
                _sum_five(x, row * width, width, weight, block * size, sums)
            elif rows == 4:
                _sum_four(x, row * width, width, weight, block * size, sums)
            elif rows == 3:
                _sum_three(x, row * width, width, weight, block * size, sums)
            elif rows == 2:
                _sum_two(x, row * width, width, weight, block * size, sums)
            else:
                _sum_one(x, row * width, width, weight, block * size, sums)
            for i in range(rows):
                line, found = y[row + i, first:end], sums[i]
                for o in range(line.size):
                    line[o] = found[o] if not (relu and found[o] < zero) else zero
            row += rows


def _sum_up(rows: int) -> Any:
    """Return what computes the sums of so many rows of x, the first beginning at `first`.

    They are of one block of weights, which begins at `begin`; width is the length of a row. Nothing
    is checked.
    """

    def write(code, x, first, width, weight, begin, sums):
        builder = code.builder

        def weights_at(place):
            places = [builder.add(place, WORD(_LANES * v)) for v in range(_VECTORS)]
            return [weight.raw(each, _FLOATS) for each in places]

        def each(column, totals):
            line = builder.add(builder.mul(column, WORD(_OUTPUTS)), WORD(_OUTPUTS))
            vectors = weights_at(builder.add(begin, line))
            summed = []
            for row in range(rows):
                place = builder.add(builder.add(first, builder.mul(width, WORD(row))), column)
                number = code.everywhere(x.one(place), _LANES)
                for v, vector in enumerate(vectors):
                    total = totals[row * _VECTORS + v]
                    summed.append(code.add_product(total, number, vector))
            return summed

        totals = code.fold_all(width, 1, rows * weights_at(begin), each)
        for number, total in enumerate(totals):
            sums.store(WORD(_LANES * number), total)

    return for_loops(types.void)(write)


_sum_one, _sum_two, _sum_three = (_sum_up(rows) for rows in (1, 2, 3))
_sum_four, _sum_five, _sum_six = (_sum_up(rows) for rows in (4, 5, 6))
