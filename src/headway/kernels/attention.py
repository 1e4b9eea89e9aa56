"""Equation 1 and its gradient for whole batches, one head of one sentence after the other.

B sentences, T queries and S keys each, H heads. Numbers come and go in float32 or bfloat16, and are
float32 in between. Both widths of a head are in sixteens, as `LANES` says; T is filled up to fours
and S to sixteens, with zeros.
"""

import math

import numpy as np
from llvmlite import ir
from numba import types

from headway.kernels.attention_vectors import fetch_all
from headway.kernels.codegen.numba_compiler import compiled
from headway.kernels.codegen.parallel import in_parts
from headway.kernels.codegen.vectors import LANES, WORD, constant, for_loops

ROWS = 4
"""Rows of a product that are computed together."""


@compiled
def attend(queries, memory, column, sizes, allowed, weights, out, count, parts, region):
    """Compute softmax(Q K^T / sqrt(d_k)) V for all heads, B * H of them, in parts (parts.py).

    queries: (B, T, H * d_k or wider), Q first. memory: (B, S, column + H * (d_k + d_v)), K and V
    from this column on; the same array where Q, K and V were projected together. sizes: H, d_k,
    d_v. allowed: (1 or B, 1 or H, 1 or T, S), true where a query may attend. weights: (B, H, T in
    fours, S in sixteens), all of them are written but the rows after T. out: (B, T, H * d_v).
    """
    given = queries, memory, column, sizes, allowed, weights, out
    return in_parts(_attend, given, count, parts, region)


@compiled
def attend_backward(
    queries, memory, column, sizes, weights, grad, grad_queries, grad_memory, count, parts, region
):
    """Compute the gradients of what `attend` read from that of what it wrote.

    grad: as out of `attend`. grad_queries, grad_memory: as queries and memory.
    """
    given = queries, memory, column, sizes, weights, grad, grad_queries, grad_memory
    return in_parts(_attend_backward, given, count, parts, region)


@compiled
def _attend(queries, memory, column, sizes, allowed, weights, out, start, end):
    """Attend for heads start to end - 1; head h of sentence b is number b * H + h."""
    num_heads, d_k, d_v = sizes
    length, keys = queries.shape[1], memory.shape[1]
    rows, room = weights.shape[2], weights.shape[3]
    qs, ks = np.zeros((rows, d_k), np.float32), np.zeros((room, d_k), np.float32)
    vs, found = np.zeros((room, d_v), np.float32), np.empty((rows, d_v), np.float32)
    penalties = np.full((allowed.shape[2], room), np.float32(-np.inf))
    scale = np.float32(1 / math.sqrt(d_k))
    for number in range(start, end):
        b, h = number // num_heads, number % num_heads
        if number == start or h == 0 or allowed.shape[1] > 1:
            own = allowed[min(b, allowed.shape[0] - 1), min(h, allowed.shape[1] - 1)]
            _write_penalties(own, penalties)
        if number + num_heads < end:
            _fetch(queries, b + 1, h, num_heads)
            if column == 0:
                _fetch(memory, b + 1, h, num_heads)
            _fetch(out, b + 1, h, num_heads)
        _take(queries, b, h * d_k, qs)
        _take(memory, b, column + h * d_k, ks)
        _take(memory, b, column + num_heads * d_k + h * d_v, vs)
        first = number * rows * room
        _all_dot_products(qs, ks, weights, first)
        for t in range(length):
            row = min(t, penalties.shape[0] - 1) * room
            _soften(weights, first + t * room, penalties, row, room, scale)
        _weighted_sum(weights, first, room, 1, keys, vs, found)
        _give(found, b, h * d_v, out)


