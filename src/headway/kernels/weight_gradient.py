"""The gradient of a weight in bfloat16: every column of one matrix times every column of another.

y = G^T X is a sum of outer products of rows. Interleaved pairs of rows are the operand words of the
processor's sums of bfloat16 on both sides, so nothing has to be transposed. X is in blocks of
columns that stay in the L1 cache, G in narrower panels that stream past them. Sums are in float32,
in an order that does not depend on the threads. A lot is COLUMNS columns of either matrix.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numpy.typing import NDArray

from headway.kernels import COLUMNS, LANES
from headway.kernels.arrays import Floats
from headway.kernels.codegen.numba_compiler import compiled
from headway.kernels.codegen.parallel import in_parts
from headway.kernels.codegen.vectors import (
    FLOATS,
    INTS,
    SHORT,
    Code,
    FlatArray,
    Value,
    generated,
)
from headway.kernels.linear_blocks import SUM_OF_PAIRS

_PANEL = LANES // 2  # columns of G that are multiplied with a block at a time
_PANELS = COLUMNS // _PANEL  # of a lot of columns
_LOTS = 32  # lots of G's columns at a time: 1 MB of panels
AT_ONCE = 256  # pairs of rows that are multiplied before the next are: a block is 32 KB
# Words of a block and of a strip, padded so that each begins in another set of the cache than the
# one before; otherwise all would share a few sets.
BLOCK, _STRIP = AT_ONCE * COLUMNS + LANES, AT_ONCE * _PANEL + LANES
_ROW = ir.VectorType(SHORT, COLUMNS)
TWO_ONES = 0x3F803F80
"""A word of two ones in bfloat16."""


@compiled
def multiply_columns(
    g: NDArray[np.uint16],
    x: NDArray[np.uint16],
    add: bool,
    y: Floats,
    sums: Floats,
    by_x: bool,
    count: int,
    parts: int,
    region: int,
) -> bool:
    """Compute y = G^T X, or add it to y, and the sums of G's columns.

    g: (R, out), uint16. x: (R, in), uint16, `in` a multiple of COLUMNS. y: (out, in), float32.
    sums: (out rounded up to a multiple of COLUMNS,), float32. The parts (`in_parts`) are of `count`
    lots of columns: all of G's or, if by_x, all of X's.
    """
    return in_parts(_multiply_part, (g, x, add, y, sums, by_x), count, parts, region)


@compiled
def _multiply_part(
    g: NDArray[np.uint16],
    x: NDArray[np.uint16],
    add: bool,
    y: Floats,
    sums: Floats,
    by_x: bool,
    first: int,
    last: int,
) -> None:
    """Multiply lots first to last - 1; the part with X's first lot writes the sums."""
    all_lots = -(-g.shape[1] // COLUMNS)
    begin, end = (0, all_lots) if by_x else (first, last)
    left, right = (first, last) if by_x else (0, x.shape[1] // COLUMNS)
    for lot in range(begin, end, _LOTS):
        _multiply_lots(g, x, add, y, sums, lot, min(lot + _LOTS, end), left, right)


@compiled
def _multiply_lots(
    g: NDArray[np.uint16],
    x: NDArray[np.uint16],
    add: bool,
    y: Floats,
    sums: Floats,
    begin: int,
    end: int,
    left: int,
    right: int,
) -> None:
    """Multiply lots of G's columns, begin to end - 1, with lots of X's, left to right - 1."""
    blocks = np.empty((right - left) * BLOCK, np.uint32)
    panels = np.empty((end - begin) * _PANELS * _STRIP, np.uint32)
    totals = np.zeros((end - begin) * COLUMNS, np.float32)
    # The panels whose columns are all outputs; one more panel may have some.
    full = min((end - begin) * _PANELS, y.shape[0] // _PANEL - begin * _PANELS)
    pairs = (g.shape[0] + 1) // 2
    for pair in range(0, pairs, AT_ONCE):
        count = min(pairs - pair, AT_ONCE)
        put_in_blocks(x, pair, count, blocks, left, right)
        _put_in_panels(g, pair, count, panels, totals, begin, end)
        overwrite = pair == 0 and not add
        for block in range(right - left):
            column = (left + block) * COLUMNS
            for panel in range(full):
                inputs = panels, panel * _STRIP, blocks, block * BLOCK, count
                place = (begin * COLUMNS + panel * _PANEL) * y.shape[1] + column
                if overwrite:
                    _multiply(*inputs, y, place, y.shape[1])
                else:
                    _multiply_and_add(*inputs, y, place, y.shape[1])
            if begin * COLUMNS + full * _PANEL < min(end * COLUMNS, y.shape[0]):
                inputs = panels, full * _STRIP, blocks, block * BLOCK, count
                _multiply_rest(*inputs, y, begin * COLUMNS + full * _PANEL, column, overwrite)
    if left == 0:
        sums[begin * COLUMNS : end * COLUMNS] = totals


@compiled
def _multiply_rest(
    panels: NDArray[np.uint32],
    panel: int,
    blocks: NDArray[np.uint32],
    block: int,
    count: int,
    y: Floats,
    row: int,
    column: int,
    overwrite: bool,
) -> None:
    """Compute the last rows of y, from this one on, fewer than a panel has columns."""
    products = np.empty((_PANEL, COLUMNS), np.float32)
    _multiply(panels, panel, blocks, block, count, products, 0, COLUMNS)
    for i in range(y.shape[0] - row):
        for c in range(COLUMNS):
            before = np.float32(0.0) if overwrite else y[row + i, column + c]
            y[row + i, column + c] = before + products[i, c]


@compiled
def put_in_blocks(
    x: NDArray[np.uint16], pair: int, count: int, blocks: NDArray[np.uint32], first: int, last: int
) -> None:
    """Interleave `count` pairs of rows, from this pair on; zeros pair with a last single row."""
    rows, width = x.shape
    zeros = np.zeros(COLUMNS, np.uint16)
    for p in range(count):
        upper = 2 * (pair + p) * width
        paired = 2 * (pair + p) + 1 < rows
        for block in range(first, last):
            at, column = (block - first) * BLOCK + p * COLUMNS, upper + block * COLUMNS
            if paired:
                _interleave(x, column, x, column + width, blocks, at)
            else:
                _interleave(x, column, zeros, 0, blocks, at)


@compiled
def _put_in_panels(
    g: NDArray[np.uint16],
    pair: int,
    count: int,
    panels: NDArray[np.uint32],
    totals: Floats,
    first: int,
    last: int,
) -> None:
    """Interleave `count` pairs of rows, padded with zeros, and add them to the totals."""
    rows, width = g.shape
    two_rows = np.empty((2, COLUMNS), np.uint16)
    for p in range(count):
        upper = 2 * (pair + p) * width
        whole = min(last, width // COLUMNS) if 2 * (pair + p) + 1 < rows else first
        for lot in range(first, whole):
            column, place = upper + lot * COLUMNS, lot - first
            at = place * _PANELS * _STRIP + p * _PANEL
            _interleave_in_panels(g, column, column + width, panels, at, totals, place * COLUMNS)
        for lot in range(whole, last):
            two_rows[:], column, place = 0, lot * COLUMNS, lot - first
            for row in range(2 * (pair + p), min(2 * (pair + p) + 2, rows)):
                for c in range(column, min(column + COLUMNS, width)):
                    two_rows[row % 2, c - column] = g[row, c]
            at = place * _PANELS * _STRIP + p * _PANEL
            _interleave_in_panels(two_rows, 0, COLUMNS, panels, at, totals, place * COLUMNS)


def _interleaved(code: Code, a: Value, b: Value) -> Iterator[Value]:
    """Yield two vectors of words: word i has number i of a and number i of b."""
    for half in range(2):
        order = [LANES * half + i // 2 + COLUMNS * (i % 2) for i in range(COLUMNS)]
        yield code.shuffle(a, b, order).bitcast(INTS)


@generated(types.void)
def _interleave(
    code: Code,
    upper: FlatArray,
    first: Value,
    lower: FlatArray,
    second: Value,
    blocks: FlatArray,
    at: Value,
) -> None:
    """Put COLUMNS numbers of two rows into a line of a block."""
    rows = upper.read(first, _ROW), lower.read(second, _ROW)
    for half, words in enumerate(_interleaved(code, *rows)):
        blocks.store(at + LANES * half, words)


@generated(types.void)
def _interleave_in_panels(
    code: Code,
    g: FlatArray,
    first: Value,
    second: Value,
    panels: FlatArray,
    at: Value,
    totals: FlatArray,
    column: Value,
) -> None:
    """Put COLUMNS numbers of two rows into lines of the panels they fill."""
    units = code.constant(TWO_ONES, INTS)
    rows = g.read(first, _ROW), g.read(second, _ROW)
    for half, words in enumerate(_interleaved(code, *rows)):
        place = column + LANES * half
        totals.store(place, add_products(code, totals.load(place), words, units))
        for begin in range(0, LANES, _PANEL):
            panels.store(at, code.part(words, _PANEL, begin))
            at = at + _STRIP


def add_products(code: Code, total: Value, words: Value, others: Value) -> Value:
    """Return the totals plus the products of the two bfloat16 numbers in each word."""
    return code.call(SUM_OF_PAIRS, FLOATS, total, words, others)


def _write_product(*, add: bool) -> Any:
    """Return a kernel that multiplies a panel with a block; add: to y."""

    def write(
        code: Code,
        panels: FlatArray,
        panel: Value,
        blocks: FlatArray,
        block: Value,
        count: Value,
        y: FlatArray,
        place: Value,
        width: Value,
    ) -> None:
        lines = [place + width * i for i in range(_PANEL)]
        targets = [line + LANES * v for line in lines for v in range(2)]

        def multiply(pair: Value, totals: list[Value]) -> list[Value]:
            at = block + pair * COLUMNS
            columns = [blocks.read(at + LANES * v, INTS) for v in range(2)]
            line = panel + pair * _PANEL
            sums: list[Value] = []
            for i in range(_PANEL):
                word = code.broadcast(panels.scalar(line + i))
                for v, vector in enumerate(columns):
                    sums.append(add_products(code, totals[2 * i + v], word, vector))
            return sums

        begins = [y.load(at) if add else code.constant(0.0) for at in targets]
        for at, total in zip(targets, code.fold_all(count, 1, begins, multiply), strict=True):
            y.store(at, total)

    return generated(types.void)(write)


_multiply, _multiply_and_add = _write_product(add=False), _write_product(add=True)
