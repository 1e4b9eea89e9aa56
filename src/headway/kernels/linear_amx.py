"""Products of rows with blocks of weights, as in `linear_blocks`, on a processor with tiles (AMX).

16 rows fill one tile, and 16 words of 16 outputs another. A sum takes its products in the same
order for any number of rows, and wherever its row is.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numpy.typing import NDArray

from headway.kernels import LANES
from headway.kernels.arrays import Floats, Words
from headway.kernels.codegen import amx
from headway.kernels.codegen.amx import DEEP, SHAPES, TILE, aligned_words, release, set_up
from headway.kernels.codegen.numba_compiler import compiled
from headway.kernels.codegen.vectors import (
    FLOATS,
    INTS,
    WORD,
    Code,
    FlatArray,
    Value,
    generated,
    numbers_of_a_word,
)

OUTPUTS = 2 * LANES
"""Outputs of a block."""
_ROWS = 2 * LANES  # rows that are multiplied with a block at a time, at most
# Words of a deep block that some rows are multiplied with before the next words are, so that these
# stay in the L1 cache; and rows whose sums wait meanwhile.
_DEPTH, _WAITING = 2**8, 4 * _ROWS
_SIDE_BY_SIDE = 2**16  # words of blocks that rows are multiplied with in turn, for longer writes
_TOGETHER = 2**18  # words of rows that are multiplied with all blocks before the next ones are

Finish = tuple[Floats, NDArray[np.int32], np.float32, Words]
"""row_steps, zeros, floor and y of `multiply_blocks`."""


@compiled
def multiply_blocks(
    x: Words, weight: Words, row_steps: Floats, zeros: NDArray[np.int32], relu: bool, y: Words
) -> None:
    """Compute y = x weight + bias, as `linear_blocks.multiply_blocks` does for pairs and fours.

    weight: `in_blocks` of OUTPUTS, in lines that fill whole tiles. x: in tiles of 16 rows, one
    after the other (`packing.place`); rows beyond y's are ignored. So 16 cache lines that are
    loaded together are neighbours. A y of uint32 has the layout of x.
    """
    count = y.shape[0]
    if not count:
        return
    sums = aligned_words(_WAITING * OUTPUTS)
    floor = np.float32(0.0) if relu else np.float32(-np.inf)
    finish = row_steps, zeros, floor, y
    set_up(SHAPES)
    if count <= LANES:
        _multiply_few(x, weight, count, sums, finish)
    else:
        together = max(_TOGETHER // x.shape[1] // _WAITING, 1) * _WAITING
        for row in range(0, count, together):
            _multiply_many(x, weight, row, min(row + together, count), sums, finish)
    release()


@compiled
def _multiply_few(
    x: Words, weight: Words, count: int, sums: NDArray[np.uint32], finish: Finish
) -> None:
    """Multiply the rows of one tile: two blocks at a time, so that four sums take turns."""
    blocks, lines, width = weight.shape[0], weight.shape[1], x.shape[1]
    first = lines - width
    for block in range(0, blocks - 1, 2):
        _multiply_wide(x, 0, width, weight, block * lines + first, lines, width, sums, 0)
        for b in range(2):
            _finish(sums, 2 * b * TILE, 0, count, weight, block + b, finish)
    if blocks % 2:
        place = (blocks - 1) * lines + first
        _multiply_narrow(x, 0, width, weight, place, lines, width, sums, 0)
        _finish(sums, 0, 0, count, weight, blocks - 1, finish)


@compiled
def _multiply_many(
    x: Words, weight: Words, begin: int, end: int, sums: NDArray[np.uint32], finish: Finish
) -> None:
    """Multiply rows begin to end - 1, two tiles at a time, with some blocks, then with the next."""
    blocks, lines, width = weight.shape[0], weight.shape[1], x.shape[1]
    side_by_side = max(_SIDE_BY_SIDE // (lines * OUTPUTS), 1)
    waiting = _ROWS if width <= _DEPTH else _WAITING
    for some in range(0, blocks, side_by_side):
        for first in range(begin, end, waiting):
            last = min(first + waiting, end)
            for block in range(some, min(some + side_by_side, blocks)):
                for word in range(0, width, _DEPTH):
                    deep, place = min(width - word, _DEPTH), (block + 1) * lines - width + word
                    for row in range(first, last, _ROWS):
                        rows, at = min(last - row, _ROWS), (row - first) * OUTPUTS
                        upper = row * width + word * LANES
                        factors = x, upper, width, weight, place, lines, deep, sums, at
                        if rows > LANES:
                            if word:
                                _multiply_square_more(*factors)
                            else:
                                _multiply_square(*factors)
                        elif word:
                            _multiply_narrow_more(*factors)
                        else:
                            _multiply_narrow(*factors)
                        if word + deep == width:
                            _finish(sums, at, row, rows, weight, block, finish)


@compiled
def _finish(
    sums: NDArray[np.uint32],
    at: int,
    row: int,
    rows: int,
    weight: Words,
    block: int,
    finish: Finish,
) -> None:
    """Write a block's outputs of these rows to y."""
    row_steps, zeros, floor, y = finish
    size, width, first = weight.shape[1] * OUTPUTS, y.shape[1], block * OUTPUTS
    inputs = sums, at, rows, weight, block * size, row_steps, zeros, row, floor
    if numbers_of_a_word(y) == 2:  # so that a block's outputs are one line of a tile
        _put_lines(*inputs, y, row * width + block * TILE, DEEP, width * LANES)
    elif first + OUTPUTS <= width:
        _put_lines(*inputs, y, row * width + first, width, width * LANES)
    else:
        last = np.empty((_ROWS, OUTPUTS), np.float32)
        _put_lines(*inputs, last, 0, OUTPUTS, OUTPUTS * LANES)
        for i in range(rows):
            for o in range(first, width):
                y[row + i, o] = last[i, o - first]


