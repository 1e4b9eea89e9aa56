"""Products of words of 32 bits, two numbers of bfloat16 or four bytes, in this machine's layout.

The layout is that of tiles (AMX) where the processor has them, otherwise that of `linear_blocks`.
For one row of bytes from cold memory the latter would be a fifth faster (benchmarks/log/046), but
weights have one layout for any number of rows.
"""

from typing import Any

from numpy.typing import NDArray

from headway.kernels import linear_amx, linear_blocks, two_cores
from headway.kernels.codegen.amx import DEEP
from headway.kernels.codegen.numba_compiler import compiled, has_amx, inlined

_OUTPUTS, _ROWS, _WORDS = (
    (linear_amx.OUTPUTS, DEEP, DEEP) if has_amx() else (linear_blocks.OUTPUTS, 1, 1)
)


@inlined
def _multiply_by_tiles(
    x: Any, weight: Any, row_steps: Any, zeros: Any, relu: bool, y: Any, helper: int
) -> None:
    linear_amx.multiply_blocks(x, weight, row_steps, zeros, relu, y)  # without the helper


multiply = _multiply_by_tiles if has_amx() else two_cores.multiply
"""Multiplies rows, in memory for `rows_for`, with weights of `in_blocks`."""


def in_blocks(words: NDArray[Any], *first_lines: NDArray[Any]) -> NDArray[Any]:
    """Return weights, (out, W), in the blocks that `multiply` takes (`linear_blocks.in_blocks`)."""
    return linear_blocks.in_blocks(words, *first_lines, size=_OUTPUTS)


@compiled
def rows_for(count: int) -> int:
    """Return the number of rows in memory for `count` rows, padding included."""
    return -(-count // _ROWS) * _ROWS


@compiled
def for_bytes(count: int) -> int:
    """Return the number of words in a row of `count` bytes, padding included."""
    together = 4 * _WORDS
    return -(-count // together) * _WORDS


@compiled
def line_for(words: int) -> int:
    """Return the number of a row's words that are contiguous: all, or a tile's."""
    return _WORDS if _WORDS > 1 else words


@compiled
def place(row: int, line: int, lines: int, size: int) -> int:
    """Return where a line of a row begins, in words; a row has `lines` lines of `size` words.

    In a tile, the lines of successive rows follow one another.
    """
    return ((row // _ROWS * lines + line) * _ROWS + row % _ROWS) * size
