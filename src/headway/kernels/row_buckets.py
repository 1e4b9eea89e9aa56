"""Rows padded with zeros, so that products by oneDNN have few different numbers of rows.

For each number of rows oneDNN makes machine code in 0.3 to 18 ms. A tiny model's product takes 0.05
to 0.5 ms, and batches of text hardly ever repeat a number. Making this code took a quarter of such
a model's step (benchmarks/log/071).
"""

import torch
from jaxtyping import Float
from torch import Tensor

from headway.kernels import dispatch

_TILE = 16


def filled_up(rows: Float[Tensor, "N d"], dtype: torch.dtype) -> Float[Tensor, "M d"]:
    """Return the rows in this type; in bfloat16 on a CPU padded with zeros, M = few_counts(N).

    A dispatch mode that watches operations, for example to count them, sees those on N rows.
    """
    count = few_counts(len(rows)) if dispatch.pads_rows(rows.device, dtype) else len(rows)
    if count == len(rows):
        return rows.to(dtype)
    filled = rows.new_empty(count, rows.size(1), dtype=dtype)
    filled[: len(rows)] = rows
    filled[len(rows) :] = 0
    return filled


def few_counts(rows: int) -> int:
    """Round a number of rows up to whole tiles; above 128, to an eighth of a power of two.

    Part of a tile (AMX) takes as long as a whole tile.
    """
    step = max(_TILE, 2 ** ((rows - 1).bit_length() - 4))
    return -(-rows // step) * step
