"""The two gradients of a projection: of its weight, and of what it was given.

Where the processor sums up products of bfloat16, large ones are computed by loops: of the weight in
any case, of what it was given except with tiles (AMX), with which PyTorch is faster.
"""

import functools

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from headway.kernels import COLUMNS, threads
from headway.kernels.arrays import TYPES, array, can_loop, is_watched
from headway.kernels.row_buckets import filled_up

# From so many products on they pay; of each thread, so many lots of columns. With tiles (AMX) from
# fewer: to fill up both matrices for oneDNN takes a tenth of a tiny model's step
# (benchmarks/log/037, 070 and 071).
_LEAST, _LEAST_BY_TILES = 2**28, 2**22
_LOTS = 2


def weight_gradient(
    grad: Float[Tensor, "N d_out"], rows: Float[Tensor, "N d_in"]
) -> tuple[Float[Tensor, "d_out d_in"], Float[Tensor, " d_out"] | None]:
    """Return grad^T rows, the gradient of a weight, and what it costs nothing to sum beside it.

    That is grad over the rows, the gradient of a bias. Both are then in float32, as they are summed
    up; otherwise the first is in the type of grad, and there is no second.
    """
    if not _has_loops(grad, rows):
        return filled_up(grad, grad.dtype).T @ filled_up(rows, rows.dtype), None
    total = grad.new_empty(grad.size(1), rows.size(1), dtype=torch.float32)
    return total, _multiply(grad, rows, total, add=False)


def input_gradient(
    grad: Float[Tensor, "N d_out"], weight: Float[Tensor, "d_out d_in"], dtype: torch.dtype
) -> Float[Tensor, "N d_in"]:
    """Return grad W, the gradient of what was projected, in this type.

    Loops round their sums to this type only; PyTorch's product to that of grad before.
    """
    # PyTorch's product is faster into more columns, and by tiles: benchmarks/log/049, 050.
    shrinks = weight.size(1) <= weight.size(0) and weight.size(0) % 2 == 0
    if not shrinks or dtype not in TYPES or not _has_loops(grad, weight) or _has_tiles():
        return (filled_up(grad, grad.dtype) @ weight)[: len(grad)].to(dtype)
    from headway.kernels.input_gradient import multiply_rows

    x = grad.new_empty(grad.size(0), weight.size(1), dtype=dtype)
    given = array(grad).view("u4"), array(weight), array(x), _blocks(weight)
    threads.divide(multiply_rows, *given, count=len(grad))
    return x


def add_weight_gradient(
    total: Float[Tensor, "d_out d_in"],
    grad: Float[Tensor, "N d_out"],
    rows: Float[Tensor, "N d_in"],
) -> None:
    """Add grad^T rows to the total."""
    if total.dtype == grad.dtype:
        total.addmm_(grad.T, rows)
    elif total.dtype == torch.float32 and total.is_contiguous() and _has_loops(grad, rows):
        _multiply(grad, rows, total, add=True)
    else:
        total += grad.T @ rows


def _has_loops(grad: Tensor, rows: Tensor) -> bool:
    """Tell whether there are loops for these, and whether they are faster."""
    widest, products = max(grad.size(1), rows.size(1)), grad.numel() * rows.size(1)
    return (
        grad.dtype == rows.dtype == torch.bfloat16
        and rows.size(1) % COLUMNS == 0
        and products >= _LEAST_BY_TILES
        and widest >= _LOTS * COLUMNS * torch.get_num_threads()
        and type(grad) is type(rows) is Tensor
        and can_loop(grad, rows)
        and not is_watched()
        and _has_sums()
        and (products >= _LEAST or _has_tiles())
        and threads.can_divide()
    )


@functools.cache
def _has_sums() -> bool:
    """Tell whether the processor has such sums."""
    from headway.kernels.linear_blocks import multiplies_bfloat16

    return multiplies_bfloat16()


@functools.cache
def _has_tiles() -> bool:
    """Tell whether the processor multiplies tiles (AMX)."""
    from headway.kernels.codegen.numba_compiler import has_tiles

    return has_tiles()


def _multiply(grad: Tensor, rows: Tensor, total: Tensor, *, add: bool) -> Float[Tensor, " d_out"]:
    """Put grad^T rows into the total, or add it; return the sums of grad over the rows."""
    d_out, d_in = total.shape
    lots = -(-d_out // COLUMNS)
    sums = grad.new_empty(lots * COLUMNS, dtype=torch.float32)
    given = array(grad), array(rows), add, array(total), array(sums)
    if _has_tiles():
        from headway.kernels import weight_gradient_amx

        threads.divide(weight_gradient_amx.multiply_columns, *given, _blocks(rows), count=lots)
        return sums[:d_out]
    from headway.kernels import weight_gradient as loops

    # Each thread interleaves all of one matrix for itself, and its part of the larger one.
    by_rows = d_in > d_out
    count = d_in // COLUMNS if by_rows else lots
    threads.divide(loops.multiply_columns, *given, by_rows, count=count)
    return sums[:d_out]


def _blocks(matrix: Tensor) -> np.ndarray:
    """Return room for the blocks of a matrix."""
    from headway.kernels.input_gradient import words_of_blocks

    return matrix.new_empty(words_of_blocks(*matrix.shape), dtype=torch.int32).numpy().view("u4")
