"""Operations on each element: dropout, dropout with addition, and ReLU with its gradient.

The draws of dropout (section 5.4) are those of `headway.training.accelerated.dropout.draw`, bit by
bit: number i of SplitMix64 decides elements 4 i to 4 i + 3 by 16 bits each. ReLU is for bfloat16,
and compares bits; PyTorch's takes two to three times as long.
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
DROPOUT_LOT = 64 * BLOCK
"""Elements of dropout that a thread takes at least: starting a thread takes longer than fewer."""
RELU_LOT = 2**14
"""The same of ReLU."""
_ZERO, _MINUS_ZERO, _MINUS_INFINITY = np.uint16(0), np.uint16(0x8000), np.uint16(0xFF80)
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

    The parts (parts.py) are of `count` lots of DROPOUT_LOT numbers.
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
    begin, end = first * DROPOUT_LOT, min(last * DROPOUT_LOT, size)
    return begin, begin + (end - begin) // BLOCK * BLOCK, end


@compiled
def rectify(y, count, parts, region):
    """Put 0 for negative numbers in y, (N,), uint16; NaN stays.

    The parts (`codegen.parallel`) are of `count` lots of RELU_LOT numbers.
    """
    return in_parts(_rectify, (y,), count, parts, region)


@compiled
def pass_active(grad, y, out, count, parts, region):
    """Write grad where y is positive or NaN, and 0 elsewhere. All (N,), uint16."""
    return in_parts(_pass_active, (grad, y, out), count, parts, region)


@compiled
def _rectify(y, first, last):
    part = y[first * RELU_LOT : last * RELU_LOT]  # LLVM vectorizes a loop over a slice
    for i in range(part.size):
        bits = part[i]
        part[i] = _ZERO if (bits >= _MINUS_ZERO) & (bits <= _MINUS_INFINITY) else bits


@compiled
def _pass_active(grad, y, out, first, last):
    begin, end = first * RELU_LOT, last * RELU_LOT
    grads, active, passed = grad[begin:end], y[begin:end], out[begin:end]
    for i in range(grads.size):
        bits, kept = grads[i], active[i]
        negative = (kept >= _MINUS_ZERO) & (kept <= _MINUS_INFINITY)
        passed[i] = _ZERO if (kept == _ZERO) | negative else bits
