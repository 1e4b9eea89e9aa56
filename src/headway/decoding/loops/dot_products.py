"""Products of 8-bit integers by the processor's own dot products."""

import numpy as np

from headway.decoding.loops.blocks import OUTPUTS, ROWS, in_blocks, sum_up
from headway.decoding.loops.compiling import compiled, scaled

LEVELS = 127
"""The largest whole number of a row; sums of 32 bits have room for so many."""
OFFSET = 128
"""What is added to the rows' numbers to make them unsigned."""


def in_byte_blocks(weight):
    """Return weights as the loop below wants them, int8, (out, in), four in each word of int32.

    Sums begin with what takes the offset of the inputs out of them.
    """
    outputs, inputs = weight.shape
    filled = np.zeros((outputs, -(-inputs // 4) * 4), np.int8)
    filled[:, :inputs] = weight
    return in_blocks(filled.view(np.int32), -OFFSET * filled.sum(axis=1, dtype=np.int32))


@compiled
def multiply_bytes(whole, weight, row_steps, steps, bias, relu, y):
    """Compute y = (whole - OFFSET) weight, times both steps, + bias; then max(0, y) where asked.

    whole: (R, in, rounded up to fours), uint8. weight: `in_byte_blocks`. row_steps: (R,). steps,
    bias: (out,). y: (R, out). Sums are of 32 bits and exact.
    """
    words = whole.view(np.int32)
    count, outputs = y.shape
    width, size = words.shape[1], weight.shape[1] * OUTPUTS
    sums = np.empty((ROWS, OUTPUTS), np.int32)
    zero = np.float32(0.0)
    for block in range(weight.shape[0]):
        first = block * OUTPUTS
        end = min(first + OUTPUTS, outputs)
        block_steps, block_bias = steps[first:end], bias[first:end]
        for row in range(0, count, ROWS):
            rows = min(count - row, ROWS)
            sum_up(rows, words, row * width, width, weight, block * size, sums)
            for i in range(rows):
                row_step = row_steps[row + i]
                line = y[row + i, first:end]
                for o in range(line.size):
                    result = scaled(np.float32(sums[i, o]), row_step, block_steps[o], block_bias[o])
                    line[o] = max(result, zero) if relu else result
