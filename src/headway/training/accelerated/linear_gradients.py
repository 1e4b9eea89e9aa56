"""The two gradients of a projection: of its weight, and of its input.

Compiled kernels compute large products of bfloat16 where the processor sums them up; see
`dispatch.weight_gradient` and `dispatch.input_gradient`.
"""

import numpy as np
import torch
from jaxtyping import Float, UInt32
from torch import Tensor

from headway.kernels import COLUMNS, dispatch, threads
from headway.kernels.row_buckets import filled_up
from headway.training.accelerated.arrays import array


def weight_gradient(
    grad: Float[Tensor, "N d_out"], rows: Float[Tensor, "N d_in"]
) -> tuple[Float[Tensor, "d_out d_in"], Float[Tensor, " d_out"] | None]:
    """Return grad^T rows, the gradient of a weight, and the sum of grad over the rows.

    The sum is the gradient of a bias. The kernel returns both in float32, as it sums them up.
    PyTorch returns the first in the type of grad, and no sum.
    """
    by = dispatch.weight_gradient(grad, rows).by
    if by is dispatch.By.PYTORCH:
        return filled_up(grad, grad.dtype).T @ filled_up(rows, rows.dtype), None
    total = grad.new_empty(grad.size(1), rows.size(1), dtype=torch.float32)
    return total, _multiply(grad, rows, total, by, add=False)


def input_gradient(
    grad: Float[Tensor, "N d_out"], weight: Float[Tensor, "d_out d_in"], dtype: torch.dtype
) -> Float[Tensor, "N d_in"]:
    """Return grad W, the gradient of a projection's input, in this type.

    The kernel rounds its sums once, to this type; PyTorch's product rounds to that of grad first.
    """
    if dispatch.input_gradient(grad, weight, dtype).by is dispatch.By.PYTORCH:
        return (filled_up(grad, grad.dtype) @ weight)[: len(grad)].to(dtype)
    from headway.kernels.input_gradient import multiply_rows

    x = grad.new_empty(grad.size(0), weight.size(1), dtype=dtype)
    pairs = array(grad).view("u4")
    threads.divide(
        multiply_rows, pairs, array(weight), array(x), _room_for_blocks(weight), count=len(grad)
    )
    return x


def add_weight_gradient(
    total: Float[Tensor, "d_out d_in"],
    grad: Float[Tensor, "N d_out"],
    rows: Float[Tensor, "N d_in"],
) -> None:
    """Add grad^T rows to the total."""
    if total.dtype == grad.dtype:
        total.addmm_(grad.T, rows)
        return
    by = dispatch.weight_gradient(grad, rows).by
    if by is dispatch.By.PYTORCH or total.dtype != torch.float32 or not total.is_contiguous():
        total += grad.T @ rows
        return
    _multiply(grad, rows, total, by, add=True)


def _multiply(
    grad: Tensor, rows: Tensor, total: Tensor, by: dispatch.By, *, add: bool
) -> Float[Tensor, " d_out"]:
    """Put grad^T rows into the total, or add it; return the sums of grad over the rows."""
    d_out, d_in = total.shape
    blocks = -(-d_out // COLUMNS)
    sums = grad.new_empty(blocks * COLUMNS, dtype=torch.float32)
    if by is dispatch.By.NUMBA_AMX:
        from headway.kernels.weight_gradient_amx import multiply_columns

        threads.divide(
            multiply_columns, array(grad), array(rows), add, array(total), array(sums),
            _room_for_blocks(rows), count=blocks,
        )  # fmt: skip
        return sums[:d_out]
    from headway.kernels import weight_gradient as kernel

    # Each thread interleaves one whole matrix, and its part of the larger one.
    by_rows = d_in > d_out
    threads.divide(
        kernel.multiply_columns, array(grad), array(rows), add, array(total), array(sums),
        by_rows, count=d_in // COLUMNS if by_rows else blocks,
    )  # fmt: skip
    return sums[:d_out]


def _room_for_blocks(matrix: Tensor) -> UInt32[np.ndarray, " words"]:
    """Return memory for the blocks of a matrix."""
    from headway.kernels.input_gradient import words_of_blocks

    return matrix.new_empty(words_of_blocks(*matrix.shape), dtype=torch.int32).numpy().view("u4")
