"""All layers of a decoder in one call, and the Add & Norm around each sub-layer (section 3.1)."""

import math

import numpy as np
from numpy.typing import NDArray

from headway.kernels.arrays import Floats, Ints, Numbers, Words
from headway.kernels.attention_step import attend_to_memory, attend_to_past
from headway.kernels.codegen.numba_compiler import compiled
from headway.kernels.linear import feed_forward, project

Caches = tuple[Numbers, ...]
Weights = tuple[tuple[Words, ...], ...]


@compiled
def add_norm(
    x: Floats,
    y: Floats,
    gamma: Floats,
    beta: Floats,
    epsilon: np.float32,
    total: Floats,
    norm: Floats,
) -> None:
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


@compiled
def decode_rows(
    x: Floats,
    rows: Ints,
    slots: Ints,
    lengths: Ints,
    owners: NDArray[np.int32],
    source_lengths: Ints,
    past_keys: Caches,
    past_values: Caches,
    memory_keys: Caches,
    memory_values: Caches,
    num_heads: int,
    d_ff: int,
    weights: Weights,
    gammas: Floats,
    betas: Floats,
    epsilon: np.float32,
    pre: bool,
) -> None:
    """Run all decoder layers, in one call.

    The sums are those of one call for each operation. One call saves the way into each call and
    back, which for a few rows takes longer than the sums. x: (R, d_model), embedded; the result
    overwrites it. weights: w_qkv and w_o of self-attention, w_q and w_o of cross-attention, w_1 and
    w_2; of each, the weights of all layers as `project` takes them. gammas and betas: one row for
    each sub-layer and, with pre-norm, one for the closing norm.
    """
    w_qkv, w_o, w_q, w_memory, w_1, w_2 = weights
    count, d_model = x.shape
    total = np.empty((count, d_model), np.float32)
    y = np.empty((count, d_model), np.float32)
    d_keys, d_values = past_keys[0].shape[2], past_values[0].shape[2]  # of all heads
    qkv = np.empty((count, 2 * d_keys + d_values), np.float32)
    q = np.empty((count, memory_keys[0].shape[2]), np.float32)
    heads = np.empty((count, d_values), np.float32)
    # The base is what a sub-layer's output is added to. Post-norm: x itself. Pre-norm: the sum
    # before the norm, which takes turns with `total`, because Numba orders the additions otherwise
    # if input and output are one array.
    base = x
    norm = 0
    if pre:
        base = x.copy()
        y[:] = np.float32(0.0)
        add_norm(base, y, gammas[0], betas[0], epsilon, total, x)
        norm = 1
    for layer in range(len(past_keys)):
        project(x, w_qkv[layer], False, qkv)
        keys, values = past_keys[layer], past_values[layer]
        attend_to_past(qkv, rows, lengths, owners, keys, values, num_heads, heads)
        project(heads, w_o[layer], False, y)
        add_norm(base, y, gammas[norm], betas[norm], epsilon, total, x)
        base, total = (total, base) if pre else (base, total)
        project(x, w_q[layer], False, q)
        keys, values = memory_keys[layer], memory_values[layer]
        attend_to_memory(q, slots, source_lengths, keys, values, num_heads, heads)
        project(heads, w_memory[layer], False, y)
        add_norm(base, y, gammas[norm + 1], betas[norm + 1], epsilon, total, x)
        base, total = (total, base) if pre else (base, total)
        feed_forward(x, w_1[layer], w_2[layer], d_ff, y)
        add_norm(base, y, gammas[norm + 2], betas[norm + 2], epsilon, total, x)
        base, total = (total, base) if pre else (base, total)
        norm += 3
