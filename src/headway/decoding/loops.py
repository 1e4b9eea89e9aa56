"""The inner loops of decoding on a CPU, compiled by Numba.

Arrays are float32 and contiguous unless said otherwise. R rows are hypotheses. Every loop works on
one row at a time and in the same order whatever the other rows are, so a row's result does not
depend on its batch.
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
    """Compute y = x weight^T + bias for a few rows; then max(0, y) where asked.

    x: (R, in). weight: (out, in). y: (R, out).
    """
    zero = np.float32(0.0)
    for o in range(weight.shape[0]):
        for i in range(x.shape[0]):
            total = zero
            for c in range(weight.shape[1]):
                total += x[i, c] * weight[o, c]
            total += bias[o]
            y[i, o] = max(total, zero) if relu else total


@_compile
def multiply_whole_rows(x, steps, weight, weight_steps, bias, relu, y):
    """Compute the same of whole numbers: x times steps[i], weight times weight_steps[o].

    x: (R, in), int16. weight: (out, in), int8. The sums are exact.
    """
    zero = np.float32(0.0)
    for o in range(weight.shape[0]):
        for i in range(x.shape[0]):
            total = np.int32(0)
            for c in range(weight.shape[1]):
                total = np.int32(total + np.int32(x[i, c]) * np.int32(weight[o, c]))
            result = np.float32(total) * weight_steps[o] * steps[i] + bias[o]
            y[i, o] = max(result, zero) if relu else result


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
def scale_rows(y, steps, bias, relu):
    """Compute y[i] * steps[i] + bias in place; then max(0, y) where asked."""
    zero = np.float32(0.0)
    for i in range(y.shape[0]):
        for o in range(y.shape[1]):
            result = y[i, o] * steps[i] + bias[o]
            y[i, o] = max(result, zero) if relu else result


_BLOCK = 64


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
