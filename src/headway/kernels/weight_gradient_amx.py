"""The gradient of a weight as in `weight_gradient`, where the processor multiplies tiles (AMX).

For tiles X's pairs of rows, interleaved, are as they lie in its blocks; of G's, 16 words of a
column have to become a row. All threads put X in blocks; then each takes columns of G, so many at a
time that they and their sums stay in the second cache. A test holds both modules to one law.
"""

import numpy as np
from llvmlite import ir
from numba import types

from headway.kernels import COLUMNS, LANES
from headway.kernels.codegen import amx
from headway.kernels.codegen.amx import DEEP, SHAPES, TILE, give_back, room, set_up
from headway.kernels.codegen.numba_compiler import compiled
from headway.kernels.codegen.parallel import in_parts
from headway.kernels.codegen.vectors import INT, INTS, WORD, for_loops
from headway.kernels.weight_gradient import AT_ONCE, BLOCK, add_products, put_in_blocks

_LOTS = 8  # of G's columns that are at work together
_BLOCKS = 16  # of X's that they are multiplied with, so that there are 512 KB of sums
_SQUARE = 4 * TILE  # COLUMNS x COLUMNS sums
_PANEL = AT_ONCE * COLUMNS  # words of COLUMNS columns of G, AT_ONCE pairs of rows
_ROWS = 2 * DEEP  # of G that a tile takes
_ROW = ir.VectorType(ir.IntType(16), LANES)
_ONES = 0x3F803F80  # twice 1 in bfloat16


@compiled
def multiply_columns(g, x, add, y, sums, blocks, count, parts, region):
    """Compute y = G^T X, or add it to y, and the sums of G's columns.

    As in `weight_gradient`; blocks: room for `input_gradient.words_of_blocks` of X. The parts are
    of `count` lots of G's columns.
    """
    lots = x.shape[1] // COLUMNS
    there = in_parts(_put, (x, blocks), lots, min(lots, parts), region)
    return in_parts(_multiply_part, (g, blocks, add, y, sums), count, parts, region) and there


@compiled
def _put(x, blocks, first, last):
    """Put these lots of X's columns into blocks; zeros fill up the last step."""
    pairs, lots = (x.shape[0] + 1) // 2, x.shape[1] // COLUMNS
    for pair in range(0, pairs, AT_ONCE):
        count, begin = min(pairs - pair, AT_ONCE), (pair // AT_ONCE * lots + first) * BLOCK
        put_in_blocks(x, pair, count, blocks[begin:], first, last)
        for block in range(last - first):
            end = begin + block * BLOCK
            blocks[end + count * COLUMNS : end + -(-count // DEEP) * DEEP * COLUMNS] = 0


@compiled
def _multiply_part(g, blocks, add, y, sums, first, last):
    """Multiply lots first to last - 1 of G's columns with all of X's blocks."""
    chunks, most = -(-g.shape[0] // (2 * AT_ONCE)), min(_LOTS, last - first)
    panels, found = room(chunks * most * _PANEL), room(most * _BLOCKS * _SQUARE)
    squares, lots = found.view(np.float32), y.shape[1] // COLUMNS
    set_up(SHAPES)
    for begin in range(first, last, _LOTS):
        end = min(begin + _LOTS, last)
        _put_in_panels(g, panels, sums, begin, end)
        for left in range(0, lots, _BLOCKS):
            right = min(left + _BLOCKS, lots)
            _multiply_panels(g.shape[0], panels, end - begin, blocks, lots, left, right, squares)
            _put_squares(squares, add, y, begin, end, left, right)
    give_back()


@compiled
def _multiply_panels(rows, panels, count, blocks, lots, left, right, squares):
    """Multiply so many panels with the blocks `left` to `right` of `lots`: a square for each two.

    A block is fetched once for all panels, which leave the first cache to it.
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


def _square_of(add):
    def write(code, panels, a, blocks, b, steps, squares, at):
        builder, sums, left, right = code.builder, (0, 1, 2, 3), (4, 5), (6, 7)
        for tile in sums:
            if add:
                amx.load(code, tile, squares, builder.add(at, WORD(tile * TILE)), WORD(LANES))
            else:
                amx.clear(code, tile)

        def each(step, _):
            line = builder.add(b, builder.mul(step, WORD(DEEP * COLUMNS)))
            for i, tile in enumerate(right):
                place = builder.add(line, WORD(i * LANES))
                amx.load(code, tile, blocks, place, WORD(COLUMNS))
            row = builder.add(a, builder.mul(step, WORD(2 * TILE)))
            for i, tile in enumerate(left):
                place = builder.add(row, WORD(i * TILE))
                amx.load(code, tile, panels, place, WORD(LANES), again=False)
            for tile in sums:
                one, other = left[tile // 2], right[tile % 2]
                amx.add_products(code, amx.PAIRS, tile, one, other)
            return []

        code.fold_all(steps, 1, [], each)
        for tile in sums:
            amx.store(code, tile, squares, builder.add(at, WORD(tile * TILE)))

    return for_loops(types.void)(write)


_multiply_square, _multiply_and_add_square = _square_of(add=False), _square_of(add=True)


@compiled
def _put_squares(squares, add, y, begin, end, left, right):
    """Put, or add, squares of sums where they belong: of these lots of G's columns, and of X's."""
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


def _line_of(add):
    def write(code, squares, at, y, place):
        for i in range(2):
            here = code.builder.add(place, WORD(i * LANES))
            sums = squares.load(code.builder.add(at, WORD(i * TILE)))
            y.store(here, code.add(y.load(here), sums) if add else sums)

    return for_loops(types.void)(write)


_put_line, _add_line = _line_of(add=False), _line_of(add=True)


@compiled
def _put_in_panels(g, panels, sums, begin, end):
    """Put these lots of columns into panels, all rows of them; zeros fill up."""
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


@for_loops(types.void)
def _put_turned(code, g, place, width, panels, at, sums, column):
    """Turn 32 rows of COLUMNS numbers into two amx, and add the rows to the sums."""
    builder, ones = code.builder, ir.Constant(INTS, [_ONES] * LANES)
    both = ir.Constant(
        ir.VectorType(INT, COLUMNS), [i // 2 + LANES * (i % 2) for i in range(COLUMNS)]
    )
    lines = [builder.add(place, builder.mul(width, WORD(i))) for i in range(_ROWS)]
    for side in range(2):
        here = builder.add(column, WORD(LANES * side))
        total, words = sums.load(here), []
        for upper, lower in zip(lines[::2], lines[1::2], strict=True):
            a, b = (g.raw(builder.add(line, WORD(LANES * side)), _ROW) for line in (upper, lower))
            words.append(builder.bitcast(builder.shuffle_vector(a, b, both), INTS))
            total = add_products(code, total, words[-1], ones)
        sums.store(here, total)
        for i, row in enumerate(_turned(code, words)):
            panels.store(builder.add(at, WORD(side * TILE + i * LANES)), row)


def _turned(code, rows):
    """Return the columns of a square of words: in each step, half of what lies off the diagonal."""
    for apart in (8, 4, 2, 1):
        before, rows = rows, list(rows)
        for i in range(LANES):
            if not i & apart:
                a, b = before[i], before[i + apart]
                upper = [j if not j & apart else LANES + j - apart for j in range(LANES)]
                lower = [j + apart if not j & apart else LANES + j for j in range(LANES)]
                for place, order in ((i, upper), (i + apart, lower)):
                    mask = ir.Constant(ir.VectorType(INT, LANES), order)
                    rows[place] = code.builder.shuffle_vector(a, b, mask)
    return rows
