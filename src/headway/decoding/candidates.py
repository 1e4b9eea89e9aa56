"""The best pieces of each row: a partial sort, and one sum for the probabilities."""

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from headway.decoding.engine import Ints
from headway.loops.arrays import has_numba

Floats = NDArray[np.float32]


def best_pieces(
    logits: Float[Tensor, "R V"], count: int, never: Sequence[int] = ()
) -> tuple[Floats, Ints, Floats]:
    """Return the best logits and their ids, best first, (R, count), and log(sum(exp)), (R,).

    never: pieces that are not among the best, though they count in the sum; `logits` lose them.
    """
    logits = logits.float()
    if logits.device.type == "cpu" and has_numba():
        return _compiled_best(logits.contiguous(), count, never)
    totals = logits.logsumexp(dim=1)
    logits[:, never] = -math.inf
    values, ids = logits.topk(count, dim=1)
    return values.cpu().numpy(), ids.cpu().numpy(), totals.cpu().numpy()


def _compiled_best(
    logits: Float[Tensor, "R V"], count: int, never: Sequence[int]
) -> tuple[Floats, Ints, Floats]:
    from headway.loops.logits import best_pieces as find

    rows = len(logits)
    values, ids = np.empty((rows, count), np.float32), np.empty((rows, count), np.int64)
    totals = np.empty(rows, np.float32)
    find(logits.numpy(), np.array(never, dtype=np.int64), values, ids, totals)
    return values, ids, totals
