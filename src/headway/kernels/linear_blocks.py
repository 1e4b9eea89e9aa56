"""Products of rows with blocks of weights, in the processor's registers.

Rows and weights are in words of 32 bits: one number of float32, two of bfloat16 or four bytes. One
instruction, or a few for bytes before VNNI, multiplies each word of a vector with a word of the row
and adds to the vector's sums. For bfloat16 and bytes, LLVM does not make these instructions from
loops, so the innermost loop is generated here. A sum takes its products in the order of the inputs,
for any number of rows, so the bits of a row do not depend on its batch.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.errors import TypingError
from numpy.typing import NDArray

from headway.kernels.arrays import Floats, Words
from headway.kernels.codegen.numba_compiler import compiled, has_avx512, has_vnni
from headway.kernels.codegen.vectors import (
    FLOAT,
    INT,
    SHORT,
    WORD,
    Code,
    FlatArray,
    Value,
    generated,
    numbers_of_a_word,
)
from headway.runtime.huge_pages import copy_to_huge_pages

# The sums of some rows, with the weights of a word and an input, fit into the registers: 32 of 16
# numbers with AVX-512, 16 of 8 with AVX, 32 of 4 on ARM.
_LANES, _VECTORS = (16, 4) if has_avx512() else (8, 2)
OUTPUTS = _LANES * _VECTORS  # of a block
_ROWS = 6  # rows that are multiplied with a block at a time, at most
# Bytes of the blocks that some rows are multiplied with before the next rows are: they stay in the
# L2 cache, and each write to a row of y is as long as possible.
_TOGETHER = 2**16
# Outputs are written to the rows of y at once. On processors without AVX-512 this would delay the
# next loads, so there the outputs of a block are copied after it (benchmarks/log/104, 105).
_DIRECT = has_avx512()
_LINE = 16  # words of a cache line
_LINES = OUTPUTS // _LINE  # of an input's weights in a block
_FLOATS, _INTS = ir.VectorType(FLOAT, _LANES), ir.VectorType(INT, _LANES)
_BYTES, _SHORTS = ir.VectorType(ir.IntType(8), 4 * _LANES), ir.VectorType(SHORT, 2 * _LANES)
SUM_OF_PAIRS = "llvm.x86.avx512bf16.dpbf16ps.512"
_FOURS = f"llvm.x86.avx512.vpdpbusd.{32 * _LANES}"
# Before VNNI: products of bytes summed by twos in 16 bits, and these by twos in 32.
_TWOS_OF_BYTES, _TWOS_OF_SHORTS = (
    ("llvm.x86.avx512.pmaddubs.w.512", "llvm.x86.avx512.pmaddw.d.512")
    if _LANES == 16
    else ("llvm.x86.avx2.pmadd.ub.sw", "llvm.x86.avx2.pmadd.wd")
)
LARGEST_BYTE, WORDS_AT_ONCE = (255, 1) if has_vnni() else (159, 4)
"""The largest unsigned byte to multiply, and words whose products are summed at a time.

