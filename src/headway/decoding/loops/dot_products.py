"""Products of 8-bit integers by the processor's own dot products (AVX-512 VNNI).

LLVM does not make these instructions of a loop, so the innermost loop is put together of them here:
each multiplies 64 unsigned bytes with 64 signed ones and adds them, four by four, to 16 sums.
"""

from typing import Any

import llvmlite.binding
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils, config
from numba.extending import intrinsic

from headway.decoding.loops.compiling import compiled, scaled

OFFSET = 128
"""What is added to the rows' numbers, from -127 to 127, to make them unsigned."""
_OUTPUTS = 64  # of a block of weights, four vectors of sums
_INPUTS = 4  # that one sum takes in one instruction
_ROWS = 6  # whose 24 vectors of sums, with the weights, fill the 32 registers

_BYTE, _INT, _WORD = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_VECTOR = ir.VectorType(_INT, 16)
_VECTORS = _OUTPUTS // 16
_INSTRUCTION = "llvm.x86.avx512.vpdpbusd.512"


def has_dot_products() -> bool:
    """Tell whether the processor has the instructions, and Numba compiles for it."""
    if any(getattr(config, name, None) for name in ("CPU_NAME", "CPU_FEATURES")):
        return False  # somebody wants code for another one
    try:
        return bool(llvmlite.binding.get_host_cpu_features().get("avx512vnni"))
    except RuntimeError:  # LLVM cannot say
        return False


