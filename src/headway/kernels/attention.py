"""Equation 1 and its gradient for whole batches, one head of one sentence after the other.

B sentences, T queries and S keys each, H heads. Inputs and outputs are float32 or bfloat16;
everything between is float32. Both widths of a head are multiples of 16, as `LANES` says; T is
padded to a multiple of 4 and S to a multiple of 16, with zeros.
"""

import math
from typing import Any

import numpy as np
from numba import types

from headway.kernels.arrays import Bools, Floats, Numbers
from headway.kernels.attention_vectors import prefetch_all
from headway.kernels.codegen.numba_compiler import compiled
from headway.kernels.codegen.parallel import in_parts
from headway.kernels.codegen.vectors import FLOAT, LANES, Code, FlatArray, Value, generated

ROWS = 4
"""Rows of a product that are computed together."""


@compiled
def attend(
    queries: Numbers,
    memory: Numbers,
    column: int,
    sizes: tuple[int, int, int],
    allowed: Bools,
    weights: Floats,
    out: Numbers,
    count: int,
    parts: int,
    region: int,
) -> bool:
    """Compute softmax(Q K^T / sqrt(d_k)) V for all heads, B * H of them, `in_parts`.

    queries: (B, T, H * d_k or wider), Q first. memory: (B, S, column + H * (d_k + d_v)), K and V
    from this column on; the same array where Q, K and V were projected together. sizes: H, d_k,
    d_v. allowed: (1 or B, 1 or H, 1 or T, S), true where a query may attend. weights: (B, H, padded
    T, padded S); all are written but the rows after T. out: (B, T, H * d_v).
    """
    inputs = queries, memory, column, sizes, allowed, weights, out
    return in_parts(_attend, inputs, count, parts, region)


@compiled
def attend_backward(
    queries: Numbers,
    memory: Numbers,
    column: int,
    sizes: tuple[int, int, int],
    weights: Floats,
    grad: Numbers,
    grad_queries: Numbers,
    grad_memory: Numbers,
    count: int,
    parts: int,
    region: int,
) -> bool:
    """Compute the gradients of the inputs of `attend` from that of its output.

    grad: like `out` of `attend`. grad_queries, grad_memory: like queries and memory.
    """
    inputs = queries, memory, column, sizes, weights, grad, grad_queries, grad_memory
    return in_parts(_attend_backward, inputs, count, parts, region)


@compiled
def _attend(
    queries: Numbers,
    memory: Numbers,
    column: int,
    sizes: tuple[int, int, int],
    allowed: Bools,
    weights: Floats,
    out: Numbers,
    start: int,
    end: int,
) -> None:
    """Attend for heads start to end - 1; head h of sentence b is number b * H + h."""
    num_heads, d_k, d_v = sizes
    length, keys = queries.shape[1], memory.shape[1]
    rows, room = weights.shape[2], weights.shape[3]
    qs, ks = np.zeros((rows, d_k), np.float32), np.zeros((room, d_k), np.float32)
    vs, head = np.zeros((room, d_v), np.float32), np.empty((rows, d_v), np.float32)
    penalties = np.full((allowed.shape[2], room), np.float32(-np.inf))
    scale = np.float32(1 / math.sqrt(d_k))
    for number in range(start, end):
        b, h = number // num_heads, number % num_heads
        if number == start or h == 0 or allowed.shape[1] > 1:
            mask = allowed[min(b, allowed.shape[0] - 1), min(h, allowed.shape[1] - 1)]
            _write_penalties(mask, penalties)
        if number + num_heads < end:
            _prefetch_part(queries, b + 1, h, num_heads)
            if column == 0:
                _prefetch_part(memory, b + 1, h, num_heads)
            _prefetch_part(out, b + 1, h, num_heads)
        _take(queries, b, h * d_k, qs)
        _take(memory, b, column + h * d_k, ks)
        _take(memory, b, column + num_heads * d_k + h * d_v, vs)
        first = number * rows * room
        _all_dot_products(qs, ks, weights, first)
        for t in range(length):
            row = min(t, penalties.shape[0] - 1) * room
            _soften(weights, first + t * room, penalties, row, room, scale)
        _weighted_sum(weights, first, room, 1, keys, vs, head)
        _put_back(head, b, h * d_v, out)


