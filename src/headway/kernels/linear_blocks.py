"""Products of rows with blocks of weights, in the processor's registers.

Rows and weights lie in words of 32 bits: one number of float32, two of bfloat16 or four bytes. One
instruction, or a few for bytes before VNNI, multiplies each word of a vector with a word of the row
and adds to the vector's sums; LLVM makes those for smaller numbers of no loop, so the innermost
loop is put together of them here. A sum takes its products in the order of the inputs, however many
rows there are: so the bits of a row do not depend on its batch.
"""

import functools
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError

from headway.kernels import dispatch
from headway.kernels.codegen.numba_compiler import compiled
from headway.kernels.codegen.vectors import INT, WORD, for_loops, numbers_of_a_word

# Sums of some rows that, with the weights of a word and an input, fit into the registers: 32 of 16
# numbers with AVX-512, 16 of 8 with AVX, 32 of 4 on ARM.
_LANES, _VECTORS = (16, 4) if dispatch.has_avx512() else (8, 2)
OUTPUTS = _LANES * _VECTORS  # of a block
_ROWS = 6  # that are multiplied with a block at a time, at most
# Bytes of the blocks that some rows are multiplied with before the next rows are: they stay in the
# processor's second cache, and of a row of y as much as possible is written at a time.
_TOGETHER = 2**16
_LINE = 64  # bytes of a cache line
_FLOATS, _INTS = (ir.VectorType(kind, _LANES) for kind in (ir.FloatType(), INT))
SUM_OF_PAIRS = "llvm.x86.avx512bf16.dpbf16ps.512"
_FOURS = f"llvm.x86.avx512.vpdpbusd.{32 * _LANES}"
# What there was before VNNI: products of bytes summed by twos in 16 bits, and these by twos in 32.
_TWOS_OF_BYTES, _TWOS_OF_SHORTS = (
    ("llvm.x86.avx512.pmaddubs.w.512", "llvm.x86.avx512.pmaddw.d.512")
    if _LANES == 16
    else ("llvm.x86.avx2.pmadd.ub.sw", "llvm.x86.avx2.pmadd.wd")
)
LARGEST_BYTE, WORDS_AT_ONCE = (255, 1) if dispatch.has_vnni() else (159, 4)
"""The largest unsigned byte to multiply, and words whose products are summed at a time.

Without VNNI in 16 bits: the more bits rows have, the fewer weights have; see benchmarks/log/041.
"""


