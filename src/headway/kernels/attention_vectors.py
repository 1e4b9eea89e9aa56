"""Parts of equation 1 for one query, in vectors of 16 numbers; `attention_step` joins them."""

from typing import Any

from numba import types

from headway.kernels.codegen.vectors import LANES, Code, FlatArray, Value, generated

_CACHE_LINE = 64  # bytes


@generated(types.float32)
def exp(code: Code, x: Value) -> Value:
    """Compute e^x of one number, x <= 0, as for vectors; LLVM vectorizes loops around it."""
    return code.exp(x)


@generated(types.void)
def score_four(
    code: Code,
    query: FlatArray,
    first: Value,
    keys: FlatArray,
    places: FlatArray,
    s: Value,
    stride: Value,
    column: Value,
    width: Value,
    scale: Value,
    scores: FlatArray,
    place: Value,
) -> None:
    """Compute scores[place + j] = scale * query[first:] . keys[places[s + j] * stride + column:].

    For j below 4; `width` numbers of each, a multiple of 16.
    """
    lines = [places.scalar(s + j) * stride + column for j in range(4)]

    def add(index: Value, totals: list[Value]) -> list[Value]:
        x = query.load(first + index)
        return [
            total + x * keys.load(line + index) for total, line in zip(totals, lines, strict=True)
        ]

    totals = code.fold_all(width, LANES, 4 * [code.constant(0.0)], add)
    scores.store(place, code.sums_of_four(totals) * code.broadcast(scale, 4))


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


def _weigh(vectors: int) -> Any:
    """Return a kernel: out[o:] = factor * sum over s of weights[first + s] * values of key s.

    The values of key s are 16 * vectors numbers from values[places[s] * stride + column] on.
    """

    def write(
        code: Code,
        weights: FlatArray,
        first: Value,
        places: FlatArray,
        length: Value,
        values: FlatArray,
        stride: Value,
        column: Value,
        factor: Value,
        out: FlatArray,
        o: Value,
    ) -> None:
        offsets = [LANES * number for number in range(vectors)]

        def add(s: Value, totals: list[Value]) -> list[Value]:
            weight = code.broadcast(weights.scalar(first + s))
            place = places.scalar(s) * stride + column
            return [
                total + weight * values.load(place + offset)
                for total, offset in zip(totals, offsets, strict=True)
            ]

        totals = code.fold_all(length, 1, vectors * [code.constant(0.0)], add)
        for total, offset in zip(totals, offsets, strict=True):
            out.store(o + offset, total * code.broadcast(factor))

    return generated(types.void)(write)


weigh_sixteen, weigh_thirty_two, weigh_sixty_four = _weigh(1), _weigh(2), _weigh(4)


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
