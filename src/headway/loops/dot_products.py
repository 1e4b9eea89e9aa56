"""Products of 8-bit integers by the processor's own dot products."""

import numpy as np

from headway.loops.blocks import in_blocks, multiply_blocks
from headway.loops.compiling import compiled

OFFSET = 128
"""What is added to whole numbers of both signs to make them unsigned."""


def in_byte_blocks(weight, steps, bias):
    """Return int8 weights, (out, in), steps and bias, (out,), as the loop below wants them.

    Four weights are in each word of int32, after the sum of each output's weights.
    """
    outputs, inputs = weight.shape
    filled = np.zeros((outputs, -(-inputs // 4) * 4), np.int8)
    filled[:, :inputs] = weight
    return in_blocks(filled.view(np.int32), filled.sum(axis=1, dtype=np.int32), steps, bias)


@compiled
def multiply_bytes(whole, weight, row_steps, zeros, relu, y):
    """Compute y = (whole - zeros) weight, times both steps, + bias; then max(0, y) where asked.

    whole: (R, in, rounded up to fours), uint8. weight: `in_byte_blocks`. row_steps, zeros: (R,). y:
    (R, out). Sums are of 32 bits and exact, up to 66,000 inputs.
    """
    multiply_blocks(whole.view(np.int32), weight, row_steps, zeros, relu, y)
