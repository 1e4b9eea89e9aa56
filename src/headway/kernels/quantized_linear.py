"""Operands for products of 8-bit integers, by the processor's dot products."""

import numpy as np
from numpy.typing import NDArray

from headway.kernels import packing
from headway.kernels.arrays import Floats
from headway.kernels.codegen.numba_compiler import compiled
from headway.kernels.linear_blocks import LARGEST_BYTE, WORDS_AT_ONCE

_ALIGNED = 4 * WORDS_AT_ONCE  # bytes that are summed together
_WEIGHTS = np.iinfo(np.int16).max // LARGEST_BYTE
"""The largest sum of whole weights whose products with the largest byte fit into 16 bits."""


def least_steps(weight: Floats) -> Floats:
    """Return the smallest steps, (out,), that keep sums of whole weights from overflowing.

    weight: (out, in), as floats. With VNNI, any step is large enough. Before it, products of
    2 WORDS_AT_ONCE weights with bytes of up to LARGEST_BYTE are summed in 16 bits. If the sum of
    the positive weights fits, and that of the negative ones, then every partial sum fits.
    """
    largest_sums = np.zeros(len(weight), np.float32)
    if WORDS_AT_ONCE > 1:
        _find_largest_sums(weight, _ALIGNED, largest_sums)
    # Rounding adds at most a half to each weight.
    return largest_sums / np.float32(_WEIGHTS - WORDS_AT_ONCE)


@compiled
def _find_largest_sums(weight: Floats, together: int, largest_sums: Floats) -> None:
    """Write, for each output, the largest sum of weights of one sign that share 16 bits."""
    outputs, inputs = weight.shape
    for o in range(outputs):
        for first in range(0, inputs, together):
            end = min(first + together, inputs)
            for half in range(0, 4, 2):  # the first two bytes of each word, and the last two
                above, below = np.float32(0.0), np.float32(0.0)
                for two in range(first + half, end, 4):
                    for c in range(two, min(two + 2, end)):
                        above += max(weight[o, c], np.float32(0.0))
                        below += max(-weight[o, c], np.float32(0.0))
                largest_sums[o] = max(largest_sums[o], above, below)


@compiled
def bytes_for(inputs: int) -> int:
    """Return the bytes in rows and weights of this many inputs, padding included."""
    return 4 * packing.for_bytes(-(-inputs // _ALIGNED) * _ALIGNED)


def _padded(weight: NDArray[np.int8]) -> NDArray[np.int8]:
    outputs, inputs = weight.shape
    padded = np.zeros((outputs, bytes_for(inputs)), weight.dtype)
    padded[:, :inputs] = weight
    return padded


def in_byte_blocks(weight: NDArray[np.int8], steps: Floats, bias: Floats) -> NDArray[np.int32]:
    """Return int8 weights, (out, in), steps and bias, (out,), in blocks for `packing.multiply`.

    Four weights are in each word of int32, after the sum of each output's weights. The steps must
    not be below `least_steps`. Sums are then exact, for up to 66,000 inputs.
    """
    padded = _padded(weight)
    return packing.in_blocks(padded.view(np.int32), padded.sum(axis=1, dtype=np.int32), steps, bias)