@compiled
def _attend_backward(
    queries: Numbers,
    memory: Numbers,
    column: int,
    sizes: tuple[int, int, int],
    weights: Floats,
    grad: Numbers,
    grad_queries: Numbers,
    grad_memory: Numbers,
    start: int,
    end: int,
) -> None:
    """Compute the gradients of heads start to end - 1."""
    num_heads, d_k, d_v = sizes
    length, keys = queries.shape[1], memory.shape[1]
    rows, room = weights.shape[2], weights.shape[3]
    scale = np.float32(1 / math.sqrt(d_k))
    qs, ks = np.zeros((rows, d_k), np.float32), np.zeros((room, d_k), np.float32)
    grad_heads, vs = np.zeros((rows, d_v), np.float32), np.zeros((room, d_v), np.float32)
    grad_q, grad_k = np.empty_like(qs), np.empty_like(ks)
    grad_v, grad_scores = np.empty_like(vs), np.empty((rows, room), np.float32)
    for number in range(start, end):
        b, h = number // num_heads, number % num_heads
        key, value = column + h * d_k, column + num_heads * d_k + h * d_v
        if number + num_heads < end:
            _prefetch_part(queries, b + 1, h, num_heads)
            _prefetch_part(grad, b + 1, h, num_heads)
            _prefetch_part(grad_queries, b + 1, h, num_heads)
            if column == 0:
                _prefetch_part(memory, b + 1, h, num_heads)
                _prefetch_part(grad_memory, b + 1, h, num_heads)
        _take(queries, b, h * d_k, qs)
        _take(memory, b, key, ks)
        _take(memory, b, value, vs)
        _take(grad, b, h * d_v, grad_heads)
        first = number * rows * room
        # With S = Q K^T and O = W V: dV = W^T dO; dW = dO V^T, which is then overwritten with
        # dS = softmax'(dW) / sqrt(d_k); dQ = dS K; dK = dS^T Q.
        _weighted_sum(weights, first, 1, room, length, grad_heads, grad_v)
        _all_dot_products(grad_heads, vs, grad_scores, 0)
        for t in range(length):
            _soften_backward(weights, first + t * room, grad_scores, t * room, room, scale)
        _weighted_sum(grad_scores, 0, room, 1, keys, ks, grad_q)
        _weighted_sum(grad_scores, 0, 1, room, length, qs, grad_k)
        _put_back(grad_q, b, h * d_k, grad_queries)
        _put_back(grad_k, b, key, grad_memory)
        _put_back(grad_v, b, value, grad_memory)


@compiled
def _write_penalties(allowed: Bools, penalties: Floats) -> None:
    """Write 0 where a query may attend and -inf elsewhere; columns beyond the keys are kept."""
    for t in range(allowed.shape[0]):
        for s in range(allowed.shape[1]):
            penalties[t, s] = np.float32(0.0) if allowed[t, s] else np.float32(-np.inf)


