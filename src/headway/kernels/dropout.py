"""Dropout's draws, and what is dropped and added, sixty-four numbers at a time (section 5.4).

The draws are those of `headway.training.accelerated.dropout.draw`, bit by bit: number i of
SplitMix64 decides elements 4 i to 4 i + 3 by 16 bits each.
"""

import numpy as np
from llvmlite import ir
from numba import types

from headway.kernels.codegen.numba_compiler import compiled
from headway.kernels.codegen.parallel import in_parts
from headway.kernels.codegen.vectors import INTS, LANES, WORD, constant, for_loops
from headway.kernels.splitmix import GAMMA, LAST_SHIFT, MIXING

BLOCK = 4 * LANES
"""Elements that one vector of draws decides."""
LOT = 64 * BLOCK
"""Elements that a thread takes at least: fewer are done before another one has begun."""
_WORDS = ir.VectorType(WORD, LANES)


def _all(number):
    return ir.Constant(_WORDS, [number] * LANES)


def _fourths(code, key, first, lowest):
    """Return which of the elements first, first + 1, … are kept, in four vectors of sixteen.

    first: in sixty-fours. lowest: the smallest draw, from -32768 to 32767, that keeps an element.
    """
    builder = code.builder
    number = builder.add(
        code.everywhere(builder.lshr(first, WORD(2))), ir.Constant(_WORDS, list(range(LANES)))
    )
    z = builder.add(code.everywhere(key), builder.mul(number, _all(GAMMA)))
    for shift, factor in MIXING:
        z = builder.mul(builder.xor(z, builder.lshr(z, _all(shift))), _all(factor))
    z = builder.xor(z, builder.lshr(z, _all(LAST_SHIFT)))
    draws = builder.bitcast(z, ir.VectorType(ir.IntType(16), BLOCK))
    limit = code.everywhere(builder.trunc(lowest, ir.IntType(16)))
    for part in range(4):
        places = ir.Constant(INTS, [LANES * part + lane for lane in range(LANES)])
        draw = builder.shuffle_vector(draws, ir.Constant(draws.type, ir.Undefined), places)
        yield builder.icmp_signed(">=", draw, limit)


@for_loops(types.void)
def _drop_block(code, x, at, key, first, lowest, scale, out):
    builder, factor = code.builder, code.everywhere(scale)
    for part, keep in enumerate(_fourths(code, key, first, lowest)):
        place = builder.add(at, WORD(LANES * part))
        out.put(place, code.times(x.load(place), builder.select(keep, factor, constant(0.0))))


@for_loops(types.void)
def _add_block(code, x, y, at, key, first, lowest, scale, out):
    builder, factor = code.builder, code.everywhere(scale)
    for part, keep in enumerate(_fourths(code, key, first, lowest)):
        place = builder.add(at, WORD(LANES * part))
        kept = code.times(y.load(place), builder.select(keep, factor, constant(0.0)))
        out.put(place, code.plus(x.load(place), kept))


@compiled
def drop(x, key, lowest, scale, out, count, parts, region):
    """Write x * scale where an element is kept, else x * 0. x, out: (N,), of any two types.

    The parts (parts.py) are of `count` lots of LOT numbers.
    """
    return in_parts(_drop, (x, key, lowest, scale, out), count, parts, region)


@compiled
def add_dropped(x, y, key, lowest, scale, out, count, parts, region):
    """Write x plus what `drop` makes of y. x, y, out: (N,), each in its own type."""
    return in_parts(_add_dropped, (x, y, key, lowest, scale, out), count, parts, region)


@compiled
def _drop(x, key, lowest, scale, out, first, last):
    """Drop in lots first to last - 1."""
    begin, whole, end = _bounds(x.size, first, last)
    for place in range(begin, whole, BLOCK):
        _drop_block(x, place, key, place, lowest, scale, out)
    if end > whole:
        rest = end - whole
        last_x, last_out = np.zeros(BLOCK, x.dtype), np.empty(BLOCK, out.dtype)
        _copy(x, whole, last_x, 0, rest)
        _drop_block(last_x, 0, key, whole, lowest, scale, last_out)
        _copy(last_out, 0, out, whole, rest)


@compiled
def _add_dropped(x, y, key, lowest, scale, out, first, last):
    """Add and drop in lots first to last - 1."""
    begin, whole, end = _bounds(x.size, first, last)
    for place in range(begin, whole, BLOCK):
        _add_block(x, y, place, key, place, lowest, scale, out)
    if end > whole:
        rest = end - whole
        last_x, last_y = np.zeros(BLOCK, x.dtype), np.zeros(BLOCK, y.dtype)
        last_out = np.empty(BLOCK, out.dtype)
        _copy(x, whole, last_x, 0, rest)
        _copy(y, whole, last_y, 0, rest)
        _add_block(last_x, last_y, 0, key, whole, lowest, scale, last_out)
        _copy(last_out, 0, out, whole, rest)


@compiled
def _copy(x, first, out, place, count):
    """Copy numbers one by one: with slices, Numba would compile a message about their shapes."""
    for i in range(count):
        out[place + i] = x[first + i]


@compiled
def _bounds(size, first, last):
    """Return where these lots begin, where their whole blocks end, and where they end."""
    begin, end = first * LOT, min(last * LOT, size)
    return begin, begin + (end - begin) // BLOCK * BLOCK, end
