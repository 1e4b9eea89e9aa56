"""Label-smoothed cross-entropy and its gradient, row by row of the logits (section 5.4)."""

import math

import numpy as np
from numba import types
from numpy.typing import NDArray

from headway.kernels.arrays import Floats, Ints, Numbers
from headway.kernels.codegen.bfloat16 import read, write
from headway.kernels.codegen.numba_compiler import compiled
from headway.kernels.codegen.parallel import in_parts
from headway.kernels.codegen.vectors import LANES, Code, FlatArray, Value, generated


@compiled
def smoothed_losses(
    logits: Numbers,
    labels: Ints,
    smoothing: float,
    pad_id: int,
    differentiate: bool,
    losses: NDArray[np.float64],
    grads: Floats,
    count: int,
    parts: int,
    region: int,
) -> bool:
    """Compute smoothed loss and negative log-likelihood of every row, `in_parts`.

    logits: (R, V), V at least LANES, float32 or bfloat16; to differentiate, the gradient of the
    loss overwrites them. labels: (R,); padding has no loss. losses: (R, 2), float64. grads: (parts
    or more, V or 0); part i adds its rows of the gradient to grads[i] before they are rounded.
    """
    inputs = logits, labels, smoothing, pad_id, differentiate, losses, grads, parts
    return in_parts(_smoothed_losses, inputs, count, parts, region)


@compiled
def _smoothed_losses(
    logits: Numbers,
    labels: Ints,
    smoothing: float,
    pad_id: int,
    differentiate: bool,
    losses: NDArray[np.float64],
    grads: Floats,
    parts: int,
    first: int,
    last: int,
) -> None:
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
        label_logit, pad_logit = powers[label], powers[pad_id]
        mass = _exponentiate_row(powers, top)
        log_mass = np.float64(top) + math.log(np.float64(mass))
        nll = log_mass - label_logit
        uniform = log_mass - np.float64(total - pad_logit) / (pieces - 1)
        losses[i, 0] = (1.0 - smoothing) * nll + smoothing * uniform
        losses[i, 1] = nll
        if differentiate:
            _gradient_row(powers, mass, label, smoothing, pad_id, logits, i)
            for v in range(grad_bias.size):
                grad_bias[v] += powers[v]


@compiled
def _read_row(logits: Numbers, i: int, powers: Floats) -> tuple[np.float32, np.float32]:
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
def _exponentiate_row(powers: Floats, top: np.float32) -> np.float32:
    """Replace each x by e^(x - top); return the sum."""
    whole = powers.size // LANES * LANES
    mass = _exponentiate(powers, top, whole)
    for v in range(whole, powers.size):
        powers[v] = np.float32(math.exp(powers[v] - top))
        mass += powers[v]
    return mass


@compiled
def _gradient_row(
    powers: Floats,
    mass: np.float32,
    label: int,
    smoothing: float,
    pad_id: int,
    logits: Numbers,
    i: int,
) -> None:
    """Turn powers into probabilities minus targets, and write them to row i of the logits."""
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
def _put(row: Numbers, v: int, number: np.float32) -> None:
    """Write one number; Numba warns if `write` itself is inlined several times."""
    write(row, v, number)


@generated(types.float32)
def _take(code: Code, logits: FlatArray, at: Value, powers: FlatArray, width: Value) -> Value:
    """Copy a row, in float32, and return its sum; width: a multiple of 16."""

    def add(index: Value, total: Value) -> Value:
        number = logits.load(at + index)
        powers.store(index, number)
        return total + number

    return code.sum(code.fold(width, LANES, code.constant(0.0), add))


@generated(types.float32)
def _largest(code: Code, powers: FlatArray, width: Value) -> Value:
    """Return the largest number; width: a multiple of 16."""
    lowest = code.constant(float("-inf"))
    tops = code.fold(width, LANES, lowest, lambda i, top: code.larger(top, powers.load(i)))
    return code.largest(tops)


@generated(types.float32)
def _exponentiate(code: Code, powers: FlatArray, top: Value, width: Value) -> Value:
    """Replace each x by e^(x - top), and return the sum; width: a multiple of 16."""
    largest = code.broadcast(top)

    def add(index: Value, total: Value) -> Value:
        power = code.exp(powers.load(index) - largest)
        powers.store(index, power)
        return total + power

    return code.sum(code.fold(width, LANES, code.constant(0.0), add))


@generated(types.void)
def _gradient(
    code: Code,
    powers: FlatArray,
    share: Value,
    uniform: Value,
    logits: FlatArray,
    at: Value,
    width: Value,
) -> None:
    """Turn powers into probabilities minus `uniform`; write them to the logits, too."""
    factor, target = code.broadcast(share), code.broadcast(uniform)

    def change(index: Value) -> None:
        grad = powers.load(index) * factor - target
        powers.store(index, grad)
        logits.store_rounded(at + index, grad)

    code.repeat(width, LANES, change)
