"""The best of many logits."""

import numpy as np
from numba import types

from headway.kernels.attention_vectors import exp
from headway.kernels.codegen.numba_compiler import compiled
from headway.kernels.codegen.vectors import LANES, WORD, constant, for_loops

# The largest of many numbers is found lane by lane, number i in lane i modulo _ALL_LANES: these
# fill the machine's vectors, while a single running maximum would be one long chain.
_ALL_LANES = 256
_MANY = 4 * LANES  # numbers, or lanes, that are taken at a time


@compiled
def _fill_lanes(x, lanes):
    """Write the largest number of each lane, -inf where there is none."""
    times = x.size // _ALL_LANES
    lanes[:] = np.float32(-np.inf)
    if times:
        # Some lanes after the other, in registers: LLVM would write to memory through masks, which
        # takes ten times as long on some processors.
        for lane in range(0, _ALL_LANES, _MANY):
            _largest_lanes(x, _ALL_LANES, times, lanes, lane)
    for j in range(times * _ALL_LANES, x.size):
        if x[j] > lanes[j % _ALL_LANES]:
            lanes[j % _ALL_LANES] = x[j]


@compiled
def _largest_of(x):
    """Return the largest of a few numbers."""
    top = np.float32(-np.inf)
    for number in x:
        top = max(top, number)
    return top


@compiled
def _above(logits, lanes, limit, found):
    """Write the ids of the logits above the limit, as far as there is room; return how many."""
    count = 0
    for lane in range(lanes.size):
        if lanes[lane] > limit:
            for v in range(lane, logits.size, lanes.size):
                if logits[v] > limit:
                    if count == found.size:
                        return count + 1
                    found[count] = v
                    count += 1
    return count


@compiled
def sharpen(x, weight, bias, margin, most, logits):
    """Compute those logits again that are within `margin` of the best of their row.

    Where these are more than `most`, the margin is halved until they are not. x: (R, d_model).
    weight: (V, d_model). logits: (R, V), which came of rounded weights.
    """
    lanes = np.empty(_ALL_LANES, np.float32)
    found = np.empty(most, np.int64)
    for i in range(logits.shape[0]):
        _fill_lanes(logits[i], lanes)
        best = _largest_of(lanes)
        near = margin
        count = _above(logits[i], lanes, best - near, found)
        while count > found.size:
            near = near * np.float32(0.5) if near > np.float32(0.01) else np.float32(0.0)
            count = _above(logits[i], lanes, best - near, found)
        for k in range(count):
            v = found[k]
            total = np.float32(0.0)
            for c in range(x.shape[1]):
                total += x[i, c] * weight[v, c]
            logits[i, v] = total + bias[v]


@compiled
def _insert(value, v, values, ids):
    """Put a value among the best ones, which descend; of equal ones the lower id comes first."""
    k = values.size - 1
    if not (value > values[k] or (value == values[k] and v < ids[k])):
        return  # also where it is not a number
    while k > 0 and (value > values[k - 1] or (value == values[k - 1] and v < ids[k - 1])):
        values[k] = values[k - 1]
        ids[k] = ids[k - 1]
        k -= 1
    values[k] = value
    ids[k] = v


@compiled
def best_pieces(logits, never, values, ids, totals):
    """Find log(sum(exp(logits))) of each row and its best logits, best first.

    logits: (R, V); pieces never to be found count in the sum and are then set to -inf. values,
    ids: (R, K). totals: (R,). Of equal logits the lower id comes first. The K-th best of the lanes'
    largest is a bound: lanes below it hold nothing of interest.
    """
    count = values.shape[1]
    size = logits.shape[1]
    whole = size - size % _MANY
    lanes = np.empty(_ALL_LANES, np.float32)
    for i in range(logits.shape[0]):
        _fill_lanes(logits[i], lanes)
        top = _largest_of(lanes)
        total = _sum_powers(logits, i * size, whole, top) if whole else np.float32(0.0)
        for v in range(whole, size):
            total += exp(logits[i, v] - top)
        totals[i] = top + np.log(total)
        for piece in never:
            logits[i, piece] = np.float32(-np.inf)
            lanes[piece % _ALL_LANES] = _largest_of(logits[i, piece % _ALL_LANES :: _ALL_LANES])
        values[i] = np.float32(-np.inf)
        ids[i] = size
        for lane in range(_ALL_LANES):
            _insert(lanes[lane], lane, values[i], ids[i])
        bound = values[i, count - 1]
        values[i] = np.float32(-np.inf)
        ids[i] = size
        for lane in range(_ALL_LANES):
            if lanes[lane] >= bound:
                for v in range(lane, size, _ALL_LANES):
                    _insert(logits[i, v], v, values[i], ids[i])
        for k in range(count):
            if ids[i, k] == size:  # fewer numbers than that
                ids[i, k] = 0


@for_loops(types.float32)
def _sum_powers(code, numbers, first, length, top):
    """Return the sum of e^(numbers[first:] - top), so many of them; length in _MANY."""
    builder, largest = code.builder, code.everywhere(top)

    def each(index, totals):
        places = [builder.add(builder.add(first, index), WORD(LANES * n)) for n in range(4)]
        return [
            code.add(total, code.exp(code.subtract(numbers.load(place), largest)))
            for total, place in zip(totals, places, strict=True)
        ]

    a, b, c, d = code.fold_all(length, _MANY, 4 * [constant(0.0)], each)
    return code.total(code.add(code.add(a, b), code.add(c, d)))


@for_loops(types.void)
def _largest_lanes(code, numbers, stride, count, lanes, lane):
    """Write the largest of numbers[lane + j + i * stride], i < count, to lanes[lane + j].

    For j below _MANY.
    """
    builder = code.builder
    steps = [WORD(LANES * number) for number in range(4)]

    def each(index, tops):
        place = builder.add(lane, builder.mul(index, stride))
        return [
            code.larger(numbers.load(builder.add(place, step)), top)
            for top, step in zip(tops, steps, strict=True)
        ]

    tops = code.fold_all(count, 1, 4 * [constant(float("-inf"))], each)
    for top, step in zip(tops, steps, strict=True):
        lanes.store(builder.add(lane, step), top)
