"""Rows times a matrix, both in bfloat16: the gradient of a projection's input.

Two neighbours in a row of G are one operand word of the processor's sums of bfloat16; interleaved
pairs of rows of W are the other. All threads put W's columns into blocks, which stay in the L1
cache. Then each thread multiplies some of the rows. Sums are in float32.
"""

from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from headway.kernels import COLUMNS, LANES
from headway.kernels.arrays import Floats, Numbers
from headway.kernels.codegen.numba_compiler import compiled
from headway.kernels.codegen.parallel import in_parts
from headway.kernels.codegen.vectors import INTS, Code, FlatArray, Value, generated
from headway.kernels.weight_gradient import AT_ONCE, BLOCK, add_products, put_in_blocks

_ROWS = 8  # rows of G that are multiplied with a block at a time
_LOT = 128  # rows of G per load of a block


@compiled
def multiply_rows(
    g: NDArray[np.uint32],
    w: NDArray[np.uint16],
    y: Numbers,
    blocks: NDArray[np.uint32],
    count: int,
    parts: int,
    region: int,
) -> bool:
    """Compute y = G W.

    g: (R, K / 2), uint32. w: (K, in), uint16, K even and `in` a multiple of COLUMNS. y: (R, in),
    float32, or bfloat16 in uint16. blocks: `words_of_blocks` words. The parts (`in_parts`) are of
    `count` rows, which is R.
    """
    lots = w.shape[1] // COLUMNS
    done = in_parts(_put, (w, blocks), lots, min(lots, parts), region)
    return in_parts(_multiply_part, (g, blocks, y), count, parts, region) and done


def words_of_blocks(depth: int, width: int) -> int:
    """Return the number of words in the blocks of a matrix, (depth, width)."""
    return -(-depth // (2 * AT_ONCE)) * (width // COLUMNS) * BLOCK


@compiled
def _put(w: NDArray[np.uint16], blocks: NDArray[np.uint32], first: int, last: int) -> None:
    """Put lots first to last - 1 of the columns into blocks."""
    pairs, lots = w.shape[0] // 2, w.shape[1] // COLUMNS
    for pair in range(0, pairs, AT_ONCE):
        begin = (pair // AT_ONCE * lots + first) * BLOCK
        put_in_blocks(w, pair, min(pairs - pair, AT_ONCE), blocks[begin:], first, last)


@compiled
def _multiply_part(
    g: NDArray[np.uint32], blocks: NDArray[np.uint32], y: Numbers, first: int, last: int
) -> None:
    """Multiply rows first to last - 1, _LOT at a time, so that their sums stay in the cache."""
    sums = np.empty(_LOT * COLUMNS, np.float32)
    for begin in range(first, last, _LOT):
        for lot in range(y.shape[1] // COLUMNS):
            _multiply_lot(g, blocks, y, begin, min(begin + _LOT, last), lot, sums)


@compiled
def _multiply_lot(
    g: NDArray[np.uint32],
    blocks: NDArray[np.uint32],
    y: Numbers,
    begin: int,
    end: int,
    lot: int,
    sums: Floats,
) -> None:
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


@generated(types.void)
def _put_row(code: Code, sums: FlatArray, at: Value, y: FlatArray, place: Value) -> None:
    """Write COLUMNS sums to y."""
    for step in (0, LANES):
        target = place + step
        y.store_rounded(target, sums.load(at + step))


def _add_products_of(rows: int) -> Any:
    """Return a kernel that adds products of this many rows and a block to sums[at:]."""

    def write(
        code: Code,
        g: FlatArray,
        place: Value,
        stride: Value,
        blocks: FlatArray,
        block: Value,
        depth: Value,
        sums: FlatArray,
        at: Value,
    ) -> None:
        lines = [place + stride * i for i in range(rows)]
        targets = [at + LANES * v for v in range(2 * rows)]

        def add(pair: Value, totals: list[Value]) -> list[Value]:
            begin = block + pair * COLUMNS
            columns = [blocks.read(begin + LANES * v, INTS) for v in range(2)]
            words = [code.broadcast(g.scalar(line + pair)) for line in lines]
            pairs = [(word, column) for word in words for column in columns]
            return [
                add_products(code, total, word, column)
                for total, (word, column) in zip(totals, pairs, strict=True)
            ]

        begins = [sums.load(target) for target in targets]
        for target, total in zip(targets, code.fold_all(depth, 1, begins, add), strict=True):
            sums.store(target, total)

    return generated(types.void)(write)


_add_rows, _add_row = _add_products_of(_ROWS), _add_products_of(1)
