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


@compiled
def multiply_blocks(x, weight, row_steps, zeros, relu, y):
    """Compute y = x weight + bias, as `blocks.multiply_blocks` does for pairs and fours.

    weight: `in_blocks` of OUTPUTS, in lines that fill up whole tiles. x: as many words as lines; so
    many rows that they fill up whole tiles, of which those beyond y's count for nothing.
    """
    count, blocks = y.shape[0], weight.shape[0]
    size = weight.shape[1] * OUTPUTS
    found = room(4 * TILE)
    floor = np.float32(0.0) if relu else np.float32(-np.inf)
    set_up(SHAPES)
    if count <= LANES:  # two blocks at a time, so that four sums take turns
        for block in range(0, blocks - 1, 2):
            _multiply_wide(x, 0, weight, block * size, weight.shape[1], found)
            for b in range(2):
                at = 2 * b * TILE
                _finish(found, at, 0, count, weight, block + b, row_steps, zeros, floor, y)
        if blocks % 2:
            _multiply_narrow(x, 0, weight, (blocks - 1) * size, weight.shape[1], found)
            _finish(found, 0, 0, count, weight, blocks - 1, row_steps, zeros, floor, y)
    else:
        for block in range(blocks):
            for row in range(0, count, 2 * LANES):
                given = x, row, weight, block * size, weight.shape[1], found
                if count - row > LANES:
                    _multiply_square(*given)
                else:
                    _multiply_narrow(*given)
                rows = min(count - row, 2 * LANES)
                _finish(found, 0, row, rows, weight, block, row_steps, zeros, floor, y)
    give_back()


@compiled
def _finish(found, at, row, rows, weight, block, row_steps, zeros, floor, y):
    """Write so many rows of a block's outputs to y."""
    size, outputs, first = weight.shape[1] * OUTPUTS, y.shape[1], block * OUTPUTS
    last = np.empty(OUTPUTS, np.float32)
    for i in range(rows):
        line = at + i // LANES * 2 * TILE + i % LANES * LANES
        given = found, line, weight, block * size, row_steps, zeros, row + i, floor
        if first + OUTPUTS <= outputs:
            _put_line(*given, y, (row + i) * outputs + first)
        else:
            _put_line(*given, last, 0)
            for o in range(first, outputs):
                y[row + i, o] = last[o - first]


@for_loops(types.void)
def _put_line(code, found, at, weight, begin, row_steps, zeros, row, floor, y, place):
    """Make outputs of a row's sums: bytes' are scaled, both have their bias."""
    builder, bytes_ = code.builder, weight.kind.dtype == types.int32
    for v in range(2):
        sums = found.raw(builder.add(at, WORD(v * TILE)), INTS if bytes_ else FLOATS)

        def beginning(number, kind, v=v):
            return weight.raw(builder.add(begin, WORD(number * OUTPUTS + v * LANES)), kind)

        if bytes_:
            zero = code.everywhere(zeros.one(row))
            sums = builder.sub(sums, builder.mul(zero, beginning(0, INTS)))
            step, row_step = beginning(1, FLOATS), code.everywhere(row_steps.one(row))
            bias = beginning(2, FLOATS)
            total = code.scaled(builder.sitofp(sums, FLOATS), row_step, step, bias)
        else:
            total = code.add(beginning(0, FLOATS), sums)
        floors = code.everywhere(floor)
        y.store(builder.add(place, WORD(v * LANES)), code.larger(floors, total))


def _product_of(rows, blocks):
    """Return what multiplies so many tiles of rows with so many blocks, of two tiles each."""
    sums, left = range(2 * rows * blocks), range(4, 4 + rows)
    right = range(4 + rows, 8)  # which take turns

    def write(code, x, row, weight, begin, lines, found):
        builder, bytes_ = code.builder, weight.kind.dtype == types.int32
        beginnings, name = (3, tiles.FOURS) if bytes_ else (1, tiles.PAIRS)
        width = builder.sub(lines, WORD(beginnings))
        upper = builder.mul(row, width)
        first = builder.add(begin, WORD(beginnings * OUTPUTS))
        for tile in sums:
            tiles.clear(code, tile)

        def each(step, _):
            word = builder.mul(step, WORD(DEEP))
            line = builder.add(first, builder.mul(word, WORD(OUTPUTS)))
            for i, tile in enumerate(left):
                place = builder.add(upper, builder.mul(width, WORD(i * LANES)))
                tiles.load(code, tile, x, builder.add(place, word), width)
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
