"""Equation 1 (section 3.2.1) for single queries, and for some that have the same keys."""

import functools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headway.kernels.arrays import Floats, Ints, Numbers
from headway.kernels.attention_vectors import (
    QUERIES,
    exp,
    prefetch,
    prefetch_all,
    score_one,
    score_several,
    soften,
    weigh_sixteen,
    weigh_sixty_four,
    weigh_sixty_four_of_several,
    weigh_thirty_two,
)
from headway.kernels.codegen.bfloat16 import read, write
from headway.kernels.codegen.calls import Form, call_at, form
from headway.kernels.codegen.numba_compiler import compiled, inlined
from headway.kernels.codegen.vectors import LANES


def attend_at(keys: Numbers, values: Numbers, num_heads: int) -> int:
    """Return the address of equation 1 for one query, for keys and values of these kinds.

    keys: (…, H * d_k), float32 or bfloat16. values: (…, H * d_v), likewise. The address is an
    argument of the kernels below, so that it is compiled once for all, and only in one form.
    """
    return _address_of_attend(*_kind(keys, values, num_heads))


def attention_for(keys: Numbers, values: Numbers, num_heads: int) -> Form:
    """Return the kernel whose address `attend_at` returns."""
    return _attend(*_kind(keys, values, num_heads))


def _kind(keys: Numbers, values: Numbers, num_heads: int) -> tuple[bool, np.dtype[Any]]:
    d_k, d_v = keys.shape[-1] // num_heads, values.shape[-1] // num_heads
    return d_k % LANES == 0 and d_v % LANES == 0, keys.dtype


@functools.cache
def _address_of_attend(in_vectors: bool, dtype: np.dtype[Any]) -> int:
    return _attend(in_vectors, dtype).address


def _attend(in_vectors: bool, dtype: np.dtype[Any]) -> Form:
    rows, cache, places = (
        np.empty((1, 1), np.float32),
        np.empty((1, 1), dtype),
        np.empty(1, np.int64),
    )
    attend = _attend_in_vectors if in_vectors else _attend_in_numbers
    return form(attend, rows, 0, 1, cache, cache, places, 0, places, 0, 1, rows, rows)


@compiled
def _attend_in_vectors(
    x: Floats,
    i: int,
    queries: int,
    keys: Numbers,
    values: Numbers,
    places: Ints,
    length: int,
    following: Ints,
    count: int,
    num_heads: int,
    weights: Floats,
    out: Floats,
) -> None:
    """Compute equation 1 for queries of the same keys: from row i of x on, to row i of out on.

    x: (R, H * d_k or wider), the query first in each row. queries: at most QUERIES. Key s is row
    places[s] of keys, (P, H * d_k); values likewise. following: the places of the next
    query, whose first `count` keys and values are loaded meanwhile, but no more than these have;
    loading them all at once would take as long as the sums. weights: (QUERIES * H, T), scratch, T a
    multiple of 16. out: (R, H * d_v). d_k and d_v are multiples of 16. The result of a query is the
    same alone and beside others, in all bits.
    """
    if length == 0:  # the loops below run at least once
        _clear(out, i, queries)
        return
    key_width, value_width, room = keys.shape[1], values.shape[1], weights.shape[1]
    d_k, d_v = key_width // num_heads, value_width // num_heads
    scale = np.float32(1.0 / math.sqrt(d_k))
    row, step = x.shape[1], num_heads * room
    for s in range(0, length, 4):
        for h in range(num_heads):
            column, place = h * d_k, h * room + s
            if queries == QUERIES:
                score_several(
                    x, i * row + column, row, keys, places, s, key_width, column, d_k, scale,
                    weights, place, step,
                )  # fmt: skip
            else:
                for q in range(queries):
                    score_one(
                        x, (i + q) * row + column, row, keys, places, s, key_width, column, d_k,
                        scale, weights, place + q * step, step,
                    )  # fmt: skip
            for j in range(s, s + 4):
                prefetch(values, places[j] * value_width + h * d_v)
            for j in range(s, min(s + 4, count)):
                key, value = (
                    following[j] * key_width + h * d_k,
                    following[j] * value_width + h * d_v,
                )
                prefetch_all(keys, key, key + d_k)
                prefetch_all(values, value, value + d_v)
    factors = np.empty(QUERIES, np.float32)
    for h in range(num_heads):
        for q in range(queries):
            factors[q] = np.float32(1.0) / soften(weights, q * step + h * room, length)
        c, end = h * d_v, (h + 1) * d_v
        while c < end:
            size = 64 if end - c >= 64 else 32 if end - c >= 32 else 16
            if queries == QUERIES and size == 64:
                weigh_sixty_four_of_several(
                    weights, h * room, step, places, length, values, value_width, c, factors, 0,
                    out, i * value_width + c,
                )  # fmt: skip
            else:
                for q in range(queries):
                    inputs = (
                        weights, q * step + h * room, step, places, length, values, value_width, c,
                        factors, q, out, (i + q) * value_width + c,
                    )  # fmt: skip
                    if size == 64:
                        weigh_sixty_four(*inputs)
                    elif size == 32:
                        weigh_thirty_two(*inputs)
                    else:
                        weigh_sixteen(*inputs)
            c += size


