"""Parts of equation 1 for some queries, in vectors of 16 numbers; `attention_step` joins them."""

from typing import Any

from numba import types

from headway.kernels.codegen.numba_compiler import has_avx512
from headway.kernels.codegen.vectors import LANES, Code, FlatArray, Value, generated

_CACHE_LINE = 64  # bytes


@generated(types.float32)
def exp(code: Code, x: Value) -> Value:
    """Compute e^x of one number, x <= 0, as for vectors; LLVM vectorizes loops around it."""
    return code.exp(x)


def _score(queries: int) -> Any:
    """Return a kernel for the scores of some queries with four keys.

    scores[place + q * step + j] = scale * query[first + q * row:] . keys[places[s + j] * stride +
    column:], `width` numbers of each, a multiple of 16.
    """

    def write(
        code: Code,
        query: FlatArray,
        first: Value,
        row: Value,
        keys: FlatArray,
        places: FlatArray,
        s: Value,
        stride: Value,
        column: Value,
        width: Value,
        scale: Value,
        scores: FlatArray,
        place: Value,
        step: Value,
    ) -> None:
        lines = [places.scalar(s + j) * stride + column for j in range(4)]
        firsts = [first + row * q for q in range(queries)]

        def add(index: Value, totals: list[Value]) -> list[Value]:
            xs = [query.load(first + index) for first in firsts]
            ys = [keys.load(line + index) for line in lines]
            pairs = [(x, y) for x in xs for y in ys]
            return [total + x * y for total, (x, y) in zip(totals, pairs, strict=True)]

        totals = code.fold_all(width, LANES, 4 * queries * [code.constant(0.0)], add)
        for q in range(queries):
            sums = code.sums_of_four(totals[4 * q : 4 * q + 4])
            scores.store(place + step * q, sums * code.broadcast(scale, 4))

    return generated(types.void)(write)


@generated(types.float32)
def soften(code: Code, scores: FlatArray, first: Value, length: Value) -> Value:
    """Turn scores[first:] into e^(score - largest), 16 at a time, and return their sum."""
    lowest, zero = code.constant(float("-inf")), code.constant(0.0)

    def score_at(index: Value, within: Value) -> Value:
        return code.select(within, scores.load(first + index), lowest)

    def raise_top(index: Value, top: Value) -> Value:
        return code.larger(top, score_at(index, code.is_before(index, length)))

    top = code.broadcast(code.largest(code.fold(length, LANES, lowest, raise_top)))

    def exponentiate(index: Value, total: Value) -> Value:
        within = code.is_before(index, length)
        power = code.select(within, code.exp(score_at(index, within) - top), zero)
        scores.store(first + index, power)
        return total + power

    return code.sum(code.fold(length, LANES, zero, exponentiate))


def _weigh(queries: int, vectors: int) -> Any:
    """Return a kernel for the weighted values of some queries, 16 * vectors numbers of each.

    out[o + q * stride:] = factors[number + q] * sum over s of weights[first + q * step + s] times
    the value of key s, which begins at values[places[s] * stride + column].
    """

    def write(
        code: Code,
        weights: FlatArray,
        first: Value,
        step: Value,
        places: FlatArray,
        length: Value,
        values: FlatArray,
        stride: Value,
        column: Value,
        factors: FlatArray,
        number: Value,
        out: FlatArray,
        o: Value,
    ) -> None:
        offsets = [LANES * number for number in range(vectors)]
        firsts = [first + step * q for q in range(queries)]

        def add(s: Value, totals: list[Value]) -> list[Value]:
            place = places.scalar(s) * stride + column
            line = [values.load(place + offset) for offset in offsets]
            shares = [code.broadcast(weights.scalar(first + s)) for first in firsts]
            pairs = [(share, value) for share in shares for value in line]
            return [total + share * x for total, (share, x) in zip(totals, pairs, strict=True)]

        totals = code.fold_all(length, 1, queries * vectors * [code.constant(0.0)], add)
        for q in range(queries):
            factor = code.broadcast(factors.scalar(number + q))
            for offset, total in zip(offsets, totals[q * vectors :], strict=False):
                out.store(o + stride * q + offset, total * factor)

    return generated(types.void)(write)


QUERIES = 4 if has_avx512() else 1
"""Queries of the same keys that are computed together: their sums are in the registers."""

score_one, score_several = _score(1), _score(QUERIES)
weigh_sixteen, weigh_thirty_two, weigh_sixty_four = _weigh(1, 1), _weigh(1, 2), _weigh(1, 4)
weigh_sixty_four_of_several = _weigh(QUERIES, 4)


@generated(types.void)
def prefetch(code: Code, numbers: FlatArray, place: Value) -> None:
    """Load the cache line of this number before it is needed."""
    numbers.prefetch(place)


@generated(types.void)
def prefetch_all(code: Code, numbers: FlatArray, first: Value, last: Value) -> None:
    """Load every cache line from number `first` to before `last`, at least one.

    They go to the L2 cache, because loads into L1 take longer (benchmarks/log/101).
    """
    step = _CACHE_LINE // (2 if numbers.kind.dtype == types.uint16 else 4)
    code.repeat(last - first, step, lambda index: numbers.prefetch(first + index, into_l2=True))
