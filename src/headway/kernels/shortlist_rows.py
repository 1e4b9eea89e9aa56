"""Products of a few rows with the weights of a few outputs, which are read in place."""

import numpy as np

from headway.kernels.arrays import Floats, Ints
from headway.kernels.codegen.numba_compiler import compiled


@compiled
def multiply_listed(
    x: Floats, slots: Ints, table: Ints, sizes: Ints, weight: Floats, bias: Floats, y: Floats
) -> None:
    """Compute y[i, j] = x[i] . weight[p] + bias[p] for p = table[slots[i], j].

    x: (R, d_model); rows of a slot are neighbours. table: (slots, W), sizes: (slots,). weight:
    (V, d_model). bias: (V,). y: (R, W or less). Two rows of a slot are multiplied together, because
    each weight is then read once for both; the choice of the two does not depend on other slots.
    """
    row = 0
    while row < x.shape[0]:
        slot = slots[row]
        pieces = table[slot, : sizes[slot]]
        if row + 1 < x.shape[0] and slots[row + 1] == slot:
            _multiply_two(x[row], x[row + 1], pieces, weight, bias, y[row], y[row + 1])
            y[row : row + 2, pieces.size :] = np.float32(-np.inf)
            row += 2
        else:
            _multiply_one(x[row], pieces, weight, bias, y[row])
            y[row, pieces.size :] = np.float32(-np.inf)
            row += 1


@compiled
def _multiply_one(x: Floats, pieces: Ints, weight: Floats, bias: Floats, y: Floats) -> None:
    """Take four pieces at a time, because each input is then read once for all."""
    whole = pieces.size - pieces.size % 4
    for j in range(0, whole, 4):
        p, q, r, s = pieces[j], pieces[j + 1], pieces[j + 2], pieces[j + 3]
        wp, wq, wr, ws = weight[p], weight[q], weight[r], weight[s]
        yp, yq = np.float32(0.0), np.float32(0.0)
        yr, ys = np.float32(0.0), np.float32(0.0)
        for c in range(x.size):
            yp += x[c] * wp[c]
            yq += x[c] * wq[c]
            yr += x[c] * wr[c]
            ys += x[c] * ws[c]
        y[j], y[j + 1], y[j + 2], y[j + 3] = yp + bias[p], yq + bias[q], yr + bias[r], ys + bias[s]
    for j in range(whole, pieces.size):
        y[j] = _dot(x, weight[pieces[j]]) + bias[pieces[j]]


@compiled
def _multiply_two(
    x: Floats, z: Floats, pieces: Ints, weight: Floats, bias: Floats, y: Floats, u: Floats
) -> None:
    """Take two rows with four pieces at a time."""
    whole = pieces.size - pieces.size % 4
    for j in range(0, whole, 4):
        p, q, r, s = pieces[j], pieces[j + 1], pieces[j + 2], pieces[j + 3]
        wp, wq, wr, ws = weight[p], weight[q], weight[r], weight[s]
        yp, yq = np.float32(0.0), np.float32(0.0)
        yr, ys = np.float32(0.0), np.float32(0.0)
        up, uq = np.float32(0.0), np.float32(0.0)
        ur, us = np.float32(0.0), np.float32(0.0)
        for c in range(x.size):
            yp += x[c] * wp[c]
            yq += x[c] * wq[c]
            yr += x[c] * wr[c]
            ys += x[c] * ws[c]
            up += z[c] * wp[c]
            uq += z[c] * wq[c]
            ur += z[c] * wr[c]
            us += z[c] * ws[c]
        y[j], y[j + 1], y[j + 2], y[j + 3] = yp + bias[p], yq + bias[q], yr + bias[r], ys + bias[s]
        u[j], u[j + 1], u[j + 2], u[j + 3] = up + bias[p], uq + bias[q], ur + bias[r], us + bias[s]
    for j in range(whole, pieces.size):
        y[j] = _dot(x, weight[pieces[j]]) + bias[pieces[j]]
        u[j] = _dot(z, weight[pieces[j]]) + bias[pieces[j]]


@compiled
def _dot(x: Floats, w: Floats) -> np.float32:
    total = np.float32(0.0)
    for c in range(x.size):
        total += x[c] * w[c]
    return total
