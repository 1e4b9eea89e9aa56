"""Products of 8-bit integers by the processor's own dot products."""

import numpy as np

from headway.decoding.loops.blocks import in_blocks, multiply_blocks
from headway.decoding.loops.compiling import compiled

LEVELS = 127
"""The largest whole number of a row; sums of 32 bits have room for so many."""
OFFSET = 128
"""What is added to the rows' numbers to make them unsigned."""


def in_byte_blocks(weight, steps, bias):
    """Return int8 weights, (out, in), steps and bias, (out,), as the loop below wants them.

    Four weights are in each word of int32. Sums begin with what takes the offset out of them.
    """
    outputs, inputs = weight.shape
    filled = np.zeros((outputs, -(-inputs // 4) * 4), np.int8)
    filled[:, :inputs] = weight
    begins = -OFFSET * filled.sum(axis=1, dtype=np.int32)
    return in_blocks(filled.view(np.int32), begins, steps, bias)


@compiled
def multiply_bytes(whole, weight, row_steps, relu, y):
    """Compute y = (whole - OFFSET) weight, times both steps, + bias; then max(0, y) where asked.

    whole: (R, in, rounded up to fours), uint8. weight: `in_byte_blocks`. row_steps: (R,). y: (R,
    out). Sums are of 32 bits and exact.
    """
    multiply_blocks(whole.view(np.int32), weight, row_steps, relu, y)
