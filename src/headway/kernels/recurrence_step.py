"""One step of an SSRU in the decoder, for any rows."""

import numpy as np
from numba import types
from numpy.typing import NDArray

from headway.kernels.arrays import Floats, Ints
from headway.kernels.codegen.numba_compiler import compiled
from headway.kernels.codegen.vectors import Code, Value, generated


@generated(types.float32)
def sigmoid(code: Code, x: Value) -> Value:
    """Return 1 / (1 + e^-x) of one number, without branches, so that LLVM vectorizes loops."""
    return code.sigmoid(x)


@compiled
def recur(
    projected: Floats,
    rows: Ints,
    lengths: Ints,
    owners: NDArray[np.int32],
    cells: Floats,
    out: Floats,
) -> None:
    """Compute c = f * c_before + (1 - f) * x of each row, and out = ReLU(c), (R, d_model).

    projected: x, then f before its sigmoid, (R, 2 d_model). lengths: positions that a row of the
    cache had before. owners[r, t]: the row that holds position t of row r's past, because a
    hypothesis continues its parent. cells: (rows, 2, d_model); position t is in place t mod 2, so
    that the cell before stays for other children of the same parent.
    """
    width = cells.shape[2]
    for i in range(rows.size):
        row = rows[i]
        length = lengths[row]
        owners[row, length] = row
        candidate, gate, result = projected[i, :width], projected[i, width:], out[i]
        new = cells[row, length % 2]
        if length == 0:
            for c in range(width):
                new[c] = (np.float32(1.0) - sigmoid(gate[c])) * candidate[c]
        else:
            before = cells[owners[row, length - 1], (length - 1) % 2]
            for c in range(width):
                forget = sigmoid(gate[c])
                new[c] = forget * before[c] + (np.float32(1.0) - forget) * candidate[c]
        for c in range(width):
            result[c] = max(new[c], np.float32(0.0))
