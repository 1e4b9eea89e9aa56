"""Rows times a matrix, both in bfloat16: the gradient of what a projection was given.

Two neighbours in a row of G are a word that the processor's sums of bfloat16 want; pairs of W's
rows, interleaved, are those for the other side. All threads put W's columns into blocks, which stay
in the first cache, and then each multiplies rows of its own. Sums are in float32.
"""

import numpy as np
from numba import types

from headway.kernels import COLUMNS, LANES
from headway.kernels.codegen.numba_compiler import compiled
from headway.kernels.codegen.parallel import in_parts
from headway.kernels.codegen.vectors import INTS, WORD, for_loops
from headway.kernels.weight_gradient import AT_ONCE, BLOCK, add_products, put_in_blocks

_ROWS = 8  # of G that are multiplied with a block at a time
_LOT = 128  # rows of G for which a block is fetched once


@compiled
def multiply_rows(g, w, y, blocks, count, parts, region):
    """Compute y = G W.

    g: (R, K / 2), uint32. w: (K, in), uint16, K even and `in` a multiple of COLUMNS. y: (R, in),
    float32, or bfloat16 in uint16. blocks: room for `words_of_blocks`. The parts (parts.py) are of
    `count` rows, all of them.
    """
    lots = w.shape[1] // COLUMNS
    there = in_parts(_put, (w, blocks), lots, min(lots, parts), region)
    return in_parts(_multiply_part, (g, blocks, y), count, parts, region) and there


def words_of_blocks(depth: int, width: int) -> int:
    """Return how many words the blocks of a matrix of this many rows and columns take."""
    return -(-depth // (2 * AT_ONCE)) * (width // COLUMNS) * BLOCK


@compiled
def _put(w, blocks, first, last):
    """Put these lots of columns into blocks."""
    pairs, lots = w.shape[0] // 2, w.shape[1] // COLUMNS
    for pair in range(0, pairs, AT_ONCE):
        begin = (pair // AT_ONCE * lots + first) * BLOCK
        put_in_blocks(w, pair, min(pairs - pair, AT_ONCE), blocks[begin:], first, last)


@compiled
def _multiply_part(g, blocks, y, first, last):
    """Multiply these rows, so many at a time that their sums stay in the first cache."""
    sums = np.empty(_LOT * COLUMNS, np.float32)
    for begin in range(first, last, _LOT):
        for lot in range(y.shape[1] // COLUMNS):
            _multiply_lot(g, blocks, y, begin, min(begin + _LOT, last), lot, sums)


@compiled
def _multiply_lot(g, blocks, y, begin, end, lot, sums):
    """Compute COLUMNS columns of these rows."""
    pairs, lots = g.shape[1], y.shape[1] // COLUMNS
    whole = begin + (end - begin) // _ROWS * _ROWS
    sums[:] = np.float32(0.0)
    for pair in range(0, pairs, AT_ONCE):
        depth, block = min(pairs - pair, AT_ONCE), (pair // AT_ONCE * lots + lot) * BLOCK
        for row in range(begin, whole, _ROWS):
            place, at = row * pairs + pair, (row - begin) * COLUMNS
            _add_rows(g, place, pairs, blocks, block, depth, sums, at)
        for row in range(whole, end):
            place, at = row * pairs + pair, (row - begin) * COLUMNS
            _add_row(g, place, pairs, blocks, block, depth, sums, at)
    for row in range(begin, end):
        _put_row(sums, (row - begin) * COLUMNS, y, row * y.shape[1] + lot * COLUMNS)


@for_loops(types.void)
def _put_row(code, sums, at, y, place):
    """Write COLUMNS sums to y."""
    for step in (WORD(0), WORD(LANES)):
        y.put(code.builder.add(place, step), sums.load(code.builder.add(at, step)))


def _add_products_of(rows):
    """Return what adds to sums, from number `at` on, the products of so many rows and a block."""

    def write(code, g, place, stride, blocks, block, depth, sums, at):
        builder = code.builder
        lines = [builder.add(place, builder.mul(stride, WORD(i))) for i in range(rows)]
        places = [builder.add(at, WORD(LANES * v)) for v in range(2 * rows)]

        def each(pair, totals):
            here = builder.add(block, builder.mul(pair, WORD(COLUMNS)))
            columns = [blocks.raw(builder.add(here, WORD(LANES * v)), INTS) for v in range(2)]
            words = [code.everywhere(g.one(builder.add(line, pair))) for line in lines]
            pairs = [(word, column) for word in words for column in columns]
            return [
                add_products(code, total, word, column)
                for total, (word, column) in zip(totals, pairs, strict=True)
            ]

        begins = [sums.load(place) for place in places]
        for place, total in zip(places, code.fold_all(depth, 1, begins, each), strict=True):
            sums.store(place, total)

    return for_loops(types.void)(write)


_add_rows, _add_row = _add_products_of(_ROWS), _add_products_of(1)
