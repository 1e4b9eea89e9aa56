"""Products of words, of two numbers of bfloat16 or of four bytes, by what the processor has.

By tiles (AMX) any number of rows; where there are none, by sums in vectors, which are in `blocks`.
For one row of bytes out of cold memory these would be a fifth faster: benchmarks/NOTES.md.
"""

from headway.loops import blocks, tile_products
from headway.loops.compiling import compiled, has_tiles
from headway.loops.tiles import DEEP

_OUTPUTS, _ROWS, _WORDS = (
    (tile_products.OUTPUTS, DEEP, DEEP) if has_tiles() else (blocks.OUTPUTS, 1, 1)
)
multiply = tile_products.multiply_blocks if has_tiles() else blocks.multiply_blocks
"""What multiplies rows, `rows_for` of them, with `in_blocks`."""


def in_blocks(words, *beginnings):
    """Return weights, (out, W), in `blocks.in_blocks` for `multiply`."""
    return blocks.in_blocks(words, *beginnings, size=_OUTPUTS)


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
def row_for(count):
    """Return for how many words a row of so many bytes has to have room.

    Of tiles an odd number of lines: a power of two apart, rows would share a few places in caches.
    """
    words = for_bytes(count)
    return (words // _WORDS | 1) * _WORDS if _WORDS > 1 else words
