"""The gradient of a weight as in `weight_gradient`, on a processor that multiplies tiles (AMX).

For tiles, X's interleaved pairs of rows already have the right layout in its blocks. In G's, 16
words of a column have to become a row. All threads put X in blocks. Then each thread takes columns
of G, as many at a time as stay in the L2 cache with their sums. The same test covers both modules.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numpy.typing import NDArray

from headway.kernels import COLUMNS, LANES
from headway.kernels.arrays import Floats
from headway.kernels.codegen import amx
from headway.kernels.codegen.amx import DEEP, SHAPES, TILE, aligned_words, release, set_up
from headway.kernels.codegen.numba_compiler import compiled
from headway.kernels.codegen.parallel import in_parts
from headway.kernels.codegen.vectors import (
    INTS,
    SHORT,
    WORD,
    Code,
    FlatArray,
    Value,
    generated,
)
from headway.kernels.weight_gradient import (
    AT_ONCE,
    BLOCK,
    TWO_ONES,
    add_products,
    put_in_blocks,
)

_LOTS = 8  # lots of G's columns at a time
_BLOCKS = 16  # blocks of X that they are multiplied with: 512 KB of sums
_SQUARE = 4 * TILE  # COLUMNS x COLUMNS sums
_PANEL = AT_ONCE * COLUMNS  # words of COLUMNS columns of G, AT_ONCE pairs of rows
_ROWS = 2 * DEEP  # rows of G in a tile
_ROW = ir.VectorType(SHORT, LANES)


@compiled
def multiply_columns(
    g: NDArray[np.uint16],
    x: NDArray[np.uint16],
    add: bool,
    y: Floats,
    sums: Floats,
    blocks: NDArray[np.uint32],
    count: int,
    parts: int,
    region: int,
) -> bool:
    """Compute y = G^T X, or add it to y, and the sums of G's columns.

    As in `weight_gradient`; blocks: `input_gradient.words_of_blocks` words for X. The parts are of
    `count` lots of G's columns.
    """
    lots = x.shape[1] // COLUMNS
    done = in_parts(_put, (x, blocks), lots, min(lots, parts), region)
    return in_parts(_multiply_part, (g, blocks, add, y, sums), count, parts, region) and done


@compiled
def _put(x: NDArray[np.uint16], blocks: NDArray[np.uint32], first: int, last: int) -> None:
    """Put lots first to last - 1 of X's columns into blocks; zeros pad the last step."""
    pairs, lots = (x.shape[0] + 1) // 2, x.shape[1] // COLUMNS
    for pair in range(0, pairs, AT_ONCE):
        count, begin = min(pairs - pair, AT_ONCE), (pair // AT_ONCE * lots + first) * BLOCK
        put_in_blocks(x, pair, count, blocks[begin:], first, last)
        for block in range(last - first):
            end = begin + block * BLOCK
            blocks[end + count * COLUMNS : end + -(-count // DEEP) * DEEP * COLUMNS] = 0


@compiled
def _multiply_part(
    g: NDArray[np.uint16],
    blocks: NDArray[np.uint32],
    add: bool,
    y: Floats,
    sums: Floats,
    first: int,
    last: int,
) -> None:
    """Multiply lots first to last - 1 of G's columns with all of X's blocks."""
    chunks, most = -(-g.shape[0] // (2 * AT_ONCE)), min(_LOTS, last - first)
    panels = aligned_words(chunks * most * _PANEL)
    memory = aligned_words(most * _BLOCKS * _SQUARE)
    squares, lots = memory.view(np.float32), y.shape[1] // COLUMNS
    set_up(SHAPES)
    for begin in range(first, last, _LOTS):
        end = min(begin + _LOTS, last)
        _put_in_panels(g, panels, sums, begin, end)
        for left in range(0, lots, _BLOCKS):
            right = min(left + _BLOCKS, lots)
            _multiply_panels(g.shape[0], panels, end - begin, blocks, lots, left, right, squares)
            _put_squares(squares, add, y, begin, end, left, right)
    release()


@compiled
def _multiply_panels(
    rows: int,
    panels: NDArray[np.uint32],
    count: int,
    blocks: NDArray[np.uint32],
    lots: int,
    left: int,
    right: int,
    squares: Floats,
) -> None:
    """Multiply `count` panels with blocks left to right - 1 of `lots`: a square for each pair.

    A block is loaded once for all panels, which leave the L1 cache to it.
    """
    pairs = (rows + 1) // 2
    for chunk in range(-(-pairs // AT_ONCE)):
        steps = -(-min(pairs - chunk * AT_ONCE, AT_ONCE) // DEEP)
        for block in range(left, right):
            b = (chunk * lots + block) * BLOCK
            for panel in range(count):
                a = (chunk * count + panel) * _PANEL
                at = ((block - left) * count + panel) * _SQUARE
                if chunk == 0:
                    _multiply_square(panels, a, blocks, b, steps, squares, at)
                else:
                    _multiply_and_add_square(panels, a, blocks, b, steps, squares, at)


def _square_of(*, add: bool) -> Any:
    """Return a kernel that multiplies a panel with a block; add: to the sums in memory."""

    def write(
        code: Code,
        panels: FlatArray,
        a: Value,
        blocks: FlatArray,
        b: Value,
        steps: Value,
        squares: FlatArray,
        at: Value,
    ) -> None:
        sums, left, right = (0, 1, 2, 3), (4, 5), (6, 7)
        lanes, columns = code.constant(LANES, WORD), code.constant(COLUMNS, WORD)
        for tile in sums:
            if add:
                amx.load(code, tile, squares, at + tile * TILE, lanes)
            else:
                amx.clear(code, tile)

        def multiply(step: Value) -> None:
            line = b + step * (DEEP * COLUMNS)
            for i, tile in enumerate(right):
                amx.load(code, tile, blocks, line + i * LANES, columns)
            row = a + step * (2 * TILE)
            for i, tile in enumerate(left):
                amx.load(code, tile, panels, row + i * TILE, lanes, again=False)
            for tile in sums:
                amx.add_products(code, amx.PAIRS, tile, left[tile // 2], right[tile % 2])

        code.repeat(steps, 1, multiply)
        for tile in sums:
            amx.store(code, tile, squares, at + tile * TILE)

    return generated(types.void)(write)


_multiply_square, _multiply_and_add_square = _square_of(add=False), _square_of(add=True)


@compiled
def _put_squares(
    squares: Floats, add: bool, y: Floats, begin: int, end: int, left: int, right: int
) -> None:
    """Put the squares of sums of these lots of G's columns and of X's into y, or add them."""
    for lot in range(begin, end):
        for i in range(min(COLUMNS, y.shape[0] - lot * COLUMNS)):
            row = (lot * COLUMNS + i) * y.shape[1]
            for block in range(left, right):
                square = ((block - left) * (end - begin) + lot - begin) * _SQUARE
                at = square + i // LANES * 2 * TILE + i % LANES * LANES
                if add:
                    _add_line(squares, at, y, row + block * COLUMNS)
                else:
                    _put_line(squares, at, y, row + block * COLUMNS)


def _line_of(*, add: bool) -> Any:
    """Return a kernel that puts a line of sums into y, or adds it."""

    def write(code: Code, squares: FlatArray, at: Value, y: FlatArray, place: Value) -> None:
        for i in range(2):
            target = place + i * LANES
            sums = squares.load(at + i * TILE)
            y.store(target, y.load(target) + sums if add else sums)

    return generated(types.void)(write)


_put_line, _add_line = _line_of(add=False), _line_of(add=True)


@compiled
def _put_in_panels(
    g: NDArray[np.uint16], panels: NDArray[np.uint32], sums: Floats, begin: int, end: int
) -> None:
    """Put all rows of lots begin to end - 1 into panels, padded with zeros."""
    rows, width = g.shape
    few = np.empty((_ROWS, COLUMNS), np.uint16)
    sums[begin * COLUMNS : end * COLUMNS] = np.float32(0.0)
    for row in range(0, rows, _ROWS):
        chunk, step = row // (2 * AT_ONCE), row % (2 * AT_ONCE) // _ROWS
        for lot in range(begin, end):
            at = (chunk * (end - begin) + lot - begin) * _PANEL + step * 2 * TILE
            column = lot * COLUMNS
            if row + _ROWS <= rows and column + COLUMNS <= width:
                _put_turned(g, row * width + column, width, panels, at, sums, column)
                continue
            few[:] = 0
            for i in range(min(_ROWS, rows - row)):
                for c in range(min(COLUMNS, width - column)):
                    few[i, c] = g[row + i, column + c]
            _put_turned(few, 0, COLUMNS, panels, at, sums, column)


@generated(types.void)
def _put_turned(
    code: Code,
    g: FlatArray,
    place: Value,
    width: Value,
    panels: FlatArray,
    at: Value,
    sums: FlatArray,
    column: Value,
) -> None:
    """Transpose 32 rows of COLUMNS numbers into two tiles, and add the rows to the sums."""
    units = code.constant(TWO_ONES, INTS)
    interleaved = [i // 2 + LANES * (i % 2) for i in range(COLUMNS)]
    lines = [place + width * i for i in range(_ROWS)]
    for side in range(2):
        target = column + LANES * side
        total = sums.load(target)
        rows: list[Value] = []
        for upper, lower in zip(lines[::2], lines[1::2], strict=True):
            a, b = (g.read(line + LANES * side, _ROW) for line in (upper, lower))
            rows.append(code.shuffle(a, b, interleaved).bitcast(INTS))
            total = add_products(code, total, rows[-1], units)
        sums.store(target, total)
        for i, row in enumerate(_turned(code, rows)):
            panels.store(at + (side * TILE + i * LANES), row)


def _turned(code: Code, rows: Sequence[Value]) -> Sequence[Value]:
    """Return the columns of a square of words; each step swaps half of the off-diagonal words."""
    for apart in (8, 4, 2, 1):
        before, rows = rows, list(rows)
        for i in range(LANES):
            if not i & apart:
                a, b = before[i], before[i + apart]
                upper = [j if not j & apart else LANES + j - apart for j in range(LANES)]
                lower = [j + apart if not j & apart else LANES + j for j in range(LANES)]
                rows[i], rows[i + apart] = code.shuffle(a, b, upper), code.shuffle(a, b, lower)
    return rows