Without VNNI in 16 bits: the more bits rows have, the fewer weights have; see benchmarks/log/041.
"""


def in_blocks(words: NDArray[Any], *first_lines: NDArray[Any], size: int = OUTPUTS) -> NDArray[Any]:
    """Return weights in blocks, (out, W) and (out,) each -> (blocks, …, outputs of a block).

    All numbers are of 32 bits. A block begins with its outputs' part of the first lines; zeros pad
    the last block. size: outputs of a block.
    """
    outputs, width = words.shape
    blocks, first = -(-outputs // size), len(first_lines)
    filled = np.zeros((first + width, blocks * size), words.dtype)
    for line, numbers in enumerate(first_lines):
        filled[line, :outputs] = numbers.view(words.dtype)
    filled[first:, :outputs] = words.T
    parts = filled.reshape(first + width, blocks, size).transpose(1, 0, 2)
    return copy_to_huge_pages(parts)


@compiled
def multiply_blocks(
    x: Words,
    weight: Words,
    row_steps: Floats,
    zeros: NDArray[np.int32],
    relu: bool,
    y: Words,
    first_block: int,
    last_block: int,
) -> None:
    """Compute y = x weight + bias, then max(0, y) if relu, for blocks first to last - 1.

    weight: of `in_blocks`. x: (R, W), of the same kind. row_steps, zeros: (R,), of bytes only. y:
    (R, out), float32, or uint32 for pairs of bfloat16 in the layout of x. The type of the words
    decides what they hold, and what the first lines of a block are. float32: the bias. uint32,
    pairs of bfloat16: the bias. int32, fours of bytes: the sum of each output's weights, which is
    multiplied by the row's zero and subtracted from the exact sums; the output's step, by which
    they are multiplied, as by the row's step; and the bias.
    """
    count, width = y.shape
    size = weight.shape[1] * OUTPUTS
    floor = np.float32(0.0) if relu else np.float32(-np.inf)
    share = OUTPUTS // numbers_of_a_word(y)  # of a row of y
    spare = np.empty((_ROWS, share), y.dtype)
    together = max(_TOGETHER // (4 * size), 1)
    for begin in range(first_block, last_block, together):
        end = min(begin + together, last_block)
        for row in range(0, count, _ROWS):
            rows, group = min(count - row, _ROWS), row // _ROWS
            for block in range(begin, end):
                at = block * size
                # The next blocks come into the L2 cache meanwhile, one line of each input with each
                # group of rows. All lines at once would delay the products. After the last block of
                # a product, these are the weights that were made after it.
                ahead = at  # already in the cache
                if count > _ROWS and group < _LINES:
                    ahead = at + together * size + group * _LINE
                first = block * share
                is_whole = first + share <= width
                direct = _DIRECT and is_whole
                place, stride = (row * width + first, width) if direct else (0, share)
                # Not in a function: a call with this many arrays takes as long as a row.
                inputs = (
                    x, row, weight, at, weight.shape[1], ahead, row_steps, zeros, floor,
                    y, spare, direct, place, stride,
                )  # fmt: skip
                if rows == 6:
                    _multiply_six(*inputs)
                elif rows == 5:
                    _multiply_five(*inputs)
                elif rows == 4:
                    _multiply_four(*inputs)
                elif rows == 3:
                    _multiply_three(*inputs)
                elif rows == 2:
                    _multiply_two(*inputs)
                else:
                    _multiply_one(*inputs)
                for i in range(0 if direct else rows):
                    if is_whole:
                        _copy_line(spare, i * share, y, (row + i) * width + first)
                    else:
                        for o in range(first, width):
                            y[row + i, o] = spare[i, o - first]


@generated(types.void)
def _copy_line(code: Code, spare: FlatArray, begin: Value, y: FlatArray, place: Value) -> None:
    """Copy a row's outputs of a block; a slice of y would count references."""
    words = OUTPUTS // 2 if y.kind.dtype == types.uint32 else OUTPUTS
    for word in range(0, words, _LANES):
        y.store(place + word, spare.read(begin + word, _INTS))


AddProducts = Callable[[Code, Value, Sequence[Value], Sequence[Value]], Value]
"""Adds the products of words, each in every lane, with vectors to a vector of sums."""


def _instruction(kind: types.Type) -> tuple[int, AddProducts]:
    """Return the number of words that are multiplied at a time, and the function for them."""
    if kind == types.uint32:
        return 1, _add_pairs
    if kind == types.int32:
        return WORDS_AT_ONCE, _add_fours if has_vnni() else _add_twos
    return 1, _add_floats


def _add_floats(code: Code, sums: Value, words: Sequence[Value], vectors: Sequence[Value]) -> Value:
    return code.add_product(sums, words[0], vectors[0])


def _add_pairs(code: Code, sums: Value, words: Sequence[Value], vectors: Sequence[Value]) -> Value:
    return code.call(SUM_OF_PAIRS, _FLOATS, sums, words[0], vectors[0])


def _add_fours(code: Code, sums: Value, words: Sequence[Value], vectors: Sequence[Value]) -> Value:
    return code.call(_FOURS, _INTS, sums, words[0], vectors[0])


