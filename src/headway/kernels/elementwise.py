"""Operations on each element: dropout, dropout with addition, and ReLU with its gradient.

The draws of dropout (section 5.4) are those of `headway.training.accelerated.dropout.draw`, bit by
bit: number i of SplitMix64 decides elements 4 i to 4 i + 3 by 16 bits each. ReLU is for bfloat16,
and compares bits; PyTorch's takes two to three times as long.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numpy.typing import NDArray

from headway.kernels.arrays import Numbers
from headway.kernels.codegen.numba_compiler import compiled
from headway.kernels.codegen.parallel import in_parts
from headway.kernels.codegen.vectors import (
    LANES,
    SHORT,
    WORDS,
    Code,
    FlatArray,
    Value,
    generated,
)
from headway.kernels.splitmix import GAMMA, LAST_SHIFT, MIXING

BLOCK = 4 * LANES
"""Elements that one vector of draws decides."""
DROPOUT_LOT = 64 * BLOCK
"""The fewest elements of dropout for a thread: with fewer, starting it takes longer than work."""
RELU_LOT = 2**14
"""The fewest elements of ReLU for a thread."""
_ZERO, _MINUS_ZERO, _MINUS_INFINITY = np.uint16(0), np.uint16(0x8000), np.uint16(0xFF80)


def _kept(code: Code, key: Value, first: Value, lowest: Value) -> Iterator[Value]:
    """Yield four masks of 16 elements, true where element first, first + 1, … is kept.

    first: a multiple of 64. lowest: the smallest draw, from -32768 to 32767, that keeps an element.
    """
    number = code.broadcast(first >> 2) + code.numbered(WORDS)
    z = code.broadcast(key) + number * GAMMA
    for shift, factor in MIXING:
        z = (z ^ (z >> shift)) * factor
    z = z ^ (z >> LAST_SHIFT)
    draws = z.bitcast(ir.VectorType(SHORT, BLOCK))
    limit = code.broadcast(lowest.truncated(SHORT))
    undefined = code.value(ir.Constant(draws.llvm.type, ir.Undefined))
    for part in range(4):
        draw = code.shuffle(draws, undefined, [LANES * part + lane for lane in range(LANES)])
        yield draw >= limit


@generated(types.void)
def _drop_block(
    code: Code,
    x: FlatArray,
    at: Value,
    key: Value,
    first: Value,
    lowest: Value,
    scale: Value,
    out: FlatArray,
) -> None:
    factor, zero = code.broadcast(scale), code.constant(0.0)
    for part, keep in enumerate(_kept(code, key, first, lowest)):
        place = at + LANES * part
        dropped = code.exact_multiply(x.load(place), code.select(keep, factor, zero))
        out.store_rounded(place, dropped)


@generated(types.void)
def _add_block(
    code: Code,
    x: FlatArray,
    y: FlatArray,
    at: Value,
    key: Value,
    first: Value,
    lowest: Value,
    scale: Value,
    out: FlatArray,
) -> None:
    factor, zero = code.broadcast(scale), code.constant(0.0)
    for part, keep in enumerate(_kept(code, key, first, lowest)):
        place = at + LANES * part
        dropped = code.exact_multiply(y.load(place), code.select(keep, factor, zero))
        out.store_rounded(place, code.exact_add(x.load(place), dropped))


@compiled
def drop(
    x: Numbers,
    key: np.uint64,
    lowest: int,
    scale: np.float32,
    out: Numbers,
    count: int,
    parts: int,
    region: int,
) -> bool:
    """Write x * scale where an element is kept, else x * 0. x, out: (N,), each in its own type.

    The parts (`in_parts`) are of `count` lots of DROPOUT_LOT elements.
    """
    return in_parts(_drop, (x, key, lowest, scale, out), count, parts, region)


@compiled
def add_dropped(
    x: Numbers,
    y: Numbers,
    key: np.uint64,
    lowest: int,
    scale: np.float32,
    out: Numbers,
    count: int,
    parts: int,
    region: int,
) -> bool:
    """Write x plus the result of `drop` of y. x, y, out: (N,), each in its own type."""
    return in_parts(_add_dropped, (x, y, key, lowest, scale, out), count, parts, region)


@compiled
def _drop(
    x: Numbers,
    key: np.uint64,
    lowest: int,
    scale: np.float32,
    out: Numbers,
    first: int,
    last: int,
) -> None:
    """Drop in lots first to last - 1."""
    begin, whole, end = _bounds(x.size, first, last)
    for place in range(begin, whole, BLOCK):
        _drop_block(x, place, key, place, lowest, scale, out)
    if end > whole:
        count = end - whole
        last_x, last_out = np.zeros(BLOCK, x.dtype), np.empty(BLOCK, out.dtype)
        _copy(x, whole, last_x, 0, count)
        _drop_block(last_x, 0, key, whole, lowest, scale, last_out)
        _copy(last_out, 0, out, whole, count)


@compiled
def _add_dropped(
    x: Numbers,
    y: Numbers,
    key: np.uint64,
    lowest: int,
    scale: np.float32,
    out: Numbers,
    first: int,
    last: int,
) -> None:
    """Add and drop in lots first to last - 1."""
    begin, whole, end = _bounds(x.size, first, last)
    for place in range(begin, whole, BLOCK):
        _add_block(x, y, place, key, place, lowest, scale, out)
    if end > whole:
        count = end - whole
        last_x, last_y = np.zeros(BLOCK, x.dtype), np.zeros(BLOCK, y.dtype)
        last_out = np.empty(BLOCK, out.dtype)
        _copy(x, whole, last_x, 0, count)
        _copy(y, whole, last_y, 0, count)
        _add_block(last_x, last_y, 0, key, whole, lowest, scale, last_out)
        _copy(last_out, 0, out, whole, count)


@compiled
def _copy(x: NDArray[Any], first: int, out: NDArray[Any], place: int, count: int) -> None:
    """Copy numbers one by one: for slices, Numba would compile a message about their shapes."""
    for i in range(count):
        out[place + i] = x[first + i]


@compiled
def _bounds(size: int, first: int, last: int) -> tuple[int, int, int]:
    """Return where these lots begin, where their whole blocks end, and where they end."""
    begin, end = first * DROPOUT_LOT, min(last * DROPOUT_LOT, size)
    return begin, begin + (end - begin) // BLOCK * BLOCK, end


@compiled
def rectify(y: NDArray[np.uint16], count: int, parts: int, region: int) -> bool:
    """Replace negative numbers in y by 0; y: (N,), bfloat16. NaN is kept.

    The parts (`in_parts`) are of `count` lots of RELU_LOT elements.
    """
    return in_parts(_rectify, (y,), count, parts, region)


@compiled
def pass_active(
    grad: NDArray[np.uint16],
    y: NDArray[np.uint16],
    out: NDArray[np.uint16],
    count: int,
    parts: int,
    region: int,
) -> bool:
    """Write grad where y is positive or NaN, and 0 elsewhere. All (N,), bfloat16."""
    return in_parts(_pass_active, (grad, y, out), count, parts, region)


@compiled
def _rectify(y: NDArray[np.uint16], first: int, last: int) -> None:
    part = y[first * RELU_LOT : last * RELU_LOT]  # LLVM vectorizes a loop over a slice
    for i in range(part.size):
        bits = part[i]
        part[i] = _ZERO if (bits >= _MINUS_ZERO) & (bits <= _MINUS_INFINITY) else bits


@compiled
def _pass_active(
    grad: NDArray[np.uint16], y: NDArray[np.uint16], out: NDArray[np.uint16], first: int, last: int
) -> None:
    begin, end = first * RELU_LOT, last * RELU_LOT
    grads, active, passed = grad[begin:end], y[begin:end], out[begin:end]
    for i in range(grads.size):
        bits, kept = grads[i], active[i]
        negative = (kept >= _MINUS_ZERO) & (kept <= _MINUS_INFINITY)
        passed[i] = _ZERO if (kept == _ZERO) | negative else bits
