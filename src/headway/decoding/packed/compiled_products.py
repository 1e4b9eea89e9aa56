"""x weight^T + bias in float32, in bfloat16 and in 8-bit integers, compiled by Numba."""

import numpy as np
import torch
from jaxtyping import Float, Int8
from numpy.typing import NDArray
from torch import Tensor

from headway.decoding.packed.plain_products import quantize_weight
from headway.decoding.packed.weights import Projection
from headway.loops import products
from headway.loops.byte_products import in_byte_blocks, least_steps
from headway.loops.float_products import in_float_blocks, in_pair_blocks

Floats = NDArray[np.float32]


class Float32Product:
    """A product in float32."""

    pack = staticmethod(in_float_blocks)

    def __init__(self, projection: Projection, relu: bool) -> None:
        """Pack the weights."""
        self.bias = projection.bias.float().contiguous().numpy()
        weight = projection.weight.float().contiguous().numpy()
        self.prepared = self.pack(weight, self.bias), self.bias
        self.relu = relu

    def __call__(self, x: Floats) -> Floats:
        """Compute (R, in) -> (R, out)."""
        y = np.empty((len(x), self.bias.size), np.float32)
        products.project(x, self.prepared, self.relu, y)
        return y


class Bfloat16Product(Float32Product):
    """A product of what is rounded to bfloat16, summed up in float32."""

    pack = staticmethod(in_pair_blocks)


def quantize_to_fit(
    weight: Float[Tensor, "out in"],
) -> tuple[Int8[Tensor, "out in"], Float[Tensor, "out"]]:
    """Return whole numbers and the step of each output such that no sum runs over."""
    least = least_steps(weight.detach().float().numpy())
    return quantize_weight(weight, torch.from_numpy(least))


class Int8LoopProduct:
    """A product of integers in one compiled loop, rows rounded between their extremes."""

    def __init__(self, projection: Projection, relu: bool) -> None:
        """Round and pack the weights."""
        weight, steps = quantize_to_fit(projection.weight)
        self.bias = projection.bias.float().contiguous().numpy()
        self.prepared = in_byte_blocks(weight.numpy(), steps.numpy(), self.bias), self.bias
        self.relu = relu

    def __call__(self, x: Floats) -> Floats:
        """Compute (R, in) -> (R, out)."""
        y = np.empty((len(x), self.bias.size), np.float32)
        products.project(x, self.prepared, self.relu, y)
        return y
