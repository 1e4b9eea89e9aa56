"""The inner loops of decoding on a CPU, compiled by Numba.

Arrays are float32 and contiguous unless said otherwise. R rows are hypotheses. Every loop works on
one row at a time; only `multiply_rows` takes two together, so that in float32 the last digit of a
sum may depend on how many rows there are.
"""

import math

import numba
import numpy as np

# Sums may be reordered, so that they use the machine's vectors. Not nnan or ninf: a model whose
# numbers are not finite must show it.
_compile = numba.njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "arcp", "nsz"})


@_compile
def _exp(x):
    """Compute e^x for x <= 0 within two units in the last place; the loops around it vectorize.

    2^t is 2^n, put together of bits, times a polynomial for the rest, which lies within a half.
    """
    t = max(x, np.float32(-87.0)) * np.float32(1.4426950408889634)
    n = np.floor(t + np.float32(0.5))
    rest = t - n
    power = np.float32(1.535336188319500e-4)
    power = power * rest + np.float32(1.339887440266574e-3)
    power = power * rest + np.float32(9.618437357674640e-3)
    power = power * rest + np.float32(5.550332471162809e-2)
    power = power * rest + np.float32(2.402264791363012e-1)
    power = power * rest + np.float32(6.931472028550421e-1)
    power = power * rest + np.float32(1.0)
    bits = np.int32((np.int32(n) + np.int32(127)) << np.int32(23))
    return power * bits.view(np.float32)


@_compile
def _attend(query, keys, values, owners, length, weights, out):
    """Compute equation 1 for one query, all heads.

    query: (H, d_k). Key s is keys[owners[s], s], (H, d_k), of keys (rows, T, H, d_k); values
    likewise. weights: (H, T), scratch. out: (H, d_v), the result.
    """
    num_heads, d_k = query.shape
    d_v = out.shape[1]
    scale = np.float32(1.0 / math.sqrt(d_k))
    for s in range(length):
        owner = owners[s]
        for h in range(num_heads):
            dot = np.float32(0.0)
            for c in range(d_k):
                dot += query[h, c] * keys[owner, s, h, c]
            weights[h, s] = dot * scale
    for h in range(num_heads):
        top = np.float32(-np.inf)
        for s in range(length):
            top = max(top, weights[h, s])
        total = np.float32(0.0)
        for s in range(length):
            weights[h, s] = _exp(weights[h, s] - top)
            total += weights[h, s]
        inverse = np.float32(1.0) / total
        for s in range(length):
            weights[h, s] *= inverse
        for c in range(d_v):
            out[h, c] = np.float32(0.0)
    for s in range(length):
        owner = owners[s]
        for h in range(num_heads):
            weight = weights[h, s]
            for c in range(d_v):
                out[h, c] += weight * values[owner, s, h, c]


@_compile
def _split(line, first, heads):
    """Copy the part of a line that begins at `first` into heads, (H, d)."""
    num_heads, width = heads.shape
    for h in range(num_heads):
        part = line[first + h * width : first + (h + 1) * width]
        for c in range(width):
            heads[h, c] = part[c]


@_compile
def attend_to_past(qkv, rows, lengths, owners, keys, values, out):
    """Append each row's newest key and value to its cache, then attend to all of its past.

    qkv: (R, H * (2 d_k + d_v)). rows: which row of the caches each is. lengths: positions that a
    row of the caches had before. owners[r, s]: the row that holds position s of row r's past, for
    a hypothesis shares the past of its parents. keys, values: (rows, T, H, d). out: (R, H, d_v).
    """
    _, room, num_heads, d_k = keys.shape
    width = num_heads * d_k
    query = np.empty((num_heads, d_k), np.float32)
    weights = np.empty((num_heads, room), np.float32)
    for i in range(rows.size):
        row = rows[i]
        length = lengths[row]
        _split(qkv[i], 0, query)
        _split(qkv[i], width, keys[row, length])
        _split(qkv[i], 2 * width, values[row, length])
        owners[row, length] = row
        _attend(query, keys, values, owners[row], length + 1, weights, out[i])


@_compile
def attend_to_memory(q, slots, lengths, keys, values, out):
    """Attend to the memory of each row's sentence.

    q: (R, H, d_k). slots: the sentence of each row. lengths: source pieces of each slot. keys,
    values: (slots, S, H, d). out: (R, H, d_v).
    """
    room, num_heads = keys.shape[1], keys.shape[2]
    weights = np.empty((num_heads, room), np.float32)
    owners = np.empty(room, np.int32)
    for i in range(slots.size):
        slot = slots[i]
        owners[:] = slot
        _attend(q[i], keys, values, owners, lengths[slot], weights, out[i])


