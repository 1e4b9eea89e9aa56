"""Products of 8-bit integers by the processor's own dot products."""

import numpy as np

from headway.loops.blocks import LARGEST_BYTE, WORDS, in_blocks, multiply_blocks
from headway.loops.compiling import compiled

OFFSET = 128
"""What is added to whole numbers of both signs to make them unsigned."""
ALIGNED = 4 * WORDS
"""Inputs come in multiples of this; zeros fill up."""


def least_steps(weight):
    """Return steps, (out,), from which on sums of whole weights fit into the bits they have.

    weight: (out, in), as floats. With VNNI any step does. Before it the products of 2 WORDS weights
    with bytes of up to LARGEST_BYTE are summed in 16 bits, which those of either sign must not
    exceed; rounding may add a half to each weight.
    """
    if WORDS == 1:
        return np.zeros(len(weight), np.float32)
    lanes = _filled(weight).reshape(len(weight), -1, WORDS, 2, 2)
    signs = np.maximum(lanes, 0), np.maximum(-lanes, 0)
    sums = np.maximum(*(one.sum(axis=(2, 4)) for one in signs)).max(axis=(1, 2))
    return sums / np.float32(np.iinfo(np.int16).max // LARGEST_BYTE - WORDS)


def _filled(weight):
    outputs, inputs = weight.shape
    filled = np.zeros((outputs, -(-inputs // ALIGNED) * ALIGNED), weight.dtype)
    filled[:, :inputs] = weight
    return filled


def in_byte_blocks(weight, steps, bias):
    """Return int8 weights, (out, in), steps and bias, (out,), as the loop below wants them.

    Four weights are in each word of int32, after the sum of each output's weights.
    """
    filled = _filled(weight)
    return in_blocks(filled.view(np.int32), filled.sum(axis=1, dtype=np.int32), steps, bias)


@compiled
def multiply_bytes(whole, weight, row_steps, zeros, relu, y):
    """Compute y = (whole - zeros) weight, times both steps, + bias; then max(0, y) where asked.

    whole: (R, in, rounded up to ALIGNED), uint8. weight: `in_byte_blocks`, with steps that are
    not below `least_steps`. row_steps, zeros: (R,). y: (R, out). Sums are of 32 bits and exact, up
    to 66,000 inputs.
    """
    multiply_blocks(whole.view(np.int32), weight, row_steps, zeros, relu, y)
