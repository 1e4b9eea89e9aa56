"""ReLU and its gradient in bfloat16, by the bits: PyTorch's take two to three times as long."""

import numpy as np

from headway.kernels.codegen.numba_compiler import compiled
from headway.kernels.codegen.parallel import in_parts

LOT = 2**14
"""Numbers that a thread takes at least: fewer are done before another one has begun."""
_NOTHING, _MINUS, _MINUS_INFINITY = np.uint16(0), np.uint16(0x8000), np.uint16(0xFF80)


@compiled
def rectify(y, count, parts, region):
    """Put 0 for what is below 0 in y, (N,), uint16; what is no number stays so.

    The parts (parts.py) are of `count` lots of LOT numbers.
    """
    return in_parts(_rectify, (y,), count, parts, region)


@compiled
def pass_active(grad, y, out, count, parts, region):
    """Write grad where y is above 0, or no number, and 0 elsewhere. All (N,), uint16."""
    return in_parts(_pass_active, (grad, y, out), count, parts, region)


@compiled
def _rectify(y, first, last):
    own = y[first * LOT : last * LOT]  # of a slice LLVM makes vectors
    for i in range(own.size):
        bits = own[i]
        own[i] = _NOTHING if (bits >= _MINUS) & (bits <= _MINUS_INFINITY) else bits


@compiled
def _pass_active(grad, y, out, first, last):
    begin, end = first * LOT, last * LOT
    own, active, passed = grad[begin:end], y[begin:end], out[begin:end]
    for i in range(own.size):
        bits, left = own[i], active[i]
        below = (left >= _MINUS) & (left <= _MINUS_INFINITY)
        passed[i] = _NOTHING if (left == _NOTHING) | below else bits