@_compile
def attend_to_source(qkv, starts, keys, values, out):
    """Let each source piece attend to its sentence, which is pieces starts[b] to starts[b + 1].

    qkv: (N, H * (2 d_k + d_v)). keys, values: (1, longest, H, d), scratch. out: (N, H, d_v).
    """
    _, room, num_heads, d_k = keys.shape
    width = num_heads * d_k
    query = np.empty((num_heads, d_k), np.float32)
    weights = np.empty((num_heads, room), np.float32)
    owners = np.zeros(room, np.int32)
    for b in range(starts.size - 1):
        length = starts[b + 1] - starts[b]
        for s in range(length):
            _split(qkv[starts[b] + s], width, keys[0, s])
            _split(qkv[starts[b] + s], 2 * width, values[0, s])
        for s in range(length):
            _split(qkv[starts[b] + s], 0, query)
            _attend(query, keys, values, owners, length, weights, out[starts[b] + s])


@_compile
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


@_compile
def multiply_rows(x, weight, bias, relu, y):
    """Compute y = x weight + bias for a few rows; then max(0, y) where asked.

    x: (R, in). weight: (in, out), float32 or whole numbers in int8. y: (R, out).
    """
    for i in range(x.shape[0]):
        for o in range(y.shape[1]):
            y[i, o] = bias[o]
    paired = x.shape[0] - x.shape[0] % 2
    for i in range(0, paired, 2):
        _add_products_of_two(x[i], x[i + 1], weight, y[i], y[i + 1])
    if paired < x.shape[0]:
        _add_products(x[paired], weight, y[paired])
    if relu:
        for i in range(x.shape[0]):
            for o in range(y.shape[1]):
                y[i, o] = max(y[i, o], np.float32(0.0))


@_compile
def _add_products(x, weight, y):
    """Add x weight to y, (in,) (in, out) -> (out,), eight inputs at a time.

    So y is read and written less often, and the outputs, side by side, fill the vectors.
    """
    whole = x.size - x.size % 8
    for c in range(0, whole, 8):
        x0, x1, x2, x3 = x[c], x[c + 1], x[c + 2], x[c + 3]
        x4, x5, x6, x7 = x[c + 4], x[c + 5], x[c + 6], x[c + 7]
        w0, w1, w2, w3 = weight[c], weight[c + 1], weight[c + 2], weight[c + 3]
        w4, w5, w6, w7 = weight[c + 4], weight[c + 5], weight[c + 6], weight[c + 7]
        for o in range(y.size):
            y[o] += (
                x0 * np.float32(w0[o])
                + x1 * np.float32(w1[o])
                + x2 * np.float32(w2[o])
                + x3 * np.float32(w3[o])
                + x4 * np.float32(w4[o])
                + x5 * np.float32(w5[o])
                + x6 * np.float32(w6[o])
                + x7 * np.float32(w7[o])
            )
    for c in range(whole, x.size):
        for o in range(y.size):
            y[o] += x[c] * np.float32(weight[c, o])


@_compile
def _add_products_of_two(x, z, weight, y, u):
    """Add x weight to y and z weight to u, four inputs at a time: a weight read serves both.

    In parts of 512 outputs, which stay in the nearest cache.
    """
    whole = x.size - x.size % 4
    for first in range(0, y.size, 512):
        end = min(first + 512, y.size)
        yy, uu = y[first:end], u[first:end]
        for c in range(0, whole, 4):
            x0, x1, x2, x3 = x[c], x[c + 1], x[c + 2], x[c + 3]
            z0, z1, z2, z3 = z[c], z[c + 1], z[c + 2], z[c + 3]
            w0, w1 = weight[c, first:end], weight[c + 1, first:end]
            w2, w3 = weight[c + 2, first:end], weight[c + 3, first:end]
            for o in range(yy.size):
                a, b = np.float32(w0[o]), np.float32(w1[o])
                d, e = np.float32(w2[o]), np.float32(w3[o])
                yy[o] += x0 * a + x1 * b + x2 * d + x3 * e
                uu[o] += z0 * a + z1 * b + z2 * d + z3 * e
        for c in range(whole, x.size):
            for o in range(yy.size):
                weight_here = np.float32(weight[c, first + o])
                yy[o] += x[c] * weight_here
                uu[o] += z[c] * weight_here


@_compile
def quantize_rows(x, levels, whole, steps):
    """Write each row in whole numbers from -levels to levels, times steps[i]."""
    for i in range(x.shape[0]):
        largest = np.float32(0.0)
        for c in range(x.shape[1]):
            largest = max(largest, abs(x[i, c]))
        step = largest / np.float32(levels) if largest > 0 else np.float32(1.0)
        steps[i] = step
        inverse = np.float32(1.0) / step
        for c in range(x.shape[1]):
            whole[i, c] = np.rint(x[i, c] * inverse)


@_compile
def scale_rows(y, steps, weight_steps, bias, relu):
    """Compute y * steps[i] * weight_steps[o] + bias in place; then max(0, y) where asked."""
    zero = np.float32(0.0)
    for i in range(y.shape[0]):
        for o in range(y.shape[1]):
            result = y[i, o] * (steps[i] * weight_steps[o]) + bias[o]
            y[i, o] = max(result, zero) if relu else result


