"""Numbers in float32, or in bfloat16, the upper half of a float32's bits, in uint16.

NumPy has no bfloat16. What is written so is off by 1 part in 512 at most: 8 bits, rounded to the
nearest, of two equally near ones to the even one, as PyTorch does it.
"""

import numpy as np
from numba import types
from numba.extending import overload

_SIGN, _INFINITE, _NOT_A_NUMBER = np.int32(0x7FFFFFFF), np.int32(0x7F800000), np.int32(0x7FC0)
_HALF, _ONE, _WIDTH = np.int32(0x7FFF), np.int32(1), np.int32(16)


def read(number):
    """Return a number of either kind in float32; for use within compiled loops."""
    raise NotImplementedError


def write(line, c, number):
    """Put a float32 into line[c], of either kind; for use within compiled loops."""
    raise NotImplementedError


@overload(read, inline="always")
def _read(number):
    if isinstance(number, types.Integer):
        return lambda number: np.int32(np.int32(number) << _WIDTH).view(np.float32)
    return lambda number: number


@overload(write, inline="always")
def _write(line, c, number):
    if not isinstance(line.dtype, types.Integer):

        def write_whole(line, c, number):
            line[c] = number

        return write_whole

    def write_upper_half(line, c, number):
        bits = np.float32(number).view(np.int32)
        upper = (bits + (_HALF + ((bits >> _WIDTH) & _ONE))) >> _WIDTH
        line[c] = np.uint16(_NOT_A_NUMBER if (bits & _SIGN) > _INFINITE else upper)

    return write_upper_half
