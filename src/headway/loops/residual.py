"""Add & Norm behind dropout, and its gradient, a row after the other (sections 3.1 and 5.4).

N rows of a width in BLOCKs. Draws are those of `dropping`.
"""

import math

import numpy as np
from numba import types

from headway.loops.compiling import compiled
from headway.loops.dropping import BLOCK, fourths
from headway.loops.vectors import LANES, WORD, constant, for_loops


@compiled
def add_norm(x, y, draws, gamma, beta, epsilon, total, scales, out, start, end):
    """Compute total = x + Dropout(y) and out = LayerNorm(total) for the rows start to before end.

    x, total, out: (N, d). y: the same, in float32 or bfloat16. draws: key, smallest draw that keeps
    a number, and factor. scales: (N, 2), mean and 1 / standard deviation of each row of total.
    """
    key, lowest, factor = draws
    width = x.shape[1]
    for i in range(start, end):
        at = i * width
        mean = _add_row(x, y, at, width, key, lowest, factor, total) / np.float32(width)
        variance = _spread(total, at, width, mean) / np.float32(width)
        inverse = np.float32(1.0 / math.sqrt(np.float64(variance) + epsilon))
        scales[i, 0], scales[i, 1] = mean, inverse
        _normalize_row(total, at, width, mean, inverse, gamma, beta, out)


@compiled
def add_norm_backward(
    grad, total, scales, draws, gamma, grad_x, grad_y, grad_gamma, grad_beta, start, end
):
    """Compute the gradients of what `add_norm` read from that of what it wrote, for these rows.

    grad, grad_x: (N, d). grad_y: as y. grad_gamma, grad_beta: (d,), to which is added.
    """
    key, lowest, factor = draws
    width = grad.shape[1]
    for i in range(start, end):
        at, mean, inverse = i * width, scales[i, 0], scales[i, 1]
        level = _level(grad, at, width, gamma) / np.float32(width)
        slope = _slope(grad, total, at, width, gamma, mean, inverse) / np.float32(width)
        _add_to_vectors(grad, total, at, width, mean, inverse, grad_gamma, grad_beta)
        _grade_row(
            grad, total, at, width, gamma, mean, inverse, level, slope, key, lowest, factor,
            grad_x, grad_y,
        )  # fmt: skip


def _parts(code, index):
    """Return the four places of a block, which begins at this one."""
    return [code.builder.add(index, WORD(LANES * part)) for part in range(4)]


@for_loops(types.float32)
def _add_row(code, x, y, at, width, key, lowest, factor, total):
    """Write a row of x + Dropout(y), and return its sum."""
    scale = code.everywhere(factor)

    def each(index, sums):
        first = code.builder.add(at, index)
        for place, keep in zip(_parts(code, first), fourths(code, key, first, lowest), strict=True):
            kept = code.builder.select(keep, code.times(y.load(place), scale), constant(0.0))
            number = code.plus(x.load(place), kept)
            total.store(place, number)
            sums = code.add(sums, number)
        return sums

    return code.total(code.fold(width, BLOCK, constant(0.0), each))


@for_loops(types.float32)
def _spread(code, total, at, width, mean):
    """Return the sum of squares of a row's distances from its mean."""
    middle = code.everywhere(mean)

    def each(index, sums):
        distance = code.subtract(total.load(code.builder.add(at, index)), middle)
        return code.add(sums, code.multiply(distance, distance))

    return code.total(code.fold(width, LANES, constant(0.0), each))


@for_loops(types.void)
def _normalize_row(code, total, at, width, mean, inverse, gamma, beta, out):
    middle, scale = code.everywhere(mean), code.everywhere(inverse)

    def each(index, values):
        place = code.builder.add(at, index)
        normal = code.multiply(code.subtract(total.load(place), middle), scale)
        out.store(place, code.add(code.multiply(normal, gamma.load(index)), beta.load(index)))
        return values

    code.fold_all(width, LANES, [], each)


@for_loops(types.float32)
def _level(code, grad, at, width, gamma):
    """Return the sum of a row's gradients by what is normalized."""

    def each(index, sums):
        number = grad.load(code.builder.add(at, index))
        return code.add(sums, code.multiply(number, gamma.load(index)))

    return code.total(code.fold(width, LANES, constant(0.0), each))


@for_loops(types.float32)
def _slope(code, grad, total, at, width, gamma, mean, inverse):
    """Return the sum of the products of these and of what is normalized."""
    middle, scale = code.everywhere(mean), code.everywhere(inverse)

    def each(index, sums):
        place = code.builder.add(at, index)
        normal = code.multiply(code.subtract(total.load(place), middle), scale)
        number = code.multiply(grad.load(place), gamma.load(index))
        return code.add(sums, code.multiply(number, normal))

    return code.total(code.fold(width, LANES, constant(0.0), each))


@for_loops(types.void)
def _add_to_vectors(code, grad, total, at, width, mean, inverse, grad_gamma, grad_beta):
    middle, scale = code.everywhere(mean), code.everywhere(inverse)

    def each(index, values):
        place = code.builder.add(at, index)
        number = grad.load(place)
        normal = code.multiply(code.subtract(total.load(place), middle), scale)
        product = code.multiply(number, normal)
        grad_gamma.store(index, code.add(grad_gamma.load(index), product))
        grad_beta.store(index, code.add(grad_beta.load(index), number))
        return values

    code.fold_all(width, LANES, [], each)


@for_loops(types.void)
def _grade_row(
    code, grad, total, at, width, gamma, mean, inverse, level, slope, key, lowest, factor,
    grad_x, grad_y,
):  # fmt: skip
    builder = code.builder
    middle, scale, kept_scale = (code.everywhere(each) for each in (mean, inverse, factor))
    flat, steep = code.everywhere(level), code.everywhere(slope)

    def each(index, values):
        first = builder.add(at, index)
        for column, place, keep in zip(
            _parts(code, index),
            _parts(code, first),
            fourths(code, key, first, lowest),
            strict=True,
        ):
            normal = code.multiply(code.subtract(total.load(place), middle), scale)
            by_normal = code.multiply(grad.load(place), gamma.load(column))
            rest = code.subtract(code.subtract(by_normal, flat), code.multiply(normal, steep))
            by_total = code.multiply(rest, scale)
            grad_x.store(place, by_total)
            kept = builder.select(keep, code.times(by_total, kept_scale), constant(0.0))
            grad_y.put(place, kept)
        return values

    code.fold_all(width, BLOCK, [], each)
