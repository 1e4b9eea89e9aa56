"""x weight^T + bias in float32, in bfloat16 and in 8-bit integers, compiled by Numba."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int8
from numpy.typing import NDArray
from torch import Tensor

from headway.decoding.packed.plain_products import quantize_weight
from headway.decoding.packed.weights import Projection
from headway.kernels import linear
from headway.kernels.float_linear import in_float_blocks, in_pair_blocks
from headway.kernels.quantized_linear import in_byte_blocks, least_steps

Floats = NDArray[np.float32]


class LoopProduct(ABC):
    """A product in one compiled loop."""

    def __init__(self, projection: Projection, relu: bool) -> None:
        """Pack the weights."""
        bias = projection.bias.float().contiguous().numpy()
        self.weight = self.pack(projection.weight, bias)
        self.num_outputs = bias.size
        self.relu = relu

    @staticmethod
    @abstractmethod
    def pack(weight: Float[Tensor, "out in"], bias: Floats) -> NDArray[Any]:
        """Return weights and bias as `project` takes them."""

    def __call__(self, x: Floats) -> Floats:
        """Compute (R, in) -> (R, out)."""
        y = np.empty((len(x), self.num_outputs), np.float32)
        linear.project(x, self.weight, self.relu, y)
        return y


class LoopFeedForward:
    """Two products with a ReLU between them, equation 2, in one compiled loop."""

    def __init__(self, first: LoopProduct, second: LoopProduct) -> None:
        """Take the prepared weights, as they are."""
        self.first, self.second = first, second

    def __call__(self, x: Floats) -> Floats:
        """Compute (R, d_model) -> (R, d_model)."""
        first, second = self.first, self.second
        y = np.empty((len(x), second.num_outputs), np.float32)
        linear.feed_forward(x, first.weight, second.weight, first.num_outputs, y)
        return y


class Float32Product(LoopProduct):
    """A product in float32."""

    @staticmethod
    def pack(weight: Float[Tensor, "out in"], bias: Floats) -> NDArray[Any]:
        """Keep them as they are."""
        return in_float_blocks(weight.float().contiguous().numpy(), bias)


class Bfloat16Product(LoopProduct):
    """A product of what is rounded to bfloat16, summed up in float32."""

    @staticmethod
    def pack(weight: Float[Tensor, "out in"], bias: Floats) -> NDArray[Any]:
        """Round the weights."""
        return in_pair_blocks(weight.float().contiguous().numpy(), bias)


class Int8LoopProduct(LoopProduct):
    """A product of integers, rows rounded between their extremes."""

    @staticmethod
    def pack(weight: Float[Tensor, "out in"], bias: Floats) -> NDArray[Any]:
        """Round the weights to whole steps."""
        whole, steps = quantize_to_fit(weight)
        return in_byte_blocks(whole.numpy(), steps.numpy(), bias)


def quantize_to_fit(
    weight: Float[Tensor, "out in"],
) -> tuple[Int8[Tensor, "out in"], Float[Tensor, " out"]]:
    """Return whole numbers and the step of each output such that no sum runs over."""
    least = least_steps(weight.detach().float().numpy())
    return quantize_weight(weight, torch.from_numpy(least))
