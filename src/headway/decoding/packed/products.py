"""x weight^T + bias in float32, in bfloat16 and in 8-bit integers, of PyTorch operators."""

import warnings
from collections.abc import Callable
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int8
from torch import Tensor

from headway.decoding.packed.weights import Projection
from headway.errors import ConfigError

Precision = Literal["float32", "bfloat16", "int8"]
Product = Callable[[Tensor], Tensor]


def product(
    projection: Projection, precision: Precision, device: torch.device, *, relu: bool = False
) -> Product:
    """Prepare (R, in) -> (R, out) in float32 whatever it is computed in; a ReLU where asked."""
    if precision == "int8" and worth_integers(projection):
        return Int8Product(projection, relu)
    dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
    weight = projection.weight.to(device, dtype)
    bias = projection.bias.to(device, dtype)

    def multiply(x: Float[Tensor, "R in"]) -> Float[Tensor, "R out"]:
        y = F.linear(x.to(dtype), weight, bias)
        return (y.relu_() if relu else y).float()

    return multiply


def worth_integers(projection: Projection) -> bool:
    """Tell whether a product is large enough for integers to be faster; benchmarks/NOTES.md."""
    return projection.weight.numel() >= 2**14


# Logits so far below the best, whose probabilities are below e^-4 of its own, may stay rough.
SHARP = 4.0

# Activations have 7 bits: sums of two products then fit into the 16 bits that processors without
# VNNI give them.
LEVELS = 63


def quantize_weight(
    weight: Float[Tensor, "out in"],
) -> tuple[Int8[Tensor, "out in"], Float[Tensor, "out"]]:
    """Return whole numbers from -127 to 127 and the step of each output.

    Tolerance: each weight is off by half a step at most, 1/254 of the largest of its output.
    """
    steps = (weight.float().abs().amax(dim=1) / 127).clamp_min(1e-30)
    return (weight.float() / steps[:, None]).round().to(torch.int8), steps


def quantize_rows(
    x: Float[Tensor, "R in"],
) -> tuple[Float[Tensor, "R in"], Float[Tensor, "R"]]:
    """Return whole numbers from -63 to 63 and the step of each row."""
    largest = x.abs().amax(dim=1)
    steps = torch.where(largest > 0, largest / LEVELS, 1.0)
    return (x * steps.reciprocal()[:, None]).round(), steps


class Int8Product:
    """A product of integers: weights in 8 bits with a step for each output, rows in 7 bits.

    The integers are multiplied and summed without any rounding (PyTorch's FBGEMM), so a row's
    result is the same in every batch.
    """

    def __init__(self, projection: Projection, relu: bool) -> None:
        """Round and pack the weights; ConfigError where PyTorch has no such product."""
        self.weight, self.steps = quantize_weight(projection.weight)
        self.bias = projection.bias.float()
        self.relu = relu
        self.packed = _pack(self.weight)

    def __call__(self, x: Float[Tensor, "R in"]) -> Float[Tensor, "R out"]:
        """Compute (R, in) -> (R, out)."""
        whole, steps = quantize_rows(x)
        y = self.multiply(whole).mul_(steps[:, None] * self.steps).add_(self.bias)
        return y.relu_() if self.relu else y

    def multiply(self, whole: Float[Tensor, "R in"]) -> Float[Tensor, "R out"]:
        """Multiply whole numbers; the result has no steps in it yet."""
        return torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32(
            whole, 1.0, LEVELS + 1, self.packed
        )


class SharpProduct:
    """The projection to the vocabulary in integers; what comes near the best, in float32 again.

    So rounding does not decide between pieces of which each may be chosen.
    """

    def __init__(self, projection: Projection) -> None:
        """Keep both kinds of weights."""
        self.rough = Int8Product(projection, relu=False)
        self.weight, self.bias = projection.weight.float(), projection.bias.float()

    def __call__(self, x: Float[Tensor, "R d_model"]) -> Float[Tensor, "R V"]:
        """Compute the logits."""
        logits = self.rough(x)
        rows, pieces = (logits > logits.amax(dim=1, keepdim=True) - SHARP).nonzero(as_tuple=True)
        logits[rows, pieces] = (x[rows] * self.weight[pieces]).sum(dim=1) + self.bias[pieces]
        return logits


def _pack(weight: Int8[Tensor, "out in"]) -> torch.ScriptObject:
    """Pack whole numbers, with a step of 1: what comes out of a product are then its sums."""
    try:
        with warnings.catch_warnings():
            # PyTorch means to drop these tensors one day; on AVX2 it has no other fast product.
            warnings.filterwarnings("ignore", message=".*quantized tensor creation.*")
            whole = torch.quantize_per_tensor(weight.float(), 1.0, 0, torch.qint8)
            return torch.ops.quantized.linear_prepack(whole, None)
    except (AttributeError, NotImplementedError, RuntimeError) as error:
        raise ConfigError(
            f"This PyTorch cannot multiply 8-bit integers here ({str(error).splitlines()[0]}).",
            "Use precision float32, or bfloat16 where the processor has it.",
        ) from error
