"""The gradient of a weight on a CPU that sums up products of bfloat16, in compiled loops."""

import functools

import torch
from jaxtyping import Float
from torch import Tensor

from headway.loops.arrays import array, can_loop

# Products from which on dividing them among threads, 50 microseconds, is worth it.
_LEAST = 2**28


def fits(grad: Float[Tensor, "N d_out"], rows: Float[Tensor, "N d_in"]) -> bool:
    """Tell whether there are loops for these; figures in benchmarks/NOTES.md."""
    if not (grad.dtype == rows.dtype == torch.bfloat16 and can_loop(grad, rows) and _is_faster()):
        return False
    # Whoever watches operations, to count them for example, does not know this one.
    if grad.numel() * rows.size(1) < _LEAST or torch._C._len_torch_dispatch_stack() > 0:
        return False
    from headway.loops.outer_products import COLUMNS

    return rows.size(1) % COLUMNS == 0


def put_weight_gradient(
    grad: Float[Tensor, "N d_out"],
    rows: Float[Tensor, "N d_in"],
    out: Float[Tensor, "d_out d_in"],
    *,
    add: bool = False,
) -> Float[Tensor, "d_out"]:
    """Put grad^T rows, the gradient of a weight, into out, or add it to what is there.

    Return the sums of grad over the rows, the gradient of a bias. Both are in float32, which out
    must have. For what `fits`.
    """
    from headway.loops.outer_products import COLUMNS, multiply_columns
    from headway.loops.threads import divide

    d_out, d_in = out.shape
    lots = -(-d_out // COLUMNS)
    sums = torch.empty(lots * COLUMNS, dtype=torch.float32)
    # Each thread prepares all of one matrix for itself, and its part of the other, the larger one.
    given = array(grad), array(rows), add, array(out), array(sums), d_in > d_out
    divide(functools.partial(multiply_columns, *given), max(lots, d_in // COLUMNS))
    return sums[:d_out]


@functools.cache
def _is_faster() -> bool:
    """Tell whether the processor has the sums, and none of tiles (AMX), which PyTorch uses."""
    from headway.loops.blocks import multiplies_bfloat16
    from headway.loops.compiling import host_has
    from headway.loops.threads import can_divide

    return multiplies_bfloat16() and not host_has("amx-bf16") and can_divide()
