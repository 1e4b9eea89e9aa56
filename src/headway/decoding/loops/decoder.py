"""All layers of a decoder in one call."""

import numpy as np

from headway.decoding.loops.attention import add_norm, attend_to_memory, attend_to_past
from headway.decoding.loops.compiling import compiled
from headway.decoding.loops.products import project


@compiled
def decode_rows(
    x, rows, slots, lengths, owners, source_lengths, past_keys, past_values, memory_keys,
    memory_values, num_heads, projections, feed_forward, gammas, betas, epsilon, pre,
):  # fmt: skip
    """Run all decoder layers, in one call.

    The same sums as one by one: what is saved is the way into each call and back, which for few
    rows takes longer than the sums. x: (R, d_model), embedded; it is overwritten with the result.
    Of each layer projections has w_qkv, w_o, w_q and w_o, and feed_forward w_1 and w_2, as
    `project` takes them. gammas and betas: one a sub-layer and, with pre-norm, the closing one.
    """
    count, d_model = x.shape
    total = np.empty((count, d_model), np.float32)
    y = np.empty((count, d_model), np.float32)
    qkv = np.empty((count, projections[0][2].size), np.float32)
    hidden = np.empty((count, feed_forward[0][2].size), np.float32)
    q = np.empty((count, projections[2][2].size), np.float32)
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
        a, e = 4 * layer, 2 * layer
        b, c, d, f = a + 1, a + 2, a + 3, e + 1
        project(x, projections[a], False, qkv)
        keys, values = past_keys[layer], past_values[layer]
        attend_to_past(qkv, rows, lengths, owners, keys, values, num_heads, heads)
        project(heads, projections[b], False, y)
        add_norm(base, y, gammas[norm], betas[norm], epsilon, total, x)
        base, total = (total, base) if pre else (base, total)
        project(x, projections[c], False, q)
        keys, values = memory_keys[layer], memory_values[layer]
        attend_to_memory(q, slots, source_lengths, keys, values, num_heads, heads)
        project(heads, projections[d], False, y)
        add_norm(base, y, gammas[norm + 1], betas[norm + 1], epsilon, total, x)
        base, total = (total, base) if pre else (base, total)
        project(x, feed_forward[e], True, hidden)
        project(hidden, feed_forward[f], False, y)
        add_norm(base, y, gammas[norm + 2], betas[norm + 2], epsilon, total, x)
        base, total = (total, base) if pre else (base, total)
        norm += 3