@generated(types.void)
def _put_lines(
    code: Code,
    memory: FlatArray,
    at: Value,
    rows: Value,
    weight: FlatArray,
    begin: Value,
    row_steps: FlatArray,
    zeros: FlatArray,
    row: Value,
    floor: Value,
    y: FlatArray,
    place: Value,
    near: Value,
    far: Value,
) -> None:
    """Turn rows' sums into outputs: those of bytes are scaled, and all get their bias.

    near, far: words of y from one row to the next, and from one tile's rows to the next one's.
    """
    bytes_ = weight.kind.dtype == types.int32
    floors = code.broadcast(floor)

    def line_of(number: int, kind: ir.Type) -> list[Value]:
        return [weight.read(begin + (number * OUTPUTS + v * LANES), kind) for v in range(2)]

    kinds = [INTS, FLOATS, FLOATS] if bytes_ else [FLOATS]
    first_lines = [line_of(number, kind) for number, kind in enumerate(kinds)]

    def biased(sums: list[Value]) -> list[Value]:
        (biases,) = first_lines
        return [bias + total for bias, total in zip(biases, sums, strict=True)]

    def scaled(i: Value, sums: list[Value]) -> list[Value]:
        zero = code.broadcast(zeros.scalar(row + i))
        row_step = code.broadcast(row_steps.scalar(row + i))
        weight_sums, steps, biases = first_lines
        whole = [total - zero * v for v, total in zip(weight_sums, sums, strict=True)]
        floats = [total.to_floats(FLOATS) for total in whole]
        scales = zip(floats, steps, biases, strict=True)
        return [code.dequantized(total, row_step, step, bias) for total, step, bias in scales]

    def put(i: Value) -> None:
        tile, line = i >> 4, i & (LANES - 1)
        tile_begin = tile * (2 * TILE)
        sums_begin = at + (tile_begin + line * LANES)
        sums = [memory.read(sums_begin + v * TILE, kinds[0]) for v in range(2)]
        target = place + (tile * far + line * near)
        for v, total in enumerate(scaled(i, sums) if bytes_ else biased(sums)):
            vector = code.larger(floors, total)
            if y.kind.dtype == types.uint32:
                y.store(target + v * LANES // 2, code.to_bfloat16(vector))
            else:
                y.store(target + v * LANES, vector)

    code.repeat(rows, 1, put)


def _product_of(rows: int, blocks: int, *, more: bool = False) -> Any:
    """Return a kernel that multiplies this many tiles of rows and blocks of two tiles each.

    more: the sums continue those in memory.
    """
    sums, left = range(2 * rows * blocks), range(4, 4 + rows)
    right = range(4 + rows, 8)  # these take turns
    few = blocks > 1  # a few rows stay in the L1 cache; many leave it to the weights

    def write(
        code: Code,
        x: FlatArray,
        upper: Value,
        width: Value,
        weight: FlatArray,
        place: Value,
        lines: Value,
        deep: Value,
        memory: FlatArray,
        at: Value,
    ) -> None:
        name = amx.FOURS if weight.kind.dtype == types.int32 else amx.PAIRS
        row_stride, block_stride = width * LANES, lines * LANES
        first = place * OUTPUTS
        step_words = code.constant(DEEP, WORD)
        for tile in sums:
            if more:
                amx.load(code, tile, memory, at + tile * TILE, step_words)
            else:
                amx.clear(code, tile)

        def multiply(step: Value) -> None:
            word = step * DEEP
            for i, tile in enumerate(left):
                tile_begin = upper + row_stride * i + word * LANES
                amx.load(code, tile, x, tile_begin, step_words, again=few)
            line = first + word * OUTPUTS
            for j in range(2 * blocks):
                tile_begin = line + block_stride * (j // 2 * 2) + j % 2 * LANES
                column = right[j % len(right)]
                stride = code.constant(OUTPUTS, WORD)
                amx.load(code, column, weight, tile_begin, stride, again=not few)
                for i, tile in enumerate(left):
                    amx.add_products(code, name, sums[2 * blocks * i + j], tile, column)

        code.repeat(deep // DEEP, 1, multiply)
        for tile in sums:
            amx.store(code, tile, memory, at + tile * TILE)

    return generated(types.void)(write)


_multiply_square, _multiply_narrow = _product_of(2, 1), _product_of(1, 1)
_multiply_square_more, _multiply_narrow_more = (
    _product_of(2, 1, more=True),
    _product_of(1, 1, more=True),
)
_multiply_wide = _product_of(1, 2)