# Logits are looked over in blocks, of which most hold nothing of interest.
_BLOCK = 64


@_compile
def sharpen(x, weight, bias, margin, logits):
    """Compute those logits again that are within `margin` of the best of their row.

    x: (R, d_model). weight: (V, d_model). logits: (R, V), which came of rounded weights.
    """
    size = logits.shape[1]
    for i in range(logits.shape[0]):
        best = np.float32(-np.inf)
        for v in range(size):
            best = max(best, logits[i, v])
        limit = best - margin
        for first in range(0, size, _BLOCK):
            end = min(first + _BLOCK, size)
            top = np.float32(-np.inf)
            for v in range(first, end):
                top = max(top, logits[i, v])
            if top <= limit:
                continue
            for v in range(first, end):
                if logits[i, v] > limit:
                    total = np.float32(0.0)
                    for c in range(x.shape[1]):
                        total += x[i, c] * weight[v, c]
                    logits[i, v] = total + bias[v]


@_compile
def best_pieces(logits, never, values, ids, totals):
    """Find log(sum(exp(logits))) of each row and its best logits, best first.

    logits: (R, V); pieces never to be found count in the sum and are then set to -inf. values,
    ids: (R, K). totals: (R,). Of equal logits the lower id comes first. A block whose largest
    logit is no better than what was found already is passed over.
    """
    count = values.shape[1]
    size = logits.shape[1]
    for i in range(logits.shape[0]):
        top = np.float32(-np.inf)
        for v in range(size):
            top = max(top, logits[i, v])
        total = np.float32(0.0)
        for v in range(size):
            total += _exp(logits[i, v] - top)
        totals[i] = top + np.log(total)
        for piece in never:
            logits[i, piece] = np.float32(-np.inf)
        for k in range(count):
            values[i, k] = np.float32(-np.inf)
            ids[i, k] = 0
        for first in range(0, size, _BLOCK):
            end = min(first + _BLOCK, size)
            top = np.float32(-np.inf)
            for v in range(first, end):
                top = max(top, logits[i, v])
            if top > values[i, count - 1]:
                for v in range(first, end):
                    value = logits[i, v]
                    if value > values[i, count - 1]:
                        k = count - 1
                        while k > 0 and value > values[i, k - 1]:
                            values[i, k] = values[i, k - 1]
                            ids[i, k] = ids[i, k - 1]
                            k -= 1
                        values[i, k] = value
                        ids[i, k] = v


@_compile
def decode_rows(
    x, rows, slots, lengths, owners, source_lengths, past_keys, past_values, memory_keys,
    memory_values, weights, biases, gammas, betas, epsilon, pre,
):  # fmt: skip
    """Run all decoder layers for a few rows, in one call.

    The same sums as of the functions above, one after the other: what is saved is the way into
    each and back, which for few rows takes longer than the sums. x: (R, d_model), embedded; it is
    overwritten with the result. Of each layer weights and biases hold w_qkv, w_o, w_q, w_o, w_1
    and w_2; gammas and betas one a sub-layer and, with pre-norm, the closing one.
    """
    count, d_model = x.shape
    _, _, num_heads, d_k = past_keys[0].shape
    d_v = past_values[0].shape[3]
    total = x.copy()
    y = np.empty((count, d_model), np.float32)
    qkv = np.empty((count, num_heads * (2 * d_k + d_v)), np.float32)
    hidden = np.empty((count, weights[4].shape[1]), np.float32)
    q = np.empty((count, num_heads, d_k), np.float32)
    heads = np.empty((count, num_heads, d_v), np.float32)
    flat_q = q.reshape(count, num_heads * d_k)
    concat = heads.reshape(count, num_heads * d_v)
    base = x
    norm = 0
    if pre:
        y[:] = np.float32(0.0)
        add_norm(total, y, gammas[0], betas[0], epsilon, total, x)
        base = total
        norm = 1
    for layer in range(len(past_keys)):
        first = 6 * layer
        multiply_rows(x, weights[first], biases[first], False, qkv)
        attend_to_past(qkv, rows, lengths, owners, past_keys[layer], past_values[layer], heads)
        multiply_rows(concat, weights[first + 1], biases[first + 1], False, y)
        add_norm(base, y, gammas[norm], betas[norm], epsilon, total, x)
        multiply_rows(x, weights[first + 2], biases[first + 2], False, flat_q)
        attend_to_memory(q, slots, source_lengths, memory_keys[layer], memory_values[layer], heads)
        multiply_rows(concat, weights[first + 3], biases[first + 3], False, y)
        add_norm(base, y, gammas[norm + 1], betas[norm + 1], epsilon, total, x)
        multiply_rows(x, weights[first + 4], biases[first + 4], True, hidden)
        multiply_rows(hidden, weights[first + 5], biases[first + 5], False, y)
        add_norm(base, y, gammas[norm + 2], betas[norm + 2], epsilon, total, x)
        norm += 3
