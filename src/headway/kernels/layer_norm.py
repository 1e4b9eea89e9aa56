"""The frame of a sub-layer, x + y and LayerNorm of it, in one loop (section 3.1)."""

import math

import numpy as np

from headway.kernels.codegen.numba_compiler import compiled


@compiled
def add_norm(x, y, gamma, beta, epsilon, total, norm):
    """Compute total = x + y and norm = LayerNorm(total), row by row, (R, d_model)."""
    width = x.shape[1]
    for i in range(x.shape[0]):
        mean = np.float32(0.0)
        for c in range(width):
            value = x[i, c] + y[i, c]
            total[i, c] = value
            mean += value
        mean /= np.float32(width)
        variance = np.float32(0.0)
        for c in range(width):
            centred = total[i, c] - mean
            variance += centred * centred
        scale = np.float32(1.0 / math.sqrt(variance / np.float32(width) + epsilon))
        for c in range(width):
            norm[i, c] = (total[i, c] - mean) * scale * gamma[c] + beta[c]
