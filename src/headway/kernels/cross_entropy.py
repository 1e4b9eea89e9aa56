"""Label-smoothed cross-entropy and its gradient, a row of logits after the other (section 5.4)."""

import math

import numpy as np
from numba import types

from headway.kernels.codegen.bfloat16 import read, write
from headway.kernels.codegen.numba_compiler import compiled
from headway.kernels.codegen.parallel import in_parts
from headway.kernels.codegen.vectors import LANES, constant, for_loops


@compiled
def smoothed_losses(
    logits, labels, smoothing, pad_id, differentiate, losses, grads, count, parts, region
):
    """Compute smoothed loss and negative log-likelihood of every row, in parts (parts.py).

    logits: (R, V), V from LANES on, float32 or bfloat16; if asked to differentiate, these rows
    become the gradient of the loss. labels: (R,); padding has no loss. losses: (R, 2), float64.
    grads: (parts or more, V or 0); part i adds its rows of the gradient to grads[i] before they are
    rounded.
    """
    given = logits, labels, smoothing, pad_id, differentiate, losses, grads, parts
    return in_parts(_smoothed_losses, given, count, parts, region)


@compiled
def _smoothed_losses(
    logits, labels, smoothing, pad_id, differentiate, losses, grads, parts, first, last
):
    """Compute the losses of rows first to last - 1, and their gradient."""
    grad_bias = grads[-(-first * parts // logits.shape[0])]  # part i begins at R * i // parts
    pieces = logits.shape[1]
    powers = np.empty(pieces, np.float32)
    for i in range(first, last):
        label = labels[i]
        if label == pad_id:
            losses[i] = 0.0
            if differentiate:
                logits[i] = 0
            continue
        top, total = _read_row(logits, i, powers)
        own, padding = powers[label], powers[pad_id]
        mass = _exponentiate_row(powers, top)
        log_mass = np.float64(top) + math.log(np.float64(mass))
        nll = log_mass - own
        others = log_mass - np.float64(total - padding) / (pieces - 1)
        losses[i, 0] = (1.0 - smoothing) * nll + smoothing * others
        losses[i, 1] = nll
        if differentiate:
            _gradient_row(powers, mass, label, smoothing, pad_id, logits, i)
            for v in range(grad_bias.size):
                grad_bias[v] += powers[v]


@compiled
def _read_row(logits, i, powers):
    """Copy row i, in float32; return the largest of its numbers, and their sum."""
    pieces, row = powers.size, logits[i]
    whole = pieces // LANES * LANES
    total = _take(logits, i * pieces, powers, whole)
    top = _largest(powers, whole)
    for v in range(whole, pieces):
        powers[v] = read(row[v])
        total += powers[v]
        top = max(top, powers[v])
    return top, total


@compiled
def _exponentiate_row(powers, top):
    """Put e^(x - top) in the place of each x; return the sum."""
    whole = powers.size // LANES * LANES
    mass = _exponentiate(powers, top, whole)
    for v in range(whole, powers.size):
        powers[v] = np.float32(math.exp(powers[v] - top))
        mass += powers[v]
    return mass


@compiled
def _gradient_row(powers, mass, label, smoothing, pad_id, logits, i):
    """Turn powers into probabilities less what is wanted, and write them to row i of the logits."""
    pieces, row = powers.size, logits[i]
    whole = pieces // LANES * LANES
    share, uniform = np.float32(1.0) / mass, np.float32(smoothing / (pieces - 1))
    _gradient(powers, share, uniform, logits, i * pieces, whole)
    for v in range(whole, pieces):
        powers[v] = powers[v] * share - uniform
        _put(row, v, powers[v])
    powers[pad_id] += uniform
    powers[label] -= np.float32(1.0 - smoothing)
    _put(row, pad_id, powers[pad_id])
    _put(row, label, powers[label])


@compiled
def _put(row, v, number):
    """Write one number; Numba warns where `write` itself is inlined several times."""
    write(row, v, number)


@for_loops(types.float32)
def _take(code, logits, at, powers, width):
    """Copy a row, in float32, and return its sum; width in sixteens."""

    def each(index, total):
        number = logits.load(code.builder.add(at, index))
        powers.store(index, number)
        return code.add(total, number)

    return code.total(code.fold(width, LANES, constant(0.0), each))


@for_loops(types.float32)
def _largest(code, powers, width):
    """Return the largest number."""
    nothing = constant(float("-inf"))
    tops = code.fold(width, LANES, nothing, lambda i, top: code.larger(top, powers.load(i)))
    return code.largest(tops)


@for_loops(types.float32)
def _exponentiate(code, powers, top, width):
    """Put e^(x - top) in the place of each x, and return the sum."""
    largest = code.everywhere(top)

    def each(index, total):
        power = code.exp(code.subtract(powers.load(index), largest))
        powers.store(index, power)
        return code.add(total, power)

    return code.total(code.fold(width, LANES, constant(0.0), each))


@for_loops(types.void)
def _gradient(code, powers, share, uniform, logits, at, width):
    """Turn powers into shares less what is wanted of every piece; write them to the logits, too."""
    factor, less = code.everywhere(share), code.everywhere(uniform)

    def each(index, values):
        grad = code.subtract(code.multiply(powers.load(index), factor), less)
        powers.store(index, grad)
        logits.put(code.builder.add(at, index), grad)
        return values

    code.fold_all(width, LANES, [], each)