def in_blocks(words, *beginnings, size=OUTPUTS):
    """Return weights in blocks, (out, W) and (out,) each -> (blocks, …, outputs of a block).

    Of 32 bits all. The first rows of a block are its outputs' beginnings; zeros fill up. size: how
    many outputs a block has.
    """
    outputs, width = words.shape
    blocks, first = -(-outputs // size), len(beginnings)
    filled = np.zeros((first + width, blocks * size), words.dtype)
    for line, beginning in enumerate(beginnings):
        filled[line, :outputs] = beginning.view(words.dtype)
    filled[first:, :outputs] = words.T
    parts = filled.reshape(first + width, blocks, size).transpose(1, 0, 2)
    return _aligned(parts)


def _aligned(array):
    """Copy an array to where a cache line begins, so that no vector lies in two."""
    room = np.empty(array.nbytes + _LINE, np.uint8)
    begin = -room.ctypes.data % _LINE
    copy = room[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[:] = array
    return copy


@compiled
def multiply_blocks(x, weight, row_steps, zeros, relu, y):
    """Compute y = x weight + bias; then max(0, y) where asked.

    weight: `in_blocks`. x: (R, W), of the same kind. row_steps, zeros: (R,), of bytes only. y: (R,
    out), float32, or uint32 for pairs of bfloat16 as x has them. The kind of the words tells what
    the numbers are, and the first rows of a block: float32: the bias. uint32, pairs of bfloat16:
    the bias. int32, fours of bytes: the sum of each output's weights, which times the row's zero is
    taken from the exact sums; the output's step, which multiplies them with that of the row; and
    the bias.
    """
    count, width = y.shape
    size = weight.shape[1] * OUTPUTS
    floor = np.float32(0.0) if relu else np.float32(-np.inf)
    # Vectors that go to several rows of y one after the other hold up what is loaded next.
    found = np.empty((_ROWS, OUTPUTS), np.float32)
    share = OUTPUTS // numbers_of_a_word(y)  # of a row of y
    line = np.empty(share, y.dtype)
    blocks = weight.shape[0]
    together = max(_TOGETHER // (4 * size), 1)
    for begin in range(0, blocks, together):
        for row in range(0, count, _ROWS):
            rows = min(count - row, _ROWS)
            for block in range(begin, min(begin + together, blocks)):
                # Not in a function of their own: a call with so many arrays takes as long as a row.
                at = block * size
                given = x, row, weight, at, weight.shape[1], row_steps, zeros, floor, found
                if rows == 6:
                    _multiply_six(*given)
                elif rows == 5:
                    _multiply_five(*given)
                elif rows == 4:
                    _multiply_four(*given)
                elif rows == 3:
                    _multiply_three(*given)
                elif rows == 2:
                    _multiply_two(*given)
                else:
                    _multiply_one(*given)
                first = block * share
                for i in range(rows):
                    if first + share <= width:
                        _copy_line(found, i * OUTPUTS, y, (row + i) * width + first)
                    else:
                        _copy_line(found, i * OUTPUTS, line, 0)
                        for o in range(first, width):
                            y[row + i, o] = line[o - first]


@for_loops(types.void)
def _copy_line(code, found, begin, y, place):
    """Copy the outputs of a block; a slice of y would count references."""
    pairs = y.kind.dtype == types.uint32
    for v in range(_VECTORS):
        vector = found.raw(code.builder.add(begin, WORD(_LANES * v)), _FLOATS)
        step = _LANES * v // 2 if pairs else _LANES * v
        vector = code.rounded(vector) if pairs else vector
        y.store(code.builder.add(place, WORD(step)), vector)


def _instruction(code, kind):
    """Return a number of words, and what adds products of so many with so many vectors to sums."""

    def named(sums, name):
        signature = ir.FunctionType(sums, [sums, _INTS, _INTS])
        function = cgutils.get_or_insert_function(code.builder.module, signature, name)
        return lambda total, words, vectors: code.builder.call(function, [total, *words, *vectors])

    if kind == types.uint32:
        return 1, named(_FLOATS, SUM_OF_PAIRS)
    if kind == types.int32:
        add = named(_INTS, _FOURS) if dispatch.has_vnni() else functools.partial(_add_twos, code)
        return WORDS_AT_ONCE, add
    return 1, lambda total, words, vectors: code.add_product(total, *words, *vectors)


def _add_twos(code, sums, words, vectors):
    """Add products of words of four bytes to sums, by the instructions before VNNI.

    Weights are such that sums of WORDS_AT_ONCE words fit into 16 bits: so widening them is shared.
    """
    bytes_, shorts = (ir.VectorType(ir.IntType(bits), 32 // bits * _LANES) for bits in (8, 16))

    def called(result, operands, name, *given):
        signature = ir.FunctionType(result, [operands, operands])
        function = cgutils.get_or_insert_function(code.builder.module, signature, name)
        return code.builder.call(function, given)

    def twos(*given):
        as_bytes = (code.builder.bitcast(vector, bytes_) for vector in given)
        return called(shorts, bytes_, _TWOS_OF_BYTES, *as_bytes)

    total = functools.reduce(code.builder.add, map(twos, words, vectors))
    ones = ir.Constant(shorts, [1] * (2 * _LANES))
    return code.builder.add(sums, called(_INTS, shorts, _TWOS_OF_SHORTS, total, ones))


def _write_product(rows: int) -> Any:
    def write(code, x, row, weight, begin, lines, row_steps, zeros, floor, found):
        builder, kind = code.builder, weight.kind.dtype
        bytes_ = kind == types.int32
        if x.kind.dtype != kind:
            raise TypingError(f"rows of {x.kind.dtype} cannot be multiplied with words of {kind}")
        at_once, add_products = _instruction(code, kind)
        words = _FLOATS if kind == types.float32 else _INTS
        beginnings = 3 if bytes_ else 1
        width = builder.sub(lines, WORD(beginnings))

        def line_at(number, vector):
            at = builder.add(begin, builder.mul(number, WORD(OUTPUTS)))
            places = [builder.add(at, WORD(_LANES * v)) for v in range(_VECTORS)]
            return [weight.raw(place, vector) for place in places]

        def each(column, totals):
            columns = [builder.add(column, WORD(n)) for n in range(at_once)]
            weights = [line_at(builder.add(c, WORD(beginnings)), words) for c in columns]
            summed = []
            for i in range(rows):
                at = builder.mul(width, builder.add(row, WORD(i)))
                numbers = [x.one(builder.add(at, c)) for c in columns]
                given = [code.everywhere(number, _LANES) for number in numbers]
                for v, vectors in enumerate(zip(*weights, strict=True)):
                    summed.append(add_products(totals[i * _VECTORS + v], given, vectors))
            return summed

        sums = line_at(WORD(0), _INTS if bytes_ else _FLOATS)
        begins = rows * sums
        if bytes_:
            below = [builder.neg(zeros.one(builder.add(row, WORD(i)))) for i in range(rows)]
            begins = [builder.mul(code.everywhere(n, _LANES), v) for n in below for v in sums]
        totals = code.fold_all(width, at_once, begins, each)
        floors = code.everywhere(floor, _LANES)
        for i in range(rows):
            line = totals[i * _VECTORS : (i + 1) * _VECTORS]
            if bytes_:
                row_step = code.everywhere(row_steps.one(builder.add(row, WORD(i))), _LANES)
                rest = zip(line, line_at(WORD(1), _FLOATS), line_at(WORD(2), _FLOATS), strict=True)
                line = [
                    code.scaled(builder.sitofp(total, _FLOATS), row_step, step, bias)
                    for total, step, bias in rest
                ]
            for v, total in enumerate(line):
                place = WORD((i * _VECTORS + v) * _LANES)
                found.store(place, code.larger(floors, total))

    return for_loops(types.void)(write)


_multiply_one, _multiply_two, _multiply_three = (_write_product(rows) for rows in (1, 2, 3))
_multiply_four, _multiply_five, _multiply_six = (_write_product(rows) for rows in (4, 5, 6))
