"""Products of words of 32 bits, two numbers of bfloat16 or four bytes, by what the processor has.

By tiles where it has them (AMX), else by `linear_blocks`. For one row of bytes out of cold memory
the latter would be a fifth faster (benchmarks/log/046), but weights have one layout for any number
of rows.
"""

from headway.kernels import dispatch, linear_amx, linear_blocks
from headway.kernels.codegen.amx import DEEP
from headway.kernels.codegen.numba_compiler import compiled

_OUTPUTS, _ROWS, _WORDS = (
    (linear_amx.OUTPUTS, DEEP, DEEP) if dispatch.has_amx() else (linear_blocks.OUTPUTS, 1, 1)
)
multiply = linear_amx.multiply_blocks if dispatch.has_amx() else linear_blocks.multiply_blocks
"""Multiplies rows, of which there is room for `rows_for`, with weights of `in_blocks`."""


def in_blocks(words, *beginnings):
    """Return weights, (out, W), in `linear_blocks.in_blocks` for `multiply`."""
    return linear_blocks.in_blocks(words, *beginnings, size=_OUTPUTS)


@compiled
def rows_for(count):
    """Return for how many rows there has to be room if there are so many."""
    return -(-count // _ROWS) * _ROWS


@compiled
def for_bytes(count):
    """Return how many words of so many bytes are multiplied."""
    together = 4 * _WORDS
    return -(-count // together) * _WORDS


@compiled
def line_for(words):
    """Return how many words of a row lie side by side, of so many: all, or a tile's."""
    return _WORDS if _WORDS > 1 else words


@compiled
def place(row, line, lines, size):
    """Return where a line of a row begins, of so many words each: in a tile, below that before."""
    return ((row // _ROWS * lines + line) * _ROWS + row % _ROWS) * size