@compiled
def _attend_backward(
    queries, memory, column, sizes, weights, grad, grad_queries, grad_memory, start, end
):
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
            _fetch(queries, b + 1, h, num_heads)
            _fetch(grad, b + 1, h, num_heads)
            _fetch(grad_queries, b + 1, h, num_heads)
            if column == 0:
                _fetch(memory, b + 1, h, num_heads)
                _fetch(grad_memory, b + 1, h, num_heads)
        _take(queries, b, h * d_k, qs)
        _take(memory, b, key, ks)
        _take(memory, b, value, vs)
        _take(grad, b, h * d_v, grad_heads)
        first = number * rows * room
        # With S = Q K^T and O = W V: dV = W^T dO; dW = dO V^T, in whose place there is then
        # dS = softmax'(dW) / sqrt(d_k); dQ = dS K; dK = dS^T Q.
        _weighted_sum(weights, first, 1, room, length, grad_heads, grad_v)
        _all_dot_products(grad_heads, vs, grad_scores, 0)
        for t in range(length):
            _soften_backward(weights, first + t * room, grad_scores, t * room, room, scale)
        _weighted_sum(grad_scores, 0, room, 1, keys, ks, grad_q)
        _weighted_sum(grad_scores, 0, 1, room, length, qs, grad_k)
        _give(grad_q, b, h * d_k, grad_queries)
        _give(grad_k, b, key, grad_memory)
        _give(grad_v, b, value, grad_memory)


@compiled
def _write_penalties(allowed, penalties):
    """Write 0 where a query may attend and -inf elsewhere; what is beyond the keys stays."""
    for t in range(allowed.shape[0]):
        for s in range(allowed.shape[1]):
            penalties[t, s] = np.float32(0.0) if allowed[t, s] else np.float32(-np.inf)


