"""The projection to the pieces of each sentence's own list, compiled by Numba.

The rows of the output table are read where they lie, so that nothing is gathered when a sentence
begins, and a row costs what its own list costs, whatever lists the rest of the batch has. Figures
are in benchmarks/log/026.
"""

import numpy as np
from numpy.typing import NDArray

from headway.decoding.allowed import AllowedPieces
from headway.decoding.engine import Ints
from headway.kernels.shortlist_rows import multiply_listed

Floats = NDArray[np.float32]


class ListedLoop:
    """x weight^T + bias for some outputs of each row, in float32."""

    def __init__(self, weight: Floats, bias: Floats) -> None:
        """Use the table as it is, (V, d_model), and the bias, (V,)."""
        self.weight = weight
        self.bias = bias

    def __call__(self, x: Floats, slots: Ints, allowed: AllowedPieces) -> Floats:
        """Compute (R, d_model) -> (R, W); minus infinity beyond the end of a row's list."""
        y = np.empty((len(x), allowed.width(slots)), np.float32)
        multiply_listed(x, slots, allowed.table, allowed.sizes, self.weight, self.bias, y)
        return y
