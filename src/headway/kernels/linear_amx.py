"""Products of rows with blocks of weights, as in `linear_blocks`, on a processor with tiles.

Sixteen rows fill a tile of the one side, and sixteen words of sixteen outputs one of the other. A
sum takes its products in the same order however many rows there are, and wherever its row is.
"""

import numpy as np
from numba import types

from headway.kernels import LANES
from headway.kernels.codegen import amx
from headway.kernels.codegen.amx import DEEP, SHAPES, TILE, give_back, room, set_up
from headway.kernels.codegen.numba_compiler import compiled
from headway.kernels.codegen.vectors import FLOATS, INTS, WORD, for_loops, numbers_of_a_word

OUTPUTS = 2 * LANES
"""Outputs of a block."""
_ROWS = 2 * LANES  # that are multiplied with a block at a time, at most
# Words of a deep block that some rows are multiplied with before the next words are, so that these
# stay in the first cache; and rows whose sums wait meanwhile.
_DEPTH, _WAITING = 2**8, 4 * _ROWS
_BESIDE = 2**16  # words of blocks that rows are multiplied with in turn: more of a row of y at once
_TOGETHER = 2**18  # words of rows that are multiplied with all blocks before the next ones are


@compiled
def multiply_blocks(x, weight, row_steps, zeros, relu, y):
    """Compute y = x weight + bias, as `blocks.multiply_blocks` does for pairs and fours.

    weight: `in_blocks` of OUTPUTS, in lines that fill up whole tiles. x: a word a line, in tiles of
    16 rows, one after the other (`words.place`), of which rows beyond y's count for nothing; so 16
    lines of the cache that are loaded together lie side by side. A y of uint32 lies as x does.
    """
    count = y.shape[0]
    if not count:
        return
    found = room(_WAITING * OUTPUTS)
    floor = np.float32(0.0) if relu else np.float32(-np.inf)
    given = row_steps, zeros, floor, y
    set_up(SHAPES)
    if count <= LANES:
        _multiply_few(x, weight, count, found, given)
    else:
        together = max(_TOGETHER // x.shape[1] // _WAITING, 1) * _WAITING
        for row in range(0, count, together):
            _multiply_many(x, weight, row, min(row + together, count), found, given)
    give_back()


@compiled
def _multiply_few(x, weight, count, found, given):
    """Multiply the rows of one tile: two blocks at a time, so that four sums take turns."""
    blocks, lines, width = weight.shape[0], weight.shape[1], x.shape[1]
    first = lines - width
    for block in range(0, blocks - 1, 2):
        _multiply_wide(x, 0, width, weight, block * lines + first, lines, width, found, 0)
        for b in range(2):
            _finish(found, 2 * b * TILE, 0, count, weight, block + b, given)
    if blocks % 2:
        place = (blocks - 1) * lines + first
        _multiply_narrow(x, 0, width, weight, place, lines, width, found, 0)
        _finish(found, 0, 0, count, weight, blocks - 1, given)


@compiled
def _multiply_many(x, weight, begin, end, found, given):
    """Multiply these rows, two tiles of them at a time, with some blocks, then with the next."""
    blocks, lines, width = weight.shape[0], weight.shape[1], x.shape[1]
    beside = max(_BESIDE // (lines * OUTPUTS), 1)
    waiting = _ROWS if width <= _DEPTH else _WAITING
    for some in range(0, blocks, beside):
        for first in range(begin, end, waiting):
            last = min(first + waiting, end)
            for block in range(some, min(some + beside, blocks)):
                for word in range(0, width, _DEPTH):
                    deep, place = min(width - word, _DEPTH), (block + 1) * lines - width + word
                    for row in range(first, last, _ROWS):
                        rows, at = min(last - row, _ROWS), (row - first) * OUTPUTS
                        upper = row * width + word * LANES
                        factors = x, upper, width, weight, place, lines, deep, found, at
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
                            _finish(found, at, row, rows, weight, block, given)


@compiled
def _finish(found, at, row, rows, weight, block, given):
    """Write so many rows of a block's outputs to y."""
    row_steps, zeros, floor, y = given
    size, width, first = weight.shape[1] * OUTPUTS, y.shape[1], block * OUTPUTS
    sums = found, at, rows, weight, block * size, row_steps, zeros, row, floor
    if numbers_of_a_word(y) == 2:  # so that a block's outputs are one line of a tile
        _put_lines(*sums, y, row * width + block * TILE, DEEP, width * LANES)
    elif first + OUTPUTS <= width:
        _put_lines(*sums, y, row * width + first, width, width * LANES)
    else:
        last = np.empty((_ROWS, OUTPUTS), np.float32)
        _put_lines(*sums, last, 0, OUTPUTS, OUTPUTS * LANES)
        for i in range(rows):
            for o in range(first, width):
                y[row + i, o] = last[i, o - first]


@for_loops(types.void)
def _put_lines(
    code, found, at, rows, weight, begin, row_steps, zeros, row, floor, y, place, near, far
):
    """Make outputs of rows' sums: bytes' are scaled, both have their bias.

    near, far: words of y from one row to the next, and from one tile's rows to the next one's.
    """
    builder, bytes_ = code.builder, weight.kind.dtype == types.int32
    floors = code.everywhere(floor)

    def beginnings(number, kind):
        places = (WORD(number * OUTPUTS + v * LANES) for v in range(2))
        return [weight.raw(builder.add(begin, place), kind) for place in places]

    kinds = [INTS, FLOATS, FLOATS] if bytes_ else [FLOATS]
    begins = [beginnings(number, kind) for number, kind in enumerate(kinds)]

    def biased(i, sums):
        return [code.add(bias, total) for bias, total in zip(*begins, sums, strict=True)]

    def scaled(i, sums):
        zero = code.everywhere(zeros.one(builder.add(row, i)))
        row_step = code.everywhere(row_steps.one(builder.add(row, i)))
        whole = [
            builder.sub(total, builder.mul(zero, v))
            for v, total in zip(begins[0], sums, strict=True)
        ]
        floats = [builder.sitofp(total, FLOATS) for total in whole]
        rest = zip(floats, *begins[1:], strict=True)
        return [code.scaled(total, row_step, step, bias) for total, step, bias in rest]

    def each(i, _):
        tile, line = builder.lshr(i, WORD(4)), builder.and_(i, WORD(LANES - 1))
        own = builder.mul(tile, WORD(2 * TILE))
        own = builder.add(at, builder.add(own, builder.mul(line, WORD(LANES))))
        sums = [found.raw(builder.add(own, WORD(v * TILE)), kinds[0]) for v in range(2)]
        here = builder.add(builder.mul(tile, far), builder.mul(line, near))
        here = builder.add(place, here)
        for v, total in enumerate(scaled(i, sums) if bytes_ else biased(i, sums)):
            vector = code.larger(floors, total)
            if y.kind.dtype == types.uint32:
                y.store(builder.add(here, WORD(v * LANES // 2)), code.rounded(vector))
            else:
                y.store(builder.add(here, WORD(v * LANES)), vector)
        return []

    code.fold_all(rows, 1, [], each)


def _product_of(rows, blocks, *, more=False):
    """Return what multiplies so many tiles of rows with so many blocks, of two tiles each.

    more: whether sums go on from those that were found.
    """
    sums, left = range(2 * rows * blocks), range(4, 4 + rows)
    right = range(4 + rows, 8)  # which take turns
    few = blocks > 1  # rows, which stay in the first cache; of many, they leave it to the weights

    def write(code, x, upper, width, weight, place, lines, deep, found, at):
        builder, bytes_ = code.builder, weight.kind.dtype == types.int32
        name = amx.FOURS if bytes_ else amx.PAIRS
        below, beside = (builder.mul(words, WORD(LANES)) for words in (width, lines))
        first = builder.mul(place, WORD(OUTPUTS))
        for tile in sums:
            if more:
                amx.load(code, tile, found, builder.add(at, WORD(tile * TILE)), WORD(DEEP))
            else:
                amx.clear(code, tile)

        def each(step, _):
            word = builder.mul(step, WORD(DEEP))
            for i, tile in enumerate(left):
                there = builder.add(upper, builder.mul(below, WORD(i)))
                there = builder.add(there, builder.mul(word, WORD(LANES)))
                amx.load(code, tile, x, there, WORD(DEEP), again=few)
            line = builder.add(first, builder.mul(word, WORD(OUTPUTS)))
            for j in range(2 * blocks):
                there = builder.add(line, builder.mul(beside, WORD(j // 2 * 2)))
                there = builder.add(there, WORD(j % 2 * LANES))
                other = right[j % len(right)]
                amx.load(code, other, weight, there, WORD(OUTPUTS), again=not few)
                for i, tile in enumerate(left):
                    amx.add_products(code, name, sums[2 * blocks * i + j], tile, other)
            return []

        code.fold_all(builder.sdiv(deep, WORD(DEEP)), 1, [], each)
        for tile in sums:
            amx.store(code, tile, found, builder.add(at, WORD(tile * TILE)))

    return for_loops(types.void)(write)


_multiply_square, _multiply_narrow = _product_of(2, 1), _product_of(1, 1)
_multiply_square_more, _multiply_narrow_more = (
    _product_of(2, 1, more=True),
    _product_of(1, 1, more=True),
)
_multiply_wide = _product_of(1, 2)
