"""Tiles of the processor (AMX): registers of 16 rows of 64 bytes, and products of them.

A product of tiles adds 16 x 16 sums of 32 products each. Who uses them sets them up first, in each
thread, and gives them back, because PyTorch's products want others. Sums are in float32.
"""

import ctypes
import functools
import sys

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from headway.loops import COLUMNS, LANES
from headway.loops.compiling import host_has
from headway.loops.vectors import WORD, for_loops

DEEP = 16  # words of a row of a tile, each of two numbers of bfloat16
TILE = LANES * DEEP  # words of a tile
_BYTE = ir.IntType(8)
# Sums of 32 x 32 outputs, and what they are made of: two tiles of the one side, two of the other.
_SUMS, _LEFT, _RIGHT = (0, 1, 2, 3), (4, 5), (6, 7)
_LINE = 64  # bytes of a row of a tile, as of a line of the cache
_ASK, _TILES, _ARCH_PRCTL = 0x1023, 18, 158  # Linux on x86-64: who uses tiles has to ask for them


@functools.cache
def has_tiles() -> bool:
    """Tell whether the processor multiplies tiles of bfloat16, and the system lets us use them."""
    if not host_has("amx-bf16") or not host_has("avx512bf16") or sys.platform != "linux":
        return False
    return ctypes.CDLL(None).syscall(_ARCH_PRCTL, _ASK, _TILES) == 0


def _shapes() -> np.ndarray:
    """Return what the processor is told about its tiles: eight of 16 rows of 64 bytes."""
    found = np.zeros(_LINE, np.uint8)
    found[0] = 1
    found[16:32].view(np.uint16)[:] = _LINE
    found[48:56] = LANES
    return found


SHAPES = _shapes()
"""What `set_up` takes."""


def _call(code, name, *arguments):
    """Call one of the processor's instructions for tiles."""
    kind = ir.FunctionType(ir.VoidType(), [argument.type for argument in arguments])
    function = cgutils.get_or_insert_function(code.builder.module, kind, f"llvm.x86.{name}")
    code.builder.call(function, arguments)


@for_loops(types.void)
def set_up(code, shapes):
    """Make tiles of these shapes, all zeros, of this thread's registers."""
    _call(code, "ldtilecfg", shapes.address(WORD(0)))


@for_loops(types.void)
def give_back(code):
    """Leave the registers as they were found."""
    _call(code, "tilerelease")


def _products_of(add):
    def write(code, left, a, right, b, steps, sums, at):
        """Compute, or add, 32 x 32 sums of products: four tiles, the upper two first.

        left: from `a` on, for each step two tiles, a row of which has the words of an output.
        right: from `b` on, for each step DEEP lines of COLUMNS words. sums: from `at` on.
        """
        builder = code.builder
        places = [sums.address(builder.add(at, WORD(i * TILE))) for i in _SUMS]
        for tile, place in zip(_SUMS, places, strict=True):
            if add:
                _call(code, "tileloadd64", _BYTE(tile), place, WORD(_LINE))
            else:
                _call(code, "tilezero", _BYTE(tile))

        def each(step, _):
            for i, tile in enumerate(_RIGHT):
                line = builder.add(b, builder.mul(step, WORD(DEEP * COLUMNS)))
                place = right.address(builder.add(line, WORD(i * LANES)))
                _call(code, "tileloadd64", _BYTE(tile), place, WORD(4 * COLUMNS))
            for i, tile in enumerate(_LEFT):
                line = builder.add(a, builder.mul(step, WORD(2 * TILE)))
                place = left.address(builder.add(line, WORD(i * TILE)))
                _call(code, "tileloadd64", _BYTE(tile), place, WORD(_LINE))
            for tile in _SUMS:
                one, other = _LEFT[tile // 2], _RIGHT[tile % 2]
                _call(code, "tdpbf16ps", _BYTE(tile), _BYTE(one), _BYTE(other))
            return []

        code.fold_all(steps, 1, [], each)
        for tile, place in zip(_SUMS, places, strict=True):
            _call(code, "tilestored64", _BYTE(tile), place, WORD(_LINE))

    return for_loops(types.void)(write)


multiply_tiles, multiply_and_add_tiles = _products_of(add=False), _products_of(add=True)
