"""The best of many logits."""

import numpy as np
from numba import types

from headway.kernels.arrays import Floats, Ints
from headway.kernels.attention_vectors import exp
from headway.kernels.codegen.numba_compiler import compiled
from headway.kernels.codegen.vectors import LANES, Code, FlatArray, Value, generated

# The largest of many numbers is found lane by lane, number i in lane i modulo _ALL_LANES. The lanes
# fill the machine's vectors, while a single running maximum would be one long chain.
_ALL_LANES = 256
_MANY = 4 * LANES  # numbers, or lanes, at a time


@compiled
def _fill_lanes(x: Floats, lanes: Floats) -> None:
    """Write the largest number of each lane, -inf for an empty lane."""
    times = x.size // _ALL_LANES
    lanes[:] = np.float32(-np.inf)
    if times:
        # Some lanes at a time, in registers: LLVM would write to memory through masks, which takes
        # ten times as long on some processors.
        for lane in range(0, _ALL_LANES, _MANY):
            _largest_lanes(x, _ALL_LANES, times, lanes, lane)
    for j in range(times * _ALL_LANES, x.size):
        if x[j] > lanes[j % _ALL_LANES]:
            lanes[j % _ALL_LANES] = x[j]


@compiled
def _largest_of(x: Floats) -> np.float32:
    """Return the largest of a few numbers."""
    top = np.float32(-np.inf)
    for number in x:
        top = max(top, number)
    return top


@compiled
def _above(logits: Floats, lanes: Floats, limit: np.float32, ids: Ints) -> int:
    """Write the ids of the logits above the limit until `ids` is full; return their number.

    If there are more, return a number above the size of `ids`.
    """
    count = 0
    for lane in range(lanes.size):
        if lanes[lane] > limit:
            for v in range(lane, logits.size, lanes.size):
                if logits[v] > limit:
                    if count == ids.size:
                        return count + 1
                    ids[count] = v
                    count += 1
    return count


@compiled
def sharpen(
    x: Floats, weight: Floats, bias: Floats, margin: np.float32, most: int, logits: Floats
) -> None:
    """Compute those logits again that are within `margin` of the best of their row.

    If these are more than `most`, the margin is halved until they are not. x: (R, d_model).
    weight: (V, d_model). logits: (R, V), computed from rounded weights.
    """
    lanes = np.empty(_ALL_LANES, np.float32)
    ids = np.empty(most, np.int64)
    for i in range(logits.shape[0]):
        _fill_lanes(logits[i], lanes)
        best = _largest_of(lanes)
        near = margin
        count = _above(logits[i], lanes, best - near, ids)
        while count > ids.size:
            near = near * np.float32(0.5) if near > np.float32(0.01) else np.float32(0.0)
            count = _above(logits[i], lanes, best - near, ids)
        for k in range(count):
            v = ids[k]
            total = np.float32(0.0)
            for c in range(x.shape[1]):
                total += x[i, c] * weight[v, c]
            logits[i, v] = total + bias[v]


@compiled
def _insert(value: np.float32, v: int, values: Floats, ids: Ints) -> None:
    """Put a value among the best, which descend; of equal ones the lower id comes first."""
    k = values.size - 1
    if not (value > values[k] or (value == values[k] and v < ids[k])):
        return  # NaN, too
    while k > 0 and (value > values[k - 1] or (value == values[k - 1] and v < ids[k - 1])):
        values[k] = values[k - 1]
        ids[k] = ids[k - 1]
        k -= 1
    values[k] = value
    ids[k] = v


@compiled
def best_pieces(logits: Floats, never: Ints, values: Floats, ids: Ints, totals: Floats) -> None:
    """Find log(sum(exp(logits))) of each row and its best logits, best first.

    logits: (R, V). never: pieces that count in the sum and are then set to -inf, so that they are
    not among the best. values, ids: (R, K). totals: (R,). The lower id of equal logits comes first.
    The K-th best of the lanes' maxima is a bound: lanes below it hold none of the best.
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
            if ids[i, k] == size:  # the row has fewer numbers
                ids[i, k] = 0


@generated(types.float32)
def _sum_powers(code: Code, numbers: FlatArray, first: Value, length: Value, top: Value) -> Value:
    """Return the sum of e^(numbers[first:] - top); length: a multiple of _MANY."""
    largest = code.broadcast(top)

    def add(index: Value, totals: list[Value]) -> list[Value]:
        places = [first + index + LANES * n for n in range(4)]
        return [
            total + code.exp(numbers.load(place) - largest)
            for total, place in zip(totals, places, strict=True)
        ]

    a, b, c, d = code.fold_all(length, _MANY, 4 * [code.constant(0.0)], add)
    return code.sum((a + b) + (c + d))


@generated(types.void)
def _largest_lanes(
    code: Code, numbers: FlatArray, stride: Value, count: Value, lanes: FlatArray, lane: Value
) -> None:
    """Write the largest of numbers[lane + j + i * stride], i < count, to lanes[lane + j].

    For j below _MANY.
    """
    offsets = [LANES * number for number in range(4)]

    def raise_tops(index: Value, tops: list[Value]) -> list[Value]:
        place = lane + index * stride
        return [
            code.larger(numbers.load(place + offset), top)
            for top, offset in zip(tops, offsets, strict=True)
        ]

    tops = code.fold_all(count, 1, 4 * [code.constant(float("-inf"))], raise_tops)
    for top, offset in zip(tops, offsets, strict=True):
        lanes.store(lane + offset, top)