@compiled
def _prefetch_part(x: Numbers, b: int, part: int, parts: int) -> None:
    """Load this part of a sentence, all of its columns, before it is needed."""
    size = x.shape[1] * x.shape[2]
    prefetch_all(x, b * size + size * part // parts, b * size + size * (part + 1) // parts)


@compiled
def _take(x: Numbers, b: int, column: int, head: Floats) -> None:
    """Copy columns of a sentence, from this one on. x: (B, L, width). head: (L or more, d)."""
    length, width, d = x.shape[1], x.shape[2], head.shape[1]
    for t in range(length):
        _copy(x, (b * length + t) * width + column, head, t * d, d)


@compiled
def _put_back(head: Floats, b: int, column: int, x: Numbers) -> None:
    """Copy a head back to the columns that `_take` took it from."""
    length, width, d = x.shape[1], x.shape[2], head.shape[1]
    for t in range(length):
        _copy(head, t * d, x, (b * length + t) * width + column, d)


@compiled
def _all_dot_products(a: Floats, b: Floats, out: Floats, first: int) -> None:
    """Compute out = a b^T, from out[first] on.

    a: (R, d), R a multiple of 4. b: (S, d), S a multiple of 16.
    """
    d, room = a.shape[1], b.shape[0]
    for i in range(0, a.shape[0], ROWS):
        for j in range(0, room, ROWS):
            _dot_sixteen(a, i * d, b, j * d, d, out, first + i * room + j, room)


@compiled
def _weighted_sum(
    a: Floats, first: int, row_step: int, step: int, count: int, b: Floats, out: Floats
) -> None:
    """Compute out[i] = the sum over s of a[first + i * row_step + s * step] * b[s].

    b: (`count` or more, d). out: (R, d), R a multiple of 4.
    """
    d = b.shape[1]
    for i in range(0, out.shape[0], ROWS):
        for c in range(0, d - LANES, 2 * LANES):
            _weigh_two(a, first + i * row_step, row_step, step, count, b, c, d, out, i * d + c)
        if d % (2 * LANES) > 0:
            c = d - LANES
            _weigh_one(a, first + i * row_step, row_step, step, count, b, c, d, out, i * d + c)


@generated(types.void)
def _copy(code: Code, x: FlatArray, at: Value, out: FlatArray, to: Value, width: Value) -> None:
    """Copy numbers, 16 at a time, from one type to the other."""

    def copy(index: Value) -> None:
        place = to + index
        out.store_rounded(place, x.load(at + index))

    code.repeat(width, LANES, copy)


@generated(types.void)
def _dot_sixteen(
    code: Code,
    a: FlatArray,
    i: Value,
    b: FlatArray,
    j: Value,
    d: Value,
    out: FlatArray,
    to: Value,
    stride: Value,
) -> None:
    """Write the products of four rows with four rows to out[to:], out[to + stride:] and so on."""
    lines = [d * row for row in range(ROWS)]

    def add(index: Value, totals: list[Value]) -> list[Value]:
        xs = [a.load(i + line + index) for line in lines]
        ys = [b.load(j + line + index) for line in lines]
        pairs = [(x, y) for x in xs for y in ys]
        return [total + x * y for total, (x, y) in zip(totals, pairs, strict=True)]

    totals = code.fold_all(d, LANES, ROWS * ROWS * [code.constant(0.0)], add)
    for row in range(ROWS):
        sums = code.sums_of_four(totals[ROWS * row : ROWS * (row + 1)])
        out.store(to + stride * row, sums)


def _weigh_block(vectors: int) -> Any:
    """Return a kernel for four rows of `_weighted_sum`, 16 * vectors numbers of each."""

    def write(
        code: Code,
        a: FlatArray,
        first: Value,
        row_step: Value,
        step: Value,
        count: Value,
        b: FlatArray,
        c: Value,
        stride: Value,
        out: FlatArray,
        to: Value,
    ) -> None:
        offsets = [LANES * part for part in range(vectors)]
        rows = [first + row_step * row for row in range(ROWS)]

        def add(s: Value, totals: list[Value]) -> list[Value]:
            place = s * stride + c
            line = [b.load(place + offset) for offset in offsets]
            at = s * step
            factors = [code.broadcast(a.scalar(row + at)) for row in rows]
            pairs = [(factor, values) for factor in factors for values in line]
            return [total + x * y for total, (x, y) in zip(totals, pairs, strict=True)]

        totals = code.fold_all(count, 1, ROWS * vectors * [code.constant(0.0)], add)
        for row in range(ROWS):
            place = to + stride * row
            for offset, total in zip(offsets, totals[row * vectors :], strict=False):
                out.store(place + offset, total)

    return generated(types.void)(write)


_weigh_one, _weigh_two = _weigh_block(1), _weigh_block(2)


@generated(types.void)
def _soften(
    code: Code,
    scores: FlatArray,
    first: Value,
    penalties: FlatArray,
    row: Value,
    room: Value,
    scale: Value,
) -> None:
    """Turn a row of scores into weights: exactly 0 at a penalty, even if all have one."""
    factor = code.broadcast(scale)
    lowest, zero = code.constant(float("-inf")), code.constant(0.0)

    def score_at(index: Value) -> Value:
        score = scores.load(first + index) * factor
        allowed = penalties.load(row + index).equals(zero)
        return code.select(allowed, score, lowest)

    tops = code.fold(room, LANES, lowest, lambda i, top: code.larger(top, score_at(i)))
    top = code.broadcast(code.largest(tops))

    def exponentiate(index: Value, total: Value) -> Value:
        score = score_at(index)
        power = code.exp(score - top)
        power = code.select(score.differs(lowest), power, zero)  # NaN differs, so it is kept
        scores.store(first + index, power)
        return total + power

    total = code.sum(code.fold(room, LANES, zero, exponentiate))
    unit = code.constant(1.0, FLOAT)
    share = code.broadcast(unit.divided_by(code.select(total > 0.0, total, unit)))

    def divide(index: Value) -> None:
        place = first + index
        scores.store(place, scores.load(place) * share)

    code.repeat(room, LANES, divide)


@generated(types.void)
def _soften_backward(
    code: Code,
    weights: FlatArray,
    first: Value,
    grads: FlatArray,
    row: Value,
    room: Value,
    scale: Value,
) -> None:
    """Turn a row of gradients with respect to weights into those with respect to scores."""
    factor = code.broadcast(scale)

    def load(index: Value) -> tuple[Value, Value, Value]:
        place = row + index
        return weights.load(first + index), grads.load(place), place

    def weigh(index: Value, total: Value) -> Value:
        weight, grad, _ = load(index)
        return total + weight * grad

    mean = code.broadcast(code.sum(code.fold(room, LANES, code.constant(0.0), weigh)))

    def change(index: Value) -> None:
        weight, grad, place = load(index)
        grads.store(place, weight * (grad - mean) * factor)

    code.repeat(room, LANES, change)
