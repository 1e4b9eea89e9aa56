"""All layers of a decoder in one call."""

import numpy as np

from headway.decoding.loops.attention import add_norm, attend_to_memory, attend_to_past
from headway.decoding.loops.compiling import compiled
from headway.decoding.loops.products import project


@compiled
def decode_rows(
    x, rows, slots, lengths, owners, source_lengths, past_keys, past_values, memory_keys,
    memory_values, num_heads, projections, outputs, gammas, betas, epsilon, pre,
):  # fmt: skip
    """Run all decoder layers, in one call.

    The same sums as one by one: what is saved is the way into each call and back, which for few
    rows takes longer than the sums. x: (R, d_model), embedded; it is overwritten with the result.
    Of each layer projections has w_qkv, w_q, w_1 and w_2, and outputs has the two w_o, as `project`
    takes them. gammas and betas: one a sub-layer and, with pre-norm, the closing one.
    """
    count, d_model = x.shape
    total = np.empty((count, d_model), np.float32)
    y = np.empty((count, d_model), np.float32)
    qkv = np.empty((count, projections[0][2].size), np.float32)
    q = np.empty((count, projections[1][2].size), np.float32)
    hidden = np.empty((count, projections[2][2].size), np.float32)
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
        first = 4 * layer
        project(x, projections[first], False, qkv)
        keys, values = past_keys[layer], past_values[layer]
        attend_to_past(qkv, rows, lengths, owners, keys, values, num_heads, heads)
        project(heads, outputs[2 * layer], False, y)
        add_norm(base, y, gammas[norm], betas[norm], epsilon, total, x)
        base, total = (total, base) if pre else (base, total)
        project(x, projections[first + 1], False, q)
        keys, values = memory_keys[layer], memory_values[layer]
        attend_to_memory(q, slots, source_lengths, keys, values, num_heads, heads)
        project(heads, outputs[2 * layer + 1], False, y)
        add_norm(base, y, gammas[norm + 1], betas[norm + 1], epsilon, total, x)
        base, total = (total, base) if pre else (base, total)
        project(x, projections[first + 2], True, hidden)
        project(hidden, projections[first + 3], False, y)
        add_norm(base, y, gammas[norm + 2], betas[norm + 2], epsilon, total, x)
        base, total = (total, base) if pre else (base, total)
        norm += 3