@compiled
def _attend_in_numbers(
    x: Floats,
    i: int,
    queries: int,
    keys: Numbers,
    values: Numbers,
    places: Ints,
    length: int,
    following: Ints,
    count: int,
    num_heads: int,
    weights: Floats,
    out: Floats,
) -> None:
    """Compute equation 1 as `_attend_in_vectors` does, for any d_k and d_v, without loads ahead."""
    if length == 0:  # the sum of the weights would be 0
        _clear(out, i, queries)
        return
    d_k, d_v = keys.shape[1] // num_heads, values.shape[1] // num_heads
    scale = np.float32(1.0 / math.sqrt(d_k))
    for row in range(i, i + queries):
        for h in range(num_heads):
            top = np.float32(-np.inf)
            for s in range(length):
                score = np.float32(0.0)
                for c in range(h * d_k, (h + 1) * d_k):
                    score += x[row, c] * read(keys[places[s], c])
                weights[h, s] = score * scale
                top = max(top, weights[h, s])
            total = np.float32(0.0)
            for s in range(length):
                weights[h, s] = exp(weights[h, s] - top)
                total += weights[h, s]
            inverse = np.float32(1.0) / total
            for c in range(h * d_v, (h + 1) * d_v):
                mixed = np.float32(0.0)
                for s in range(length):
                    mixed += weights[h, s] * read(values[places[s], c])
                out[row, c] = mixed * inverse


@inlined
def _clear(out: Floats, i: int, queries: int) -> None:
    for row in range(i, i + queries):
        for c in range(out.shape[1]):
            out[row, c] = np.float32(0.0)


@compiled
def _keep(rows: Floats, i: int, first: int, cache: Numbers, place: int) -> None:
    """Copy numbers of row i, from column `first` on, to a place of a cache, (P, H * d)."""
    line = cache[place]
    part = rows[i, first : first + line.size]
    for c in range(line.size):
        write(line, c, part[c])


