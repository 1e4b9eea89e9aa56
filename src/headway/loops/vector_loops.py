"""Loops over vectors of 16 numbers, for attention and for the vocabulary."""

from llvmlite import ir
from numba import types
from numba.core import cgutils

from headway.loops.compiling import compiled
from headway.loops.vectors import FLOATS, LANES, SHORTS, WORD, constant, for_loops

_CACHE_LINE = 64  # bytes
MANY = 4 * LANES
"""Numbers that `sum_powers` takes at a time, and lanes that `largest_lanes` does."""


@for_loops(types.float32)
def scaled(code, total, row_step, step, bias):
    """Return a sum of whole numbers as the number that it stands for, as blocks of bytes do."""
    return code.scaled(total, row_step, step, bias)


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


@for_loops(types.float32)
def sum_powers(code, numbers, first, length, top):
    """Return the sum of e^(numbers[first:] - top), so many of them; length in MANY."""
    builder, largest = code.builder, code.everywhere(top)

    def each(index, totals):
        places = [builder.add(builder.add(first, index), WORD(LANES * n)) for n in range(4)]
        return [
            code.add(total, code.exp(code.subtract(numbers.load(place), largest)))
            for total, place in zip(totals, places, strict=True)
        ]

    a, b, c, d = code.fold_all(length, MANY, 4 * [constant(0.0)], each)
    return code.total(code.add(code.add(a, b), code.add(c, d)))


@for_loops(types.void)
def largest_lanes(code, numbers, stride, count, lanes, lane):
    """Write the largest of numbers[lane + j + i * stride], i < count, to lanes[lane + j].

    For j below MANY.
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
    """Do so for every cache line from number `first` to before `last`."""
    for place in range(first, last, _CACHE_LINE // numbers.itemsize):
        fetch(numbers, place)


@for_loops(types.void)
def round_off(code, numbers, first, upper, place, width):
    """Write numbers[first:] in bfloat16 to upper[place:], by an instruction for it; in sixteens."""
    name = "llvm.x86.avx512bf16.cvtneps2bf16.512"
    kind = ir.FunctionType(SHORTS, [FLOATS])
    instruction = cgutils.get_or_insert_function(code.builder.module, kind, name)

    def each(index, values):
        vector = numbers.load(code.builder.add(first, index))
        upper.store(code.builder.add(place, index), code.builder.call(instruction, [vector]))
        return values

    code.fold_all(width, LANES, [], each)
