"""All layers of a decoder in one call."""

import numpy as np

from headway.kernels.attention_step import attend_to_memory, attend_to_past
from headway.kernels.codegen.numba_compiler import compiled
from headway.kernels.layer_norm import add_norm
from headway.kernels.linear import feed_forward, project


@compiled
def decode_rows(
    x, rows, slots, lengths, owners, source_lengths, past_keys, past_values, memory_keys,
    memory_values, num_heads, d_ff, weights, gammas, betas, epsilon, pre,
):  # fmt: skip
    """Run all decoder layers, in one call.

    The same sums as one by one: what is saved is the way into each call and back, which for few
    rows takes longer than the sums. x: (R, d_model), embedded; it is overwritten with the result.
    weights: w_qkv and w_o of self-attention, w_q and w_o of cross-attention, w_1 and w_2, of each
    what `project` takes for all layers. gammas and betas: one row a sub-layer and, with pre-norm,
    the closing one.
    """
    w_qkv, w_o, w_q, w_memory, w_1, w_2 = weights
    count, d_model = x.shape
    total = np.empty((count, d_model), np.float32)
    y = np.empty((count, d_model), np.float32)
    d_keys, d_values = past_keys[0].shape[2], past_values[0].shape[2]  # of all heads
    qkv = np.empty((count, 2 * d_keys + d_values), np.float32)
    q = np.empty((count, memory_keys[0].shape[2]), np.float32)
    heads = np.empty((count, d_values), np.float32)
    # What a sub-layer's output is added to: post-norm x itself; pre-norm the bare sum, which then
    # takes turns with `total`: where input and output are one array, sums come in another order.
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