@inlined
def _scratch_for(num_heads: int, length: int) -> tuple[Floats, Ints, Ints]:
    """Return memory for the weights of `length` keys, their places, and those of the next queries.

    Keys are taken four at a time, so places beyond the last key must be valid rows as well.
    """
    room = -(-length // LANES) * LANES
    places, following = np.zeros(room, np.int64), np.zeros(room, np.int64)
    return np.empty((QUERIES * num_heads, room), np.float32), places, following


@compiled
def _place_past(row: int, length: int, owners: NDArray[np.int32], room: int, places: Ints) -> None:
    """Write the places of a row's past positions, and then that of its newest position."""
    for s in range(length):
        places[s] = owners[row, s] * room + s
    places[length] = row * room + length


@compiled
def attend_to_past(
    qkv: Floats,
    rows: Ints,
    lengths: Ints,
    owners: NDArray[np.int32],
    keys: Numbers,
    values: Numbers,
    attend: int,
    num_heads: int,
    out: Floats,
) -> None:
    """Append each row's newest key and value to its cache, then attend to all of its past.

    qkv: (R, H * (2 d_k + d_v)). rows: the row of the caches of each. lengths: positions that a row
    of the caches had before. owners[r, s]: the row that holds position s of row r's past, because
    a hypothesis shares the past of its parents. keys, values: (rows, T, H * d). attend: of
    `attend_at`. out: (R, H * d_v).
    """
    count, room, width = keys.shape
    keys = keys.reshape(count * room, width)
    values = values.reshape(count * room, values.shape[2])
    weights, places, following = _scratch_for(num_heads, room)
    if rows.size:
        _place_past(rows[0], lengths[rows[0]], owners, room, places)
    for i in range(rows.size):
        row = rows[i]
        length, count = lengths[row], 0
        _keep(qkv, i, width, keys, places[length])
        _keep(qkv, i, 2 * width, values, places[length])
        owners[row, length] = row
        if i + 1 < rows.size:
            count = lengths[rows[i + 1]] + 1
            _place_past(rows[i + 1], count - 1, owners, room, following)
        call_at(
            attend,
            (
                qkv, i, 1, keys, values, places, length + 1, following, count, num_heads,
                weights, out,
            ),
        )  # fmt: skip
        places, following = following, places


@compiled
def keep_memory(rows: Floats, first: int, slots: Ints, starts: Ints, cache: Numbers) -> None:
    """Write keys or values of several sentences to the beginning of their slots of a cache.

    rows: (N, all widths); the keys or values begin at column `first`. Sentence b is rows starts[b]
    to starts[b + 1]. cache: (slots, S, H * d).
    """
    room, width = cache.shape[1:]
    cache = cache.reshape(cache.shape[0] * room, width)
    for b in range(slots.size):
        for row in range(starts[b], starts[b + 1]):
            _keep(rows, row, first, cache, slots[b] * room + row - starts[b])


@compiled
def attend_to_memory(
    q: Floats,
    slots: Ints,
    lengths: Ints,
    keys: Numbers,
    values: Numbers,
    attend: int,
    num_heads: int,
    out: Floats,
) -> None:
    """Attend to the memory of each row's sentence.

    q: (R, H * d_k). slots: the sentence of each row. lengths: source pieces of each slot. keys,
    values: (slots, S, H * d). attend: of `attend_at`. out: (R, H * d_v).
    """
    count, room, width = keys.shape
    keys = keys.reshape(count * room, width)
    values = values.reshape(count * room, values.shape[2])
    weights, places, following = _scratch_for(num_heads, room)
    i = 0
    while i < slots.size:
        slot, after, count = slots[i], i + 1, 0
        while after < min(slots.size, i + QUERIES) and slots[after] == slot:
            after += 1
        if i == 0:
            for s in range(lengths[slot]):
                places[s] = slot * room + s
        if after < slots.size and slots[after] != slot:
            count = lengths[slots[after]]
            for s in range(count):
                following[s] = slots[after] * room + s
        length = lengths[slot]
        call_at(
            attend,
            (
                q, i, after - i, keys, values, places, length, following, count, num_heads,
                weights, out,
            ),
        )  # fmt: skip
        if count:
            places, following = following, places
        i = after


@compiled
def attend_to_source(
    qkv: Floats,
    starts: Ints,
    keys: Floats,
    values: Floats,
    attend: int,
    num_heads: int,
    out: Floats,
) -> None:
    """Attend from each source piece to its sentence, which is pieces starts[b] to starts[b + 1].

    qkv: (N, H * (2 d_k + d_v)). keys, values: (longest, H * d), scratch. attend: of `attend_at`.
    out: (N, H * d_v).
    """
    room, width = keys.shape
    weights, places, _ = _scratch_for(num_heads, room)
    for s in range(room):
        places[s] = s
    for b in range(starts.size - 1):
        for row in range(starts[b], starts[b + 1]):
            _keep(qkv, row, width, keys, row - starts[b])
            _keep(qkv, row, 2 * width, values, row - starts[b])
        length = starts[b + 1] - starts[b]
        for row in range(starts[b], starts[b + 1], QUERIES):
            queries = min(QUERIES, starts[b + 1] - row)
            call_at(
                attend,
                (
                    qkv, row, queries, keys, values, places, length, places, 0, num_heads,
                    weights, out,
                ),
            )  # fmt: skip
