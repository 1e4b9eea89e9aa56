"""All layers of a decoder in one call."""

import numpy as np

from headway.decoding.loops.attention import add_norm, attend_to_memory, attend_to_past
from headway.decoding.loops.compiling import compiled
from headway.decoding.loops.products import project


@compiled
def decode_rows(
    x, rows, slots, lengths, owners, source_lengths, past_keys, past_values, memory_keys,
    memory_values, num_heads, weights, steps, biases, gammas, betas, epsilon, pre, levels,
):  # fmt: skip
    """Run all decoder layers, in one call.

    The same sums as one by one: what is saved is the way into each call and back, which for few
    rows takes longer than the sums. x: (R, d_model), embedded; it is overwritten with the result.
    Of each layer weights, steps and biases hold w_qkv, w_o, w_q, w_o, w_1 and w_2; gammas and betas
    one a sub-layer and, with pre-norm, the closing one.
    """
    count, d_model = x.shape
    total = np.empty((count, d_model), np.float32)
    y = np.empty((count, d_model), np.float32)
    qkv = np.empty((count, biases[0].size), np.float32)
    hidden = np.empty((count, biases[4].size), np.float32)
    q = np.empty((count, biases[2].size), np.float32)
    heads = np.empty((count, past_values[0].shape[2]), np.float32)
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
        a = 6 * layer
        b, c, d, e, f = a + 1, a + 2, a + 3, a + 4, a + 5
        project(x, weights[a], steps[a], biases[a], False, levels, qkv)
        keys, values = past_keys[layer], past_values[layer]
        attend_to_past(qkv, rows, lengths, owners, keys, values, num_heads, heads)
        project(heads, weights[b], steps[b], biases[b], False, levels, y)
        add_norm(base, y, gammas[norm], betas[norm], epsilon, total, x)
        base, total = (total, base) if pre else (base, total)
        project(x, weights[c], steps[c], biases[c], False, levels, q)
        keys, values = memory_keys[layer], memory_values[layer]
        attend_to_memory(q, slots, source_lengths, keys, values, num_heads, heads)
        project(heads, weights[d], steps[d], biases[d], False, levels, y)
        add_norm(base, y, gammas[norm + 1], betas[norm + 1], epsilon, total, x)
        base, total = (total, base) if pre else (base, total)
        project(x, weights[e], steps[e], biases[e], True, levels, hidden)
        project(hidden, weights[f], steps[f], biases[f], False, levels, y)
        add_norm(base, y, gammas[norm + 2], betas[norm + 2], epsilon, total, x)
        base, total = (total, base) if pre else (base, total)
        norm += 3
