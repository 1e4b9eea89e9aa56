"""Equation 1 for one query at a time, and LayerNorm (sections 3.2.1 and 3.1)."""

import math

import numpy as np

from headway.decoding.loops.compiling import compiled, exp
from headway.decoding.loops.kept import read, write


@compiled
def _attend(query, keys, values, places, length, weights, out):
    """Compute equation 1 for one query, all heads.

    query: (H, d_k). Key s is keys[places[s]], (H, d_k), of keys (P, H, d_k); values likewise.
    weights: (H, T), scratch. out: (H, d_v), the result.
    """
    num_heads, d_k = query.shape
    d_v = out.shape[1]
    scale = np.float32(1.0 / math.sqrt(d_k))
    for s in range(length):
        place = places[s]
        for h in range(num_heads):
            dot = np.float32(0.0)
            for c in range(d_k):
                dot += query[h, c] * read(keys[place, h, c])
            weights[h, s] = dot * scale
    for h in range(num_heads):
        top = np.float32(-np.inf)
        for s in range(length):
            top = max(top, weights[h, s])
        total = np.float32(0.0)
        for s in range(length):
            weights[h, s] = exp(weights[h, s] - top)
            total += weights[h, s]
        inverse = np.float32(1.0) / total
        for s in range(length):
            weights[h, s] *= inverse
        for c in range(d_v):
            out[h, c] = np.float32(0.0)
    for s in range(length):
        place = places[s]
        for h in range(num_heads):
            weight = weights[h, s]
            for c in range(d_v):
                out[h, c] += weight * read(values[place, h, c])


@compiled
def _split(line, first, heads):
    """Copy the part of a line that begins at `first` into heads, (H, d)."""
    num_heads, width = heads.shape
    for h in range(num_heads):
        part = line[first + h * width : first + (h + 1) * width]
        for c in range(width):
            write(heads, h, c, part[c])


@compiled
def attend_to_past(qkv, rows, lengths, owners, keys, values, out):
    """Append each row's newest key and value to its cache, then attend to all of its past.

    qkv: (R, H * (2 d_k + d_v)). rows: which row of the caches each is. lengths: positions that a
    row of the caches had before. owners[r, s]: the row that holds position s of row r's past, for
    a hypothesis shares the past of its parents. keys, values: (T, rows, H, d). out: (R, H, d_v).
    """
    room, count, num_heads, d_k = keys.shape
    flat_keys = keys.reshape(room * count, num_heads, d_k)
    flat_values = values.reshape(room * count, num_heads, values.shape[3])
    width = num_heads * d_k
    query = np.empty((num_heads, d_k), np.float32)
    weights = np.empty((num_heads, room), np.float32)
    places = np.empty(room, np.int64)
    for i in range(rows.size):
        row = rows[i]
        length = lengths[row]
        _split(qkv[i], 0, query)
        _split(qkv[i], width, keys[length, row])
        _split(qkv[i], 2 * width, values[length, row])
        owners[row, length] = row
        for s in range(length + 1):
            places[s] = s * count + owners[row, s]
        _attend(query, flat_keys, flat_values, places, length + 1, weights, out[i])


@compiled
def keep_rows(rows, cache):
    """Write the keys or values of one sentence to the beginning of its cache.

    rows: (S, H * d), its rows may lie apart. cache: (S or more, H, d).
    """
    for s in range(rows.shape[0]):
        _split(rows[s], 0, cache[s])


@compiled
def attend_to_memory(q, slots, lengths, keys, values, out):
    """Attend to the memory of each row's sentence.

    q: (R, H, d_k). slots: the sentence of each row. lengths: source pieces of each slot. keys,
    values: (slots, S, H, d). out: (R, H, d_v).
    """
    room, num_heads = keys.shape[1], keys.shape[2]
    places = np.arange(room)
    weights = np.empty((num_heads, room), np.float32)
    for i in range(slots.size):
        slot = slots[i]
        _attend(q[i], keys[slot], values[slot], places, lengths[slot], weights, out[i])


@compiled
def attend_to_source(qkv, starts, keys, values, out):
    """Let each source piece attend to its sentence, which is pieces starts[b] to starts[b + 1].

    qkv: (N, H * (2 d_k + d_v)). keys, values: (longest, H, d), scratch. out: (N, H, d_v).
    """
    room, num_heads, d_k = keys.shape
    width = num_heads * d_k
    query = np.empty((num_heads, d_k), np.float32)
    weights = np.empty((num_heads, room), np.float32)
    places = np.arange(room)
    for b in range(starts.size - 1):
        length = starts[b + 1] - starts[b]
        for s in range(length):
            _split(qkv[starts[b] + s], width, keys[s])
            _split(qkv[starts[b] + s], 2 * width, values[s])
        for s in range(length):
            _split(qkv[starts[b] + s], 0, query)
            _attend(query, keys, values, places, length, weights, out[starts[b] + s])


@compiled
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