@compiled
def _fetch(x, b, part, parts):
    """Ask for this part of a sentence, all of its columns, before it is needed."""
    size = x.shape[1] * x.shape[2]
    fetch_all(x, b * size + size * part // parts, b * size + size * (part + 1) // parts)


@compiled
def _take(x, b, column, head):
    """Copy the columns from this one on of a sentence. x: (B, L, width). head: (L or more, d)."""
    length, width, d = x.shape[1], x.shape[2], head.shape[1]
    for t in range(length):
        _copy(x, (b * length + t) * width + column, head, t * d, d)


@compiled
def _give(head, b, column, x):
    """Copy a head back to the columns that `_take` took it from."""
    length, width, d = x.shape[1], x.shape[2], head.shape[1]
    for t in range(length):
        _copy(head, t * d, x, (b * length + t) * width + column, d)


@compiled
def _all_dot_products(a, b, out, first):
    """Compute out = a b^T, from out[first] on. a: (R, d), R in fours. b: (S, d), S in sixteens."""
    d, room = a.shape[1], b.shape[0]
    for i in range(0, a.shape[0], ROWS):
        for j in range(0, room, ROWS):
            _dot_sixteen(a, i * d, b, j * d, d, out, first + i * room + j, room)


@compiled
def _weighted_sum(a, first, row_step, step, count, b, out):
    """Compute out[i] = the sum over s of a[first + i * row_step + s * step] * b[s].

    b: (`count` or more, d). out: (R, d), R in fours.
    """
    d = b.shape[1]
    for i in range(0, out.shape[0], ROWS):
        for c in range(0, d - LANES, 2 * LANES):
            _weigh_two(a, first + i * row_step, row_step, step, count, b, c, d, out, i * d + c)
        if d % (2 * LANES) > 0:
            c = d - LANES
            _weigh_one(a, first + i * row_step, row_step, step, count, b, c, d, out, i * d + c)


@for_loops(types.void)
def _copy(code, x, at, out, to, width):
    """Copy numbers, in sixteens, from one type to the other."""

    def each(index, values):
        builder = code.builder
        out.put(builder.add(to, index), x.load(builder.add(at, index)))
        return values

    code.fold_all(width, LANES, [], each)


@for_loops(types.void)
def _dot_sixteen(code, a, i, b, j, d, out, to, stride):
    """Write the products of four rows with four rows to out[to:], out[to + stride:] and so on."""
    builder = code.builder
    lines = [builder.mul(d, WORD(row)) for row in range(ROWS)]

    def each(index, totals):
        x = [a.load(builder.add(builder.add(i, line), index)) for line in lines]
        y = [b.load(builder.add(builder.add(j, line), index)) for line in lines]
        pairs = [(one, other) for one in x for other in y]
        return [
            code.add(total, code.multiply(*pair)) for total, pair in zip(totals, pairs, strict=True)
        ]

    totals = code.fold_all(d, LANES, ROWS * ROWS * [constant(0.0)], each)
    for row in range(ROWS):
        sums = code.totals_of_four(totals[ROWS * row : ROWS * (row + 1)])
        out.store(builder.add(to, builder.mul(stride, WORD(row))), sums)


def _weigh_block(sixteens):
    """Return what computes four rows of `_weighted_sum`, so many times sixteen numbers of each."""

    def write(code, a, first, row_step, step, count, b, c, stride, out, to):
        builder = code.builder
        parts = [WORD(LANES * part) for part in range(sixteens)]
        rows = [builder.add(first, builder.mul(row_step, WORD(row))) for row in range(ROWS)]

        def each(s, totals):
            place = builder.add(builder.mul(s, stride), c)
            line = [b.load(builder.add(place, part)) for part in parts]
            at = builder.mul(s, step)
            factors = [code.everywhere(a.one(builder.add(row, at))) for row in rows]
            pairs = [(factor, values) for factor in factors for values in line]
            return [
                code.add(total, code.multiply(*pair))
                for total, pair in zip(totals, pairs, strict=True)
            ]

        totals = code.fold_all(count, 1, ROWS * sixteens * [constant(0.0)], each)
        for row in range(ROWS):
            place = builder.add(to, builder.mul(stride, WORD(row)))
            for part, total in zip(parts, totals[row * sixteens :], strict=False):
                out.store(builder.add(place, part), total)

    return for_loops(types.void)(write)


_weigh_one, _weigh_two = _weigh_block(1), _weigh_block(2)


@for_loops(types.void)
def _soften(code, scores, first, penalties, row, room, scale):
    """Turn a row of scores into weights: exactly 0 where there is a penalty, even if everywhere."""
    builder, factor = code.builder, code.everywhere(scale)
    nothing, zero = constant(float("-inf")), constant(0.0)

    def score_at(index):
        score = code.multiply(scores.load(builder.add(first, index)), factor)
        shown = builder.fcmp_ordered("==", penalties.load(builder.add(row, index)), zero)
        return builder.select(shown, score, nothing)

    top = code.everywhere(
        code.largest(code.fold(room, LANES, nothing, lambda i, top: code.larger(top, score_at(i))))
    )

    def power_at(index, total):
        score = score_at(index)
        power = code.exp(code.subtract(score, top))
        there = builder.fcmp_unordered("!=", score, nothing)  # and what is not a number shows
        power = builder.select(there, power, zero)
        scores.store(builder.add(first, index), power)
        return code.add(total, power)

    total = code.total(code.fold(room, LANES, zero, power_at))
    some = builder.fcmp_ordered(">", total, ir.FloatType()(0.0))
    one = ir.FloatType()(1.0)
    share = code.everywhere(builder.fdiv(one, builder.select(some, total, one)))

    def divide(index, values):
        place = builder.add(first, index)
        scores.store(place, code.multiply(scores.load(place), share))
        return values

    code.fold_all(room, LANES, [], divide)


@for_loops(types.void)
def _soften_backward(code, weights, first, grads, row, room, scale):
    """Turn a row of gradients by weights into those by scores."""
    builder, factor = code.builder, code.everywhere(scale)

    def both(index):
        place = builder.add(row, index)
        return weights.load(builder.add(first, index)), grads.load(place), place

    def weigh(index, total):
        weight, grad, _ = both(index)
        return code.add(total, code.multiply(weight, grad))

    mean = code.everywhere(code.total(code.fold(room, LANES, constant(0.0), weigh)))

    def change(index, values):
        weight, grad, place = both(index)
        difference = code.multiply(weight, code.subtract(grad, mean))
        grads.store(place, code.multiply(difference, factor))
        return values

    code.fold_all(room, LANES, [], change)
