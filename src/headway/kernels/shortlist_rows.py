"""Products of a few rows with the weights of a few outputs, which are read where they lie."""

import numpy as np

from headway.kernels.codegen.numba_compiler import compiled


@compiled
def multiply_listed(x, slots, table, sizes, weight, bias, y):
    """Compute y[i, j] = x[i] . weight[p] + bias[p] for p = table[slots[i], j].

    x: (R, d_model), rows of a slot side by side. table: (slots, W), sizes: (slots,). weight:
    (V, d_model). bias: (V,). y: (R, W or less). Two rows of a slot are taken together, for a
    weight read then serves both; which two does not depend on other slots.
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
def _multiply_one(x, pieces, weight, bias, y):
    """Take four pieces at a time, for an input read then serves all."""
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
def _multiply_two(x, z, pieces, weight, bias, y, u):
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
def _dot(x, w):
    total = np.float32(0.0)
    for c in range(x.size):
        total += x[c] * w[c]
    return total