def in_blocks(weight):
    """Return weights as the loops below want them, (out, in) -> (blocks, 1 + in / 4, 256), int8.

    A block is of 64 outputs, of which each row holds four inputs, output by output; zeros fill up.
    Its first row holds, in int32, where the sums begin: so that the offset of the inputs is out of
    them at the end.
    """
    outputs, inputs = weight.shape
    blocks, steps = -(-outputs // _OUTPUTS), -(-inputs // _INPUTS)
    filled = np.zeros((blocks * _OUTPUTS, steps * _INPUTS), np.int8)
    filled[:outputs, :inputs] = weight
    begins = -OFFSET * filled.sum(axis=1, dtype=np.int32)
    parts = filled.reshape(blocks, _OUTPUTS, steps, _INPUTS).transpose(0, 2, 1, 3)
    first = begins.view(np.int8).reshape(blocks, 1, _OUTPUTS * _INPUTS)
    return np.concatenate([first, parts.reshape(blocks, steps, -1)], axis=1)


@compiled
def multiply_bytes(whole, weight, row_steps, steps, bias, relu, y):
    """Compute y = (whole - OFFSET) weight, times both steps, + bias; then max(0, y) where asked.

    whole: (R, in, rounded up to fours), uint8. weight: `in_blocks`. row_steps: (R,). steps, bias:
    (out,). y: (R, out). Sums are of 32 bits and exact.
    """
    count, outputs = y.shape
    sums = np.empty((_ROWS, _OUTPUTS), np.int32)
    zero = np.float32(0.0)
    for block in range(weight.shape[0]):
        first = block * _OUTPUTS
        end = min(first + _OUTPUTS, outputs)
        block_steps, block_bias = steps[first:end], bias[first:end]
        row = 0
        while row < count:
            left = count - row
            if left >= 6:
                rows = 6
                _sum_six(whole, row, weight, block, sums)
            elif left >= 4:
                rows = 4
                _sum_four(whole, row, weight, block, sums)
            elif left >= 2:
                rows = 2
                _sum_two(whole, row, weight, block, sums)
            else:
                rows = 1
                _sum_one(whole, row, weight, block, sums)
            for i in range(rows):
                row_step = row_steps[row + i]
                line = y[row + i, first:end]
                for o in range(line.size):
                    result = scaled(np.float32(sums[i, o]), row_step, block_steps[o], block_bias[o])
                    line[o] = max(result, zero) if relu else result
            row += rows


def _sum_up(rows) -> Any:
    """Return what computes sums[:rows] = whole[row : row + rows] weight[block], unchecked."""

    @intrinsic
    def sum_up(context, whole, row, weight, block, sums):
        def generate(context, builder, signature, arguments):
            whole, row, weight, block, sums = arguments
            whole, weight, sums = (
                context.make_array(kind)(context, builder, value)
                for kind, value in zip(
                    (signature.args[0], signature.args[2], signature.args[4]),
                    (whole, weight, sums),
                    strict=True,
                )
            )
            width = builder.extract_value(whole.shape, 1)
            lines = builder.extract_value(weight.shape, 1)
            line = _OUTPUTS * _INPUTS
            first = _Bytes(builder, whole.data).beyond(builder.mul(row, width))
            weights = _Bytes(builder, weight.data).beyond(
                builder.mul(builder.mul(block, lines), _WORD(line))
            )
            totals = _generate_loop(builder, first, width, weights, lines, rows)
            out = _Bytes(builder, sums.data)
            for number, total in enumerate(totals):
                out.beyond(_WORD(64 * number)).store(total)
            return context.get_dummy_value()

        return types.void(whole, types.intp, weight, types.intp, sums), generate

    return sum_up


def _generate_loop(builder, first, width, weights, lines, rows):
    """Generate the loop over the lines of a block, four inputs each; return all vectors of sums."""
    instruction = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(_VECTOR, [_VECTOR] * 3), _INSTRUCTION
    )
    begins = [weights.beyond(_WORD(64 * v)).load(_VECTOR) for v in range(_VECTORS)]
    before = builder.block
    loop, after = builder.append_basic_block("inputs"), builder.append_basic_block("summed")
    builder.branch(loop)
    builder.position_at_end(loop)
    line = builder.phi(_WORD)
    line.add_incoming(_WORD(1), before)
    totals = [builder.phi(_VECTOR) for _ in range(rows * _VECTORS)]
    for number, total in enumerate(totals):
        total.add_incoming(begins[number % _VECTORS], before)
    here = weights.beyond(builder.mul(line, _WORD(_OUTPUTS * _INPUTS)))
    vectors = [here.beyond(_WORD(64 * v)).load(_VECTOR) for v in range(_VECTORS)]
    column = builder.mul(builder.sub(line, _WORD(1)), _WORD(_INPUTS))
    summed = []
    for row in range(rows):
        place = builder.add(builder.mul(width, _WORD(row)), column)
        four = _everywhere(builder, first.beyond(place).load(_INT))
        for v in range(_VECTORS):
            total = totals[row * _VECTORS + v]
            summed.append(builder.call(instruction, [total, four, vectors[v]]))
    following = builder.add(line, _WORD(1))
    line.add_incoming(following, loop)
    for total, sum_ in zip(totals, summed, strict=True):
        total.add_incoming(sum_, loop)
    builder.cbranch(builder.icmp_signed("<", following, lines), loop, after)
    builder.position_at_end(after)
    return summed


def _everywhere(builder, number):
    """Return a vector of 16 times the same number."""
    nothing = ir.Constant(_VECTOR, ir.Undefined)
    one = builder.insert_element(nothing, number, _INT(0))
    return builder.shuffle_vector(one, nothing, ir.Constant(_VECTOR, [0] * 16))


class _Bytes:
    """A place in memory, counted in bytes, whatever lies there."""

    def __init__(self, builder, pointer):
        self.builder = builder
        self.pointer = builder.bitcast(pointer, _BYTE.as_pointer())

    def beyond(self, count):
        return _Bytes(self.builder, self.builder.gep(self.pointer, [count]))

    def load(self, kind):
        value = self.builder.load(self.builder.bitcast(self.pointer, kind.as_pointer()))
        value.align = 1
        return value

    def store(self, value):
        place = self.builder.bitcast(self.pointer, value.type.as_pointer())
        self.builder.store(value, place).align = 1


_sum_one, _sum_two, _sum_four, _sum_six = (_sum_up(rows) for rows in (1, 2, 4, 6))
