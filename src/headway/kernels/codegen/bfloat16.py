"""Numbers in float32, or in bfloat16, the upper half of a float32's bits, in uint16.

NumPy has no bfloat16. Writing rounds a number to 8 bits, an error of at most 1 part in 512. It
rounds to nearest, ties to even, as PyTorch does.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from headway.kernels.arrays import Numbers

_SIGN, _INFINITE, _NOT_A_NUMBER = np.int32(0x7FFFFFFF), np.int32(0x7F800000), np.int32(0x7FC0)
_HALF, _ONE, _WIDTH = np.int32(0x7FFF), np.int32(1), np.int32(16)


def read(number: np.float32 | np.uint16) -> np.float32:
    """Return a number of either kind in float32; in compiled kernels only."""
    raise NotImplementedError


def write(line: Numbers, c: int, number: np.float32) -> None:
    """Put a float32 into line[c], of either kind; in compiled kernels only."""
    raise NotImplementedError


# Numba wants the same annotations in an overload and in its implementations.
@overload(read, inline="always")
def _read(number: Any) -> Callable[..., Any]:
    if isinstance(number, types.Integer):

        def read_upper_half(number: Any) -> Any:
            return np.int32(np.int32(number) << _WIDTH).view(np.float32)

        return read_upper_half

    def read_whole(number: Any) -> Any:
        return number

    return read_whole


@overload(write, inline="always")
def _write(line: Any, c: Any, number: Any) -> Callable[..., None]:
    if not isinstance(line.dtype, types.Integer):

        def write_whole(line: Any, c: Any, number: Any) -> None:
            line[c] = number

        return write_whole

    def write_upper_half(line: Any, c: Any, number: Any) -> None:
        bits = np.float32(number).view(np.int32)
        upper = (bits + (_HALF + ((bits >> _WIDTH) & _ONE))) >> _WIDTH
        line[c] = np.uint16(_NOT_A_NUMBER if (bits & _SIGN) > _INFINITE else upper)

    return write_upper_half
