"""Equation 1 in vectors of 16 numbers, piece by piece: what `attention_step` is made of."""

from numba import types

from headway.kernels.codegen.numba_compiler import compiled
from headway.kernels.codegen.vectors import LANES, WORD, constant, for_loops

_CACHE_LINE = 64  # bytes


@for_loops(types.float32)
def exp(code, x):
    """Compute e^x of one number, x <= 0, as vectors have it; loops around it become vectors."""
    return code.exp(x)


@for_loops(types.void)
def score_four(code, query, first, keys, places, s, stride, column, width, scale, scores, place):
    """Compute scores[place + j] = scale * query[first:] . keys[places[s + j] * stride + column:].

    For j below 4; `width` numbers of each, in sixteens.
    """
    builder = code.builder
    lines = [
        builder.add(builder.mul(places.one(builder.add(s, WORD(j))), stride), column)
        for j in range(4)
    ]

    def each(index, totals):
        x = query.load(builder.add(first, index))
        return [
            code.add(total, code.multiply(x, keys.load(builder.add(line, index))))
            for total, line in zip(totals, lines, strict=True)
        ]

    sums = code.totals_of_four(code.fold_all(width, LANES, 4 * [constant(0.0)], each))
    scores.store(place, code.multiply(sums, code.everywhere(scale, 4)))


@for_loops(types.float32)
def soften(code, scores, first, length):
    """Turn scores[first:] into e^(score - largest), in sixteens, and return their sum."""
    nothing = constant(float("-inf"))

    def score_at(index, there):
        return code.builder.select(there, scores.load(code.builder.add(first, index)), nothing)

    def find(index, top):
        return code.larger(top, score_at(index, code.there(index, length)))

    top = code.everywhere(code.largest(code.fold(length, LANES, nothing, find)))

    def change(index, total):
        there = code.there(index, length)
        power = code.exp(code.subtract(score_at(index, there), top))
        power = code.builder.select(there, power, constant(0.0))
        scores.store(code.builder.add(first, index), power)
        return code.add(total, power)

    return code.total(code.fold(length, LANES, constant(0.0), change))


def _weigh(sixteens):
    """Return what computes out[o:] = factor * sum of weights[first + s] * its values.

    These begin at values[places[s] * stride + column]. So many times sixteen numbers of each.
    """

    def write(code, weights, first, places, length, values, stride, column, factor, out, o):
        builder = code.builder
        steps = [WORD(LANES * number) for number in range(sixteens)]

        def each(s, totals):
            weight = code.everywhere(weights.one(builder.add(first, s)))
            place = builder.add(builder.mul(places.one(s), stride), column)
            return [
                code.add(total, code.multiply(weight, values.load(builder.add(place, step))))
                for total, step in zip(totals, steps, strict=True)
            ]

        totals = code.fold_all(length, 1, sixteens * [constant(0.0)], each)
        for total, step in zip(totals, steps, strict=True):
            out.store(builder.add(o, step), code.multiply(total, code.everywhere(factor)))

    return for_loops(types.void)(write)


weigh_sixteen, weigh_thirty_two, weigh_sixty_four = _weigh(1), _weigh(2), _weigh(4)


@for_loops(types.void)
def fetch(code, numbers, place):
    """Ask for what lies there before it is needed."""
    numbers.fetch(place)


@compiled
def fetch_all(numbers, first, last):
    """Ask for every cache line from number `first` to before `last`."""
    for place in range(first, last, _CACHE_LINE // numbers.itemsize):
        fetch(numbers, place)
