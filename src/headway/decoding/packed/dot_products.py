"""A product of integers by the processor's own dot products, with the steps in and out."""

import sys

import numpy as np
import torch
from jaxtyping import Float, Int8
from numpy.typing import NDArray
from torch import Tensor

from headway.decoding.packed.products import (
    TILES,
    ByteProduct,
    byte_kind,
    quantize_weight,
    tile_rows,
)
from headway.decoding.packed.weights import Projection
from headway.loops import products
from headway.loops.blocks import LARGEST_BYTE
from headway.loops.dot_products import OFFSET, in_byte_blocks, least_steps

Floats = NDArray[np.float32]
# Products of integers from which a processor's tiles take less time, calls included; figures in
# benchmarks/NOTES.md.
_LARGE = 2**25
_LEVELS = 127  # on either side of 0, of the signed bytes that tiles take


def quantize_to_fit(
    weight: Float[Tensor, "out in"],
) -> tuple[Int8[Tensor, "out in"], Float[Tensor, "out"]]:
    """Return whole numbers and the step of each output such that no sum runs over."""
    least = least_steps(weight.detach().float().numpy())
    return quantize_weight(weight, torch.from_numpy(least))


class DotProduct:
    """A product of integers in one compiled loop, rows rounded between their extremes.

    Beside tiles, which multiply many rows and must give the same, they are rounded as those of
    `Int8Product` are, with as many levels below 0 as above.
    """

    def __init__(self, projection: Projection, relu: bool) -> None:
        """Round and pack the weights."""
        weight, steps = quantize_to_fit(projection.weight)
        self.steps = steps.numpy()
        self.bias = projection.bias.float().contiguous().numpy()
        blocks = in_byte_blocks(weight.numpy(), self.steps, self.bias)
        self.relu = relu
        exact = LARGEST_BYTE >= _LEVELS + OFFSET  # as wherever there are tiles
        self.tiles = ByteProduct(weight, TILES) if exact and byte_kind() is TILES else None
        levels = 0 if self.tiles is None else _LEVELS
        self.prepared = blocks, self.bias, levels
        self.most_rows = sys.maxsize if self.tiles is None else _LARGE // weight.numel()

    def __call__(self, x: Floats) -> Floats:
        """Compute (R, in) -> (R, out)."""
        if self.tiles is not None and len(x) > self.most_rows:
            return self._by_tiles(self.tiles, x)
        y = np.empty((len(x), self.bias.size), np.float32)
        products.project(x, self.prepared, self.relu, y)
        return y

    def _by_tiles(self, tiles: ByteProduct, x: Floats) -> Floats:
        """Have oneDNN multiply; rows beyond, of which nothing is used, fill the last tile."""
        rows, width = x.shape
        whole = torch.empty(tile_rows(rows), width, dtype=TILES.dtype)
        row_steps = np.empty(rows, np.float32)
        products.quantize_rows(x, _LEVELS, TILES.offset, whole.numpy(), row_steps)
        y = tiles(whole).numpy()[:rows]
        products.scale_rows(y, row_steps, self.steps, self.bias, self.relu)
        return y
