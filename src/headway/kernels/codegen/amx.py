"""Tiles of the processor (AMX): registers of 16 rows of 64 bytes, and products of them.

A product adds 16 x 16 sums to a tile. Each sum is that of a row of one tile and a column of
another, of 16 words: two numbers of bfloat16, summed in float32, or four bytes. Each thread sets up
its tiles before it uses them and releases them afterwards, because PyTorch's products set them up
differently.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numpy.typing import NDArray

from headway.kernels import LANES
from headway.kernels.codegen.numba_compiler import compiled
from headway.kernels.codegen.vectors import WORD, Code, FlatArray, Value, generated

DEEP = 16
"""Words of a row of a tile."""
TILE = LANES * DEEP
"""Words of a tile."""
PAIRS, FOURS = "tdpbf16ps", "tdpbusd"
"""Products of words of two numbers of bfloat16; of four bytes, unsigned times signed."""
_BYTE, _NOTHING = ir.IntType(8), ir.VoidType()
_LINE = 64  # bytes of a row of a tile, and of a cache line


def _shapes() -> NDArray[np.uint8]:
    """Return the processor's tile configuration: eight tiles of 16 rows of 64 bytes."""
    configuration = np.zeros(_LINE, np.uint8)
    configuration[0] = 1
    configuration[16:32].view(np.uint16)[:] = _LINE
    configuration[48:56] = LANES
    return configuration


SHAPES = _shapes()
"""The argument of `set_up`."""


@compiled
def aligned_words(words: int) -> NDArray[np.uint32]:
    """Return memory for this many words, which begins at a cache line."""
    memory = np.empty(words + LANES, np.uint32)
    begin = -(memory.ctypes.data // 4) % LANES
    return memory[begin : begin + words]


@generated(types.void)
def set_up(code: Code, shapes: FlatArray) -> None:
    """Give this thread's tiles these shapes."""
    code.call("llvm.x86.ldtilecfg", _NOTHING, shapes.address(code.constant(0, WORD)))


@generated(types.void)
def release(code: Code) -> None:
    """Release this thread's tiles."""
    code.call("llvm.x86.tilerelease", _NOTHING)


def load(
    code: Code, tile: int, numbers: FlatArray, place: Value, stride: Value, *, again: bool = True
) -> None:
    """Fill a tile with rows that are `stride` words apart, the first at `place`.

    again: the rows are soon needed again, and may fill the L1 cache.
    """
    name = "llvm.x86.tileloadd64" if again else "llvm.x86.tileloaddt164"
    stride_bytes = stride * 4
    code.call(name, _NOTHING, _number(code, tile), numbers.address(place), stride_bytes)


def store(code: Code, tile: int, numbers: FlatArray, place: Value) -> None:
    """Write a tile's rows, one after the other, from `place` on."""
    line = code.constant(_LINE, WORD)
    address = numbers.address(place)
    code.call("llvm.x86.tilestored64", _NOTHING, _number(code, tile), address, line)


def clear(code: Code, tile: int) -> None:
    """Fill a tile with zeros."""
    code.call("llvm.x86.tilezero", _NOTHING, _number(code, tile))


def add_products(code: Code, name: str, sums: int, rows: int, columns: int) -> None:
    """Add the products of two tiles to a tile of sums; name: PAIRS or FOURS."""
    tiles = [_number(code, tile) for tile in (sums, rows, columns)]
    code.call(f"llvm.x86.{name}", _NOTHING, *tiles)


def _number(code: Code, tile: int) -> Value:
    return code.constant(tile, _BYTE)
