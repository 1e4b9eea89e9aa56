"""Products of rows with blocks of weights, in the processor's registers.

Rows and weights lie in words of 32 bits: one number of float32, two of bfloat16 or four bytes. One
instruction multiplies each word of a vector with a word of the row and adds to the vector's sums;
LLVM makes those for smaller numbers of no loop, so the innermost loop is put together of them here.
A sum takes its products in the order of the inputs, however many rows there are: so the bits of a
row do not depend on its batch.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from headway.decoding.loops.compiling import compiled, host_has
from headway.decoding.loops.vectors import INT, WORD, for_loops

# Sums of a row that, in all with the weights and an input, fit into the registers: 32 of 16 numbers
# with AVX-512, 16 of 8 with AVX, 32 of 4 on ARM.
_LANES, _VECTORS = (16, 4) if host_has("avx512f") else (8, 2)
OUTPUTS = _LANES * _VECTORS
"""Outputs of a block."""
ROWS = 6
"""Rows that are multiplied with a block at a time, at most."""
_FLOATS, _INTS = (ir.VectorType(kind, _LANES) for kind in (ir.FloatType(), INT))
_PAIRS = "llvm.x86.avx512bf16.dpbf16ps.512"
_FOURS = f"llvm.x86.avx512.vpdpbusd.{32 * _LANES}"


def multiplies_bfloat16() -> bool:
    """Tell whether the processor sums up products of bfloat16."""
    return host_has("avx512bf16")


def multiplies_bytes() -> bool:
    """Tell whether the processor sums up products of an unsigned byte with a signed one (VNNI)."""
    return host_has("avx512vnni") or host_has("avxvnni")


def in_blocks(words, begins):
    """Return weights as `sum_up` wants them, (out, W) -> (blocks, 1 + W, OUTPUTS), 32 bits each.

    The first row of a block holds where its sums begin; `begins` are (out,). Zeros fill up.
    """
    outputs, width = words.shape
    blocks = -(-outputs // OUTPUTS)
    filled = np.zeros((1 + width, blocks * OUTPUTS), words.dtype)
    filled[0, :outputs] = begins.view(words.dtype)
    filled[1:, :outputs] = words.T
    return np.ascontiguousarray(filled.reshape(1 + width, blocks, OUTPUTS).transpose(1, 0, 2))


@compiled
def sum_up(rows, x, first, width, weight, begin, sums):
    """Sum up so many rows, 1 to ROWS, with one block.

    The first row begins at x[first], its width is in words; the block begins at weight[begin]:
    places are counted as if there were no dimensions. What the numbers are, the kind of the weights
    tells: float32, uint32 for bfloat16 or int32 for bytes. sums: (ROWS, OUTPUTS), float32, of bytes
    int32. Nothing is checked.
    """
    if rows == 6:
        _sum_six(x, first, width, weight, begin, sums)
    elif rows == 5:
        _sum_five(x, first, width, weight, begin, sums)
    elif rows == 4:
        _sum_four(x, first, width, weight, begin, sums)
    elif rows == 3:
        _sum_three(x, first, width, weight, begin, sums)
    elif rows == 2:
        _sum_two(x, first, width, weight, begin, sums)
    else:
        _sum_one(x, first, width, weight, begin, sums)


def _instruction(code, kind):
    """Return what adds the products of two vectors to sums, and the kind of these."""

    def named(sums, name):
        signature = ir.FunctionType(sums, [sums, _INTS, _INTS])
        function = cgutils.get_or_insert_function(code.builder.module, signature, name)
        return lambda *vectors: code.builder.call(function, vectors)

    if kind == types.uint32:
        return named(_FLOATS, _PAIRS), _FLOATS
    if kind == types.int32:
        return named(_INTS, _FOURS), _INTS
    return code.add_product, _FLOATS


def _write_sums(rows: int) -> Any:
    def write(code, x, first, width, weight, begin, sums):
        builder = code.builder
        add_products, kind = _instruction(code, weight.kind.dtype)
        words = _FLOATS if weight.kind.dtype == types.float32 else _INTS

        def line_at(place, kind):
            places = [builder.add(place, WORD(_LANES * v)) for v in range(_VECTORS)]
            return [weight.raw(each, kind) for each in places]

        def each(column, totals):
            line = builder.add(builder.mul(column, WORD(OUTPUTS)), WORD(OUTPUTS))
            vectors = line_at(builder.add(begin, line), words)
            summed = []
            for row in range(rows):
                place = builder.add(builder.add(first, builder.mul(width, WORD(row))), column)
                word = code.everywhere(x.one(place), _LANES)
                for v, vector in enumerate(vectors):
                    total = totals[row * _VECTORS + v]
                    summed.append(add_products(total, word, vector))
            return summed

        totals = code.fold_all(width, 1, rows * line_at(begin, kind), each)
        for number, total in enumerate(totals):
            sums.store(WORD(_LANES * number), total)

    return for_loops(types.void)(write)


_sum_one, _sum_two, _sum_three = (_write_sums(rows) for rows in (1, 2, 3))
_sum_four, _sum_five, _sum_six = (_write_sums(rows) for rows in (4, 5, 6))
