"""x weight^T + bias in 8-bit integers, with PyTorch's FBGEMM and oneDNN."""

import warnings
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int8, Integer
from torch import Tensor

from headway.decoding.packed.weights import Projection
from headway.errors import ConfigError
from headway.kernels import dispatch
from headway.kernels.row_buckets import few_counts

# Activations have 8 bits on processors that sum products in 32 bits (VNNI). Others sum two products
# in 16 bits, which hold products of 8 by 7 bits.
LEVELS = 127 if dispatch.pytorch_has("avx512_vnni") else 63


class ByteKind(NamedTuple):
    """The integers in which oneDNN takes activations, and the rows from which it is used."""

    dtype: torch.dtype
    offset: int
    """The number that is added to each integer."""
    fewest_rows: int
    """The number of rows from which it is faster than FBGEMM."""


# For tiles of the processor (AMX): signed, so that no offset must be subtracted afterwards.
TILES = ByteKind(torch.int8, 0, dispatch.ONEDNN_ROWS_AMX)
# For the dot products of VNNI, which multiply an unsigned byte by a signed one.
DOT_PRODUCTS = ByteKind(torch.uint8, 128, dispatch.ONEDNN_ROWS_VNNI)


def quantize_weight(
    weight: Float[Tensor, "out in"], least: Float[Tensor, " out"] | None = None
) -> tuple[Int8[Tensor, "out in"], Float[Tensor, " out"]]:
    """Return whole numbers from -127 to 127 and the step of each output, at least `least`.

    Tolerance: the error of a weight is at most half a step, which is 1/254 of the largest weight of
    its output unless `least` is larger.
    """
    steps = (weight.float().abs().amax(dim=1) / 127).clamp_min(1e-30)
    if least is not None:
        steps = steps.maximum(least)
    return (weight.float() / steps[:, None]).round().to(torch.int8), steps


def quantize_rows(
    x: Float[Tensor, "R in"],
) -> tuple[Float[Tensor, "R in"], Float[Tensor, " R"]]:
    """Return whole numbers from -LEVELS to LEVELS and the step of each row."""
    largest = x.abs().amax(dim=1)
    steps = torch.where(largest < 1e-30, 1.0, largest / LEVELS)  # so that its inverse is finite
    return (x * steps.reciprocal()[:, None]).round(), steps


class Int8Product:
    """A product of integers: weights in 8 bits with a step for each output, rows in 7 or 8 bits.

    The integers are multiplied and summed without rounding, so a row's result is the same in every
    batch and with both libraries of PyTorch: FBGEMM, or oneDNN for many rows on a processor with
    AMX or VNNI.
    """

    def __init__(self, projection: Projection, relu: bool) -> None:
        """Round and pack the weights; ConfigError if PyTorch has no such product."""
        weight, self.steps = quantize_weight(projection.weight)
        self.bias = projection.bias.float()
        self.relu = relu
        self.packed = _pack(weight)
        kind = byte_kind()
        self.for_many_rows = None if kind is None else OneDnnProduct(weight, kind)

    def __call__(self, x: Float[Tensor, "R in"]) -> Float[Tensor, "R out"]:
        """Compute (R, in) -> (R, out)."""
        whole, steps = quantize_rows(x)
        if kind := self.bytes_for(len(x)):
            whole = (whole + kind.offset).to(kind.dtype)
            whole = F.pad(whole, (0, 0, 0, few_counts(len(x)) - len(x)))
        y = self.multiply(whole)[: len(x)].mul_(steps[:, None] * self.steps).add_(self.bias)
        return y.relu_() if self.relu else y

    def bytes_for(self, rows: int) -> ByteKind | None:
        """Return the type of bytes that `multiply` needs for `rows` rows; None for float32."""
        if self.for_many_rows is None or rows < self.for_many_rows.kind.fewest_rows:
            return None
        return self.for_many_rows.kind

    def multiply(
        self, whole: Float[Tensor, "R in"] | Integer[Tensor, "R in"]
    ) -> Float[Tensor, "R out"]:
        """Multiply whole numbers; the caller multiplies the result by the steps."""
        if self.for_many_rows is not None and not whole.is_floating_point():
            return self.for_many_rows(whole)
        return _multiply_packed(whole, self.packed)


class OneDnnProduct:
    """The product of `Int8Product` by oneDNN, for activations in bytes."""

    def __init__(self, weight: Int8[Tensor, "out in"], kind: ByteKind) -> None:
        """Pack the weights for oneDNN, with steps of 1 and zero points of 0."""
        self.kind = kind
        self.packed = torch.ops.onednn.qlinear_prepack(weight, None)
        self.ones = torch.ones(len(weight))
        self.zeros = torch.zeros(len(weight), dtype=torch.int32)

    def __call__(self, whole: Integer[Tensor, "R in"]) -> Float[Tensor, "R out"]:
        """Sum in 32 bits; sums above 2^24 are rounded to float32, as in FBGEMM.

        The offset is subtracted from the sums while they are whole numbers.
        """
        return torch.ops.onednn.qlinear_pointwise(
            whole, 1.0, self.kind.offset, self.packed, self.ones, self.zeros,
            None, 1.0, 0, torch.float32, "none", [], "",
        )  # fmt: skip


def byte_kind() -> ByteKind | None:
    """Return the integers that oneDNN multiplies fast on this processor; None if there are none.

    Without AMX, signed bytes take many times as long as FBGEMM; benchmarks/log/013.
    """
    kinds = {dispatch.By.ONEDNN_AMX: TILES, dispatch.By.ONEDNN_VNNI: DOT_PRODUCTS}
    return kinds.get(dispatch.pytorch_int8().by)


def _multiply_packed(
    whole: Float[Tensor, "R in"], packed: torch.ScriptObject
) -> Float[Tensor, "R out"]:
    """Multiply whole numbers by FBGEMM."""
    return torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32(
        whole, 1.0, LEVELS + 1, packed
    )


def _pack(weight: Int8[Tensor, "out in"]) -> torch.ScriptObject:
    """Pack whole numbers with a step of 1, so that the output of a product is its sums."""
    try:
        with warnings.catch_warnings():
            # PyTorch deprecates these tensors, but on AVX2 it has no other fast product.
            warnings.filterwarnings("ignore", message=".*quantized tensor creation.*")
            whole = torch.quantize_per_tensor(weight.float(), 1.0, 0, torch.qint8)
            packed = torch.ops.quantized.linear_prepack(whole, None)
            # Packing also succeeds where the multiplication does not exist, so it is tried here.
            _multiply_packed(torch.zeros(1, weight.size(1)), packed)
            return packed
    except (AttributeError, NotImplementedError, RuntimeError) as error:
        raise ConfigError(
            f"This PyTorch cannot multiply 8-bit integers here ({str(error).splitlines()[0]}).",
            "Use precision float32, or bfloat16 where the processor has it.",
        ) from error
