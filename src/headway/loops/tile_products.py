"""Products of rows with blocks of weights, as in `blocks`, where the processor multiplies tiles.

Sixteen rows fill a tile of the one side, and sixteen words of sixteen outputs one of the other. A
sum takes its products in the same order however many rows there are, and wherever its row is.
"""

import numpy as np
from numba import types

from headway.loops import LANES, tiles
from headway.loops.compiling import compiled
from headway.loops.tiles import DEEP, SHAPES, TILE, give_back, room, set_up
from headway.loops.vectors import FLOATS, INTS, WORD, for_loops

OUTPUTS = 2 * LANES
"""Outputs of a block."""
_ROWS = 2 * LANES  # that are multiplied with a block at a time, at most
_TOGETHER = 2**18  # words of rows that are multiplied with all blocks before the next ones are


@compiled
def multiply_blocks(x, weight, row_steps, zeros, relu, y):
    """Compute y = x weight + bias, as `blocks.multiply_blocks` does for pairs and fours.

    weight: `in_blocks` of OUTPUTS, in lines that fill up whole tiles. x: at least as many words as
    lines; so many rows that they fill up whole tiles, of which those beyond y's count for nothing.
    """
    count = y.shape[0]
    found = room(4 * TILE)
    floor = np.float32(0.0) if relu else np.float32(-np.inf)
    given = row_steps, zeros, floor, y
    set_up(SHAPES)
    if count <= LANES:
        _multiply_few(x, weight, count, found, given)
    else:
        together = max(_TOGETHER // x.shape[1] // _ROWS, 1) * _ROWS
        for row in range(0, count, together):
            _multiply_many(x, weight, row, min(row + together, count), found, given)
    give_back()


@compiled
def _multiply_few(x, weight, count, found, given):
    """Multiply the rows of one tile: two blocks at a time, so that four sums take turns."""
    blocks, lines = weight.shape[0], weight.shape[1]
    size = lines * OUTPUTS
    for block in range(0, blocks - 1, 2):
        _multiply_wide(x, 0, x.shape[1], weight, block * size, lines, found)
        for b in range(2):
            _finish(found, 2 * b * TILE, 0, count, weight, block + b, given)
    if blocks % 2:
        _multiply_narrow(x, 0, x.shape[1], weight, (blocks - 1) * size, lines, found)
        _finish(found, 0, 0, count, weight, blocks - 1, given)


@compiled
def _multiply_many(x, weight, first, last, found, given):
    """Multiply these rows, two tiles of them at a time, with one block after the other."""
    lines = weight.shape[1]
    for block in range(weight.shape[0]):
        for row in range(first, last, _ROWS):
            factors = x, row, x.shape[1], weight, block * lines * OUTPUTS, lines, found
            if last - row > LANES:
                _multiply_square(*factors)
            else:
                _multiply_narrow(*factors)
            _finish(found, 0, row, min(last - row, _ROWS), weight, block, given)


@compiled
def _finish(found, at, row, rows, weight, block, given):
    """Write so many rows of a block's outputs to y."""
    row_steps, zeros, floor, y = given
    size, outputs, first = weight.shape[1] * OUTPUTS, y.shape[1], block * OUTPUTS
    sums = found, at, rows, weight, block * size, row_steps, zeros, row, floor
    if first + OUTPUTS <= outputs:
        _put_lines(*sums, y, row * outputs + first, outputs)
        return
    last = np.empty((_ROWS, OUTPUTS), np.float32)
    _put_lines(*sums, last, 0, OUTPUTS)
    for i in range(rows):
        for o in range(first, outputs):
            y[row + i, o] = last[i, o - first]


@for_loops(types.void)
def _put_lines(
    code, found, at, rows, weight, begin, row_steps, zeros, row, floor, y, place, stride
):
    """Make outputs of rows' sums: bytes' are scaled, both have their bias."""
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
        line = builder.mul(builder.lshr(i, WORD(4)), WORD(2 * TILE))
        own = builder.mul(builder.and_(i, WORD(LANES - 1)), WORD(LANES))
        line = builder.add(at, builder.add(line, own))
        sums = [found.raw(builder.add(line, WORD(v * TILE)), kinds[0]) for v in range(2)]
        for v, total in enumerate(scaled(i, sums) if bytes_ else biased(i, sums)):
            here = builder.add(place, builder.add(builder.mul(i, stride), WORD(v * LANES)))
            y.store(here, code.larger(floors, total))
        return []

    code.fold_all(rows, 1, [], each)


def _product_of(rows, blocks):
    """Return what multiplies so many tiles of rows with so many blocks, of two tiles each."""
    sums, left = range(2 * rows * blocks), range(4, 4 + rows)
    right = range(4 + rows, 8)  # which take turns

    def write(code, x, row, stride, weight, begin, lines, found):
        builder, bytes_ = code.builder, weight.kind.dtype == types.int32
        beginnings, name = (3, tiles.FOURS) if bytes_ else (1, tiles.PAIRS)
        width = builder.sub(lines, WORD(beginnings))
        upper = builder.mul(row, stride)
        first = builder.add(begin, WORD(beginnings * OUTPUTS))
        for tile in sums:
            tiles.clear(code, tile)

        def each(step, _):
            word = builder.mul(step, WORD(DEEP))
            line = builder.add(first, builder.mul(word, WORD(OUTPUTS)))
            for i, tile in enumerate(left):
                place = builder.add(upper, builder.mul(stride, WORD(i * LANES)))
                tiles.load(code, tile, x, builder.add(place, word), stride)
            for j in range(2 * blocks):
                block = builder.mul(lines, WORD(j // 2 * OUTPUTS))
                place = builder.add(builder.add(line, block), WORD(j % 2 * LANES))
                other = right[j % len(right)]
                tiles.load(code, other, weight, place, WORD(OUTPUTS))
                for i, tile in enumerate(left):
                    tiles.add_products(code, name, sums[2 * blocks * i + j], tile, other)
            return []

        steps = builder.sdiv(width, WORD(DEEP))
        code.fold_all(steps, 1, [], each)
        for tile in sums:
            tiles.store(code, tile, found, WORD(tile * TILE))

    return for_loops(types.void)(write)


_multiply_square, _multiply_narrow = _product_of(2, 1), _product_of(1, 1)
_multiply_wide = _product_of(1, 2)