def _add_twos(code: Code, sums: Value, words: Sequence[Value], vectors: Sequence[Value]) -> Value:
    """Add products of words of four bytes to sums, by the instructions before VNNI.

    Weights are such that sums of WORDS_AT_ONCE words fit into 16 bits, so they share the widening.
    """
    products = [
        code.call(_TWOS_OF_BYTES, _SHORTS, word.bitcast(_BYTES), vector.bitcast(_BYTES))
        for word, vector in zip(words, vectors, strict=True)
    ]
    total = functools.reduce(lambda a, b: a + b, products)
    return sums + code.call(_TWOS_OF_SHORTS, _INTS, total, code.constant(1, _SHORTS))


def _write_product(rows: int) -> Any:
    """Return a kernel that multiplies this many rows with a block."""

    def write(
        code: Code,
        x: FlatArray,
        row: Value,
        weight: FlatArray,
        begin: Value,
        lines: Value,
        ahead: Value,
        row_steps: FlatArray,
        zeros: FlatArray,
        floor: Value,
        y: FlatArray,
        spare: FlatArray,
        direct: Value,
        place: Value,
        stride: Value,
    ) -> None:
        pointer = code.builder.select(direct.llvm, y.pointer, spare.pointer)
        out = FlatArray(code.builder, y.kind, pointer)
        in_pairs = y.kind.dtype == types.uint32
        kind = weight.kind.dtype
        bytes_ = kind == types.int32
        if x.kind.dtype != kind:
            raise TypingError(f"rows of {x.kind.dtype} cannot be multiplied with words of {kind}")
        at_once, add_products = _instruction(kind)
        words = _FLOATS if kind == types.float32 else _INTS
        first_lines = 3 if bytes_ else 1
        width = lines - first_lines

        def line_at(number: Value, vector: ir.Type) -> list[Value]:
            at = begin + number * OUTPUTS
            return [weight.read(at + _LANES * v, vector) for v in range(_VECTORS)]

        def first_line(number: int, vector: ir.Type) -> list[Value]:
            return line_at(code.constant(number, WORD), vector)

        def multiply(column: Value, totals: list[Value]) -> list[Value]:
            columns = [column + n for n in range(at_once)]
            if rows == _ROWS:
                for c in columns:
                    weight.prefetch(ahead + c * OUTPUTS, into_l2=True)
            weights = [line_at(c + first_lines, words) for c in columns]
            sums: list[Value] = []
            for i in range(rows):
                at = width * (row + i)
                numbers = [code.broadcast(x.scalar(at + c), _LANES) for c in columns]
                for v, vectors in enumerate(zip(*weights, strict=True)):
                    sums.append(add_products(code, totals[i * _VECTORS + v], numbers, vectors))
            return sums

        begins = first_line(0, _INTS if bytes_ else _FLOATS)
        if bytes_:
            below = [-zeros.scalar(row + i) for i in range(rows)]
            begins = [code.broadcast(zero, _LANES) * v for zero in below for v in begins]
        else:
            begins = rows * begins
        totals = code.fold_all(width, at_once, begins, multiply)
        floors = code.broadcast(floor, _LANES)
        for i in range(rows):
            outputs = totals[i * _VECTORS : (i + 1) * _VECTORS]
            if bytes_:
                row_step = code.broadcast(row_steps.scalar(row + i), _LANES)
                scales = zip(outputs, first_line(1, _FLOATS), first_line(2, _FLOATS), strict=True)
                outputs = [
                    code.dequantized(total.to_floats(_FLOATS), row_step, step, bias)
                    for total, step, bias in scales
                ]
            for v, total in enumerate(outputs):
                vector, offset = code.larger(floors, total), _LANES * v
                if in_pairs:
                    vector, offset = code.to_bfloat16(vector), offset // 2
                out.store(place + stride * i + offset, vector)

    return generated(types.void)(write)


_multiply_one, _multiply_two, _multiply_three = (_write_product(rows) for rows in (1, 2, 3))
_multiply_four, _multiply_five, _multiply_six = (_write_product(rows) for rows in (4, 5, 6))
