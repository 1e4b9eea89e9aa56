"""All layers of a decoder in one call, and the Add & Norm around each sub-layer (section 3.1)."""

import math

import numpy as np
from numpy.typing import NDArray

from headway.kernels.arrays import Floats, Ints, Numbers, Words
from headway.kernels.codegen.addresses import array_at
from headway.kernels.codegen.calls import call_at
from headway.kernels.codegen.numba_compiler import compiled

Caches = tuple[Numbers, Numbers, Numbers, Numbers]
"""Keys and values of the past, keys and values of the memory; those of the first layer. An SSRU has
its cells in place of the keys, and values of width 0."""
Weights = tuple[Words, Words, Words, Words, Words, Words]
"""w_qkv and w_o of self-attention, w_q and w_o of cross-attention, w_1 and w_2, as `project` takes
them; those of the first layer, the bits of any kind in int32. An SSRU has its one product in place
of w_qkv, and again in place of w_o, which is not read."""


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
    caches: Caches,
    cache_addresses: Ints,
    helper: int,
    weights: Weights,
    weight_addresses: Ints,
    calls: Ints,
    num_heads: int,
    d_ff: int,
    gammas: Floats,
    betas: Floats,
    epsilon: np.float32,
    pre: bool,
    recurrent: bool,
) -> None:
    """Run all decoder layers, in one call.

    The sums are the same as with one call for each operation. One call saves the overhead of many,
    which for a few rows takes longer than the sums. x: (R, d_model), embedded; the result
    overwrites it. helper: of `two_cores.multiply`. cache_addresses, (4, layers), and
    weight_addresses, (6, layers): where the caches and weights of each layer are (`addresses_of`).
    calls: the addresses of `linear.product_with` for the first four kinds of weights, of
    `linear.network_with`, of both kinds of attention (for an SSRU, of `recur` in place of attention
    to the past), and of `attention_step.attend_at`, (8,). gammas and betas: one row for each
    sub-layer and, with pre-norm, one for the last norm. recurrent: the first sub-layer is an SSRU.
    """
    past_keys, past_values, memory_keys, memory_values = caches
    w_qkv, w_o, w_q, w_memory, w_1, w_2 = weights
    count, d_model = x.shape
    total = np.empty((count, d_model), np.float32)
    y = np.empty((count, d_model), np.float32)
    d_keys, d_values = past_keys.shape[2], past_values.shape[2]  # of all heads
    qkv = np.empty((count, 2 * d_keys + d_values), np.float32)
    q = np.empty((count, memory_keys.shape[2]), np.float32)
    heads = np.empty((count, memory_values.shape[2]), np.float32)
    # A sub-layer's output is added to the base. Post-norm: x itself. Pre-norm: the sum before the
    # norm. It takes turns with `total`, because Numba orders the additions differently if input and
    # output are one array.
    base = x
    norm = 0
    if pre:
        base = x.copy()
        y[:] = np.float32(0.0)
        add_norm(base, y, gammas[0], betas[0], epsilon, total, x)
        norm = 1
    for layer in range(cache_addresses.shape[1]):
        at, weight_at = cache_addresses[:, layer], weight_addresses[:, layer]
        call_at(calls[0], (x, array_at(w_qkv, weight_at[0]), False, qkv, helper))
        keys, values = array_at(past_keys, at[0]), array_at(past_values, at[1])
        if recurrent:
            call_at(calls[5], (qkv, rows, lengths, owners, keys, y))
        else:
            attended = qkv, rows, lengths, owners, keys, values, calls[7], num_heads, heads
            call_at(calls[5], attended)
            call_at(calls[1], (heads, array_at(w_o, weight_at[1]), False, y, helper))
        add_norm(base, y, gammas[norm], betas[norm], epsilon, total, x)
        base, total = (total, base) if pre else (base, total)
        call_at(calls[2], (x, array_at(w_q, weight_at[2]), False, q, helper))
        keys, values = array_at(memory_keys, at[2]), array_at(memory_values, at[3])
        call_at(calls[6], (q, slots, source_lengths, keys, values, calls[7], num_heads, heads))
        call_at(calls[3], (heads, array_at(w_memory, weight_at[3]), False, y, helper))
        add_norm(base, y, gammas[norm + 1], betas[norm + 1], epsilon, total, x)
        base, total = (total, base) if pre else (base, total)
        both = array_at(w_1, weight_at[4]), array_at(w_2, weight_at[5])
        call_at(calls[4], (x, both[0], both[1], d_ff, y, helper))
        add_norm(base, y, gammas[norm + 2], betas[norm + 2], epsilon, total, x)
        base, total = (total, base) if pre else (base, total)
        norm += 3
