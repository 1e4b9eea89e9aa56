"""The gradient of a weight in bfloat16: every column of one matrix times every one of another.

y = G^T X is a sum of outer products of rows. Pairs of rows, interleaved, are the words that the
processor's sums of bfloat16 want on both sides, so that nothing has to be transposed: X lies in
blocks of columns that stay in the first cache, G in narrower panels that stream past them. Sums are
in float32, in an order that does not depend on the threads.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from headway.kernels import COLUMNS, LANES
from headway.kernels.codegen.numba_compiler import compiled
from headway.kernels.codegen.parallel import in_parts
from headway.kernels.codegen.vectors import FLOATS, INT, INTS, WORD, constant, for_loops
from headway.kernels.linear_blocks import SUM_OF_PAIRS

_PANEL = LANES // 2  # columns of G that are multiplied with a block at a time
_PANELS = COLUMNS // _PANEL  # of a lot of columns
_LOTS = 32  # of G's columns that are at work together: 1 MB of panels
AT_ONCE = 256  # pairs of rows that are multiplied before the next are: a block is 32 KB
# Words of each. They begin at other lines of the cache than those before; all would share a few.
BLOCK, _STRIP = AT_ONCE * COLUMNS + LANES, AT_ONCE * _PANEL + LANES
_ROW = ir.VectorType(ir.IntType(16), COLUMNS)
_ONES = 0x3F803F80  # twice 1 in bfloat16


@compiled
def multiply_columns(g, x, add, y, sums, by_x, count, parts, region):
    """Compute y = G^T X, or add it to y, and the sums of G's columns.

    g: (R, out), uint16. x: (R, in), uint16, `in` a multiple of COLUMNS. y: (out, in), float32.
    sums: (out rounded up to a multiple of COLUMNS,), float32. The parts (parts.py) are of `count`
    lots of columns: all of G's or, if by_x, all of X's.
    """
    return in_parts(_multiply_part, (g, x, add, y, sums, by_x), count, parts, region)


@compiled
def _multiply_part(g, x, add, y, sums, by_x, first, last):
    """Multiply lots first to last - 1; the sums are left to who has X's first."""
    every = -(-g.shape[1] // COLUMNS)
    begin, end = (0, every) if by_x else (first, last)
    left, right = (first, last) if by_x else (0, x.shape[1] // COLUMNS)
    for lot in range(begin, end, _LOTS):
        _multiply_lots(g, x, add, y, sums, lot, min(lot + _LOTS, end), left, right)


@compiled
def _multiply_lots(g, x, add, y, sums, begin, end, left, right):
    """Multiply lots of G's columns, begin to end - 1, with lots of X's, left to right - 1."""
    blocks = np.empty((right - left) * BLOCK, np.uint32)
    panels = np.empty((end - begin) * _PANELS * _STRIP, np.uint32)
    totals = np.zeros((end - begin) * COLUMNS, np.float32)
    # Panels whose columns are all outputs; of one more there may be some.
    full = min((end - begin) * _PANELS, y.shape[0] // _PANEL - begin * _PANELS)
    pairs = (g.shape[0] + 1) // 2
    for pair in range(0, pairs, AT_ONCE):
        count = min(pairs - pair, AT_ONCE)
        put_in_blocks(x, pair, count, blocks, left, right)
        _put_in_panels(g, pair, count, panels, totals, begin, end)
        fresh = pair == 0 and not add
        for block in range(right - left):
            column = (left + block) * COLUMNS
            for panel in range(full):
                given = panels, panel * _STRIP, blocks, block * BLOCK, count
                place = (begin * COLUMNS + panel * _PANEL) * y.shape[1] + column
                if fresh:
                    _multiply(*given, y, place, y.shape[1])
                else:
                    _multiply_and_add(*given, y, place, y.shape[1])
            if begin * COLUMNS + full * _PANEL < min(end * COLUMNS, y.shape[0]):
                given = panels, full * _STRIP, blocks, block * BLOCK, count
                _multiply_rest(*given, y, begin * COLUMNS + full * _PANEL, column, fresh)
    if left == 0:
        sums[begin * COLUMNS : end * COLUMNS] = totals


@compiled
def _multiply_rest(panels, panel, blocks, block, count, y, row, column, fresh):
    """Compute the rows of y from this one on, fewer than a panel has columns."""
    found = np.empty((_PANEL, COLUMNS), np.float32)
    _multiply(panels, panel, blocks, block, count, found, 0, COLUMNS)
    for i in range(y.shape[0] - row):
        for c in range(COLUMNS):
            before = np.float32(0.0) if fresh else y[row + i, column + c]
            y[row + i, column + c] = before + found[i, c]


@compiled
def put_in_blocks(x, pair, count, blocks, first, last):
    """Interleave so many pairs of rows; an odd row's fellow is all zeros."""
    rows, width = x.shape
    nothing = np.zeros(COLUMNS, np.uint16)
    for p in range(count):
        upper = 2 * (pair + p) * width
        paired = 2 * (pair + p) + 1 < rows
        for block in range(first, last):
            at, column = (block - first) * BLOCK + p * COLUMNS, upper + block * COLUMNS
            if paired:
                _interleave(x, column, x, column + width, blocks, at)
            else:
                _interleave(x, column, nothing, 0, blocks, at)


@compiled
def _put_in_panels(g, pair, count, panels, totals, first, last):
    """Interleave so many pairs of rows, and add them to the totals; zeros fill up."""
    rows, width = g.shape
    both = np.empty((2, COLUMNS), np.uint16)
    for p in range(count):
        upper = 2 * (pair + p) * width
        whole = min(last, width // COLUMNS) if 2 * (pair + p) + 1 < rows else first
        for lot in range(first, whole):
            column, own = upper + lot * COLUMNS, lot - first
            at = own * _PANELS * _STRIP + p * _PANEL
            _interleave_in_panels(g, column, column + width, panels, at, totals, own * COLUMNS)
        for lot in range(whole, last):
            both[:], column, own = 0, lot * COLUMNS, lot - first
            for row in range(2 * (pair + p), min(2 * (pair + p) + 2, rows)):
                for c in range(column, min(column + COLUMNS, width)):
                    both[row % 2, c - column] = g[row, c]
            at = own * _PANELS * _STRIP + p * _PANEL
            _interleave_in_panels(both, 0, COLUMNS, panels, at, totals, own * COLUMNS)


def _interleaved(code, a, b):
    """Yield two vectors of words: word i is number i of a beside number i of b."""
    for half in range(2):
        places = [LANES * half + i // 2 + COLUMNS * (i % 2) for i in range(COLUMNS)]
        mask = ir.Constant(ir.VectorType(INT, COLUMNS), places)
        yield code.builder.bitcast(code.builder.shuffle_vector(a, b, mask), INTS)


@for_loops(types.void)
def _interleave(code, x, first, other, second, blocks, at):
    """Put COLUMNS numbers of two rows into a line of a block."""
    both = x.raw(first, _ROW), other.raw(second, _ROW)
    for half, words in enumerate(_interleaved(code, *both)):
        blocks.store(code.builder.add(at, WORD(LANES * half)), words)


@for_loops(types.void)
def _interleave_in_panels(code, g, first, second, panels, at, totals, column):
    """Put COLUMNS numbers of two rows into lines of as many panels as they take."""
    builder, ones = code.builder, ir.Constant(INTS, [_ONES] * LANES)
    both = g.raw(first, _ROW), g.raw(second, _ROW)
    for half, words in enumerate(_interleaved(code, *both)):
        place = builder.add(column, WORD(LANES * half))
        totals.store(place, add_products(code, totals.load(place), words, ones))
        for begin in range(0, LANES, _PANEL):
            panels.store(at, code.part(words, _PANEL, begin))
            at = builder.add(at, WORD(_STRIP))


def add_products(code, total, words, others):
    """Return the totals plus the products of bfloat16, of which each word has two."""
    kind = ir.FunctionType(FLOATS, [FLOATS, INTS, INTS])
    function = cgutils.get_or_insert_function(code.builder.module, kind, SUM_OF_PAIRS)
    return code.builder.call(function, [total, words, others])


def _write_product(add):
    def write(code, panels, panel, blocks, block, count, y, place, width):
        builder = code.builder
        lines = [builder.add(place, builder.mul(width, WORD(i))) for i in range(_PANEL)]
        places = [builder.add(line, WORD(LANES * v)) for line in lines for v in range(2)]

        def each(pair, totals):
            at = builder.add(block, builder.mul(pair, WORD(COLUMNS)))
            columns = [blocks.raw(builder.add(at, WORD(LANES * v)), INTS) for v in range(2)]
            line = builder.add(panel, builder.mul(pair, WORD(_PANEL)))
            found = []
            for i in range(_PANEL):
                one = code.everywhere(panels.one(builder.add(line, WORD(i))))
                for v, vector in enumerate(columns):
                    found.append(add_products(code, totals[2 * i + v], one, vector))
            return found

        begins = [y.load(at) if add else constant(0.0) for at in places]
        for at, total in zip(places, code.fold_all(count, 1, begins, each), strict=True):
            y.store(at, total)

    return for_loops(types.void)(write)


_multiply, _multiply_and_add = _write_product(add=False), _write_product(add=True)
