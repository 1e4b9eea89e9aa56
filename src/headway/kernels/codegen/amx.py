"""Tiles of the processor (AMX): registers of 16 rows of 64 bytes, and products of them.

A product adds 16 x 16 sums to a tile, of what each row of one tile and each column of another have
in 16 words: two numbers of bfloat16, whose sums are in float32, or four bytes. Who uses tiles sets
them up first, in each thread, and gives them back, because PyTorch's products want others.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from headway.kernels import LANES
from headway.kernels.codegen.numba_compiler import compiled
from headway.kernels.codegen.vectors import WORD, for_loops

DEEP = 16
"""Words of a row of a tile."""
TILE = LANES * DEEP
"""Words of a tile."""
PAIRS, FOURS = "tdpbf16ps", "tdpbusd"
"""Products of words of two numbers of bfloat16; of four bytes, unsigned ones with signed ones."""
_BYTE = ir.IntType(8)
_LINE = 64  # bytes of a row of a tile, as of a line of the cache


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


@compiled
def room(words):
    """Return room for so many words of uint32, from where a line of the cache begins."""
    found = np.empty(words + LANES, np.uint32)
    begin = -(found.ctypes.data // 4) % LANES
    return found[begin : begin + words]


@for_loops(types.void)
def set_up(code, shapes):
    """Make tiles of these shapes of this thread's registers."""
    _call(code, "ldtilecfg", shapes.address(WORD(0)))


@for_loops(types.void)
def give_back(code):
    """Leave the registers as they were found."""
    _call(code, "tilerelease")


def load(code, tile, numbers, place, stride, *, again=True):
    """Fill a tile with rows of so many words each, the first from `place` on.

    again: whether they are soon wanted again, or leave the first cache to others.
    """
    bytes_ = code.builder.mul(stride, WORD(4))
    name = "tileloadd64" if again else "tileloaddt164"
    _call(code, name, _BYTE(tile), numbers.address(place), bytes_)


def store(code, tile, numbers, place):
    """Write a tile's rows, one after the other, from `place` on."""
    _call(code, "tilestored64", _BYTE(tile), numbers.address(place), WORD(_LINE))


def clear(code, tile):
    """Fill a tile with zeros."""
    _call(code, "tilezero", _BYTE(tile))


def add_products(code, name, sums, one, other):
    """Add the products of two tiles to the one of sums; name: PAIRS or FOURS."""
    _call(code, name, _BYTE(sums), _BYTE(one), _BYTE(other))
