"""A small language for loops over vectors: instructions put together for LLVM, called from Numba.

LLVM turns loops into vectors where they are long. Those of attention are short, a few dozen numbers
each, and most of them would run number by number.
"""

import functools
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

from headway.kernels import LANES
from headway.kernels.codegen.numba_compiler import FAST

_FAST = tuple(sorted(FAST))
_FUSED = ("contract",)
# Nothing else is free to change; without any flag, Numba would add all of FAST.
_EXACT = ("nsz",)
_SHORT, INT, WORD = ir.IntType(16), ir.IntType(32), ir.IntType(64)
_FLOAT = ir.FloatType()
FLOATS, INTS = ir.VectorType(_FLOAT, LANES), ir.VectorType(INT, LANES)
SHORTS = ir.VectorType(_SHORT, LANES)


def constant(number: float) -> ir.Constant:
    """Return a vector of this number."""
    return ir.Constant(FLOATS, [number] * LANES)


class Code:
    """Instructions on vectors, one after the other."""

    def __init__(self, context, builder, kinds, arguments):
        """Begin with the arguments of a function."""
        self.builder = builder
        self.arguments = [
            Numbers(self, kind, context.make_array(kind)(context, builder, value))
            if isinstance(kind, types.Array)
            else value
            for kind, value in zip(kinds, arguments, strict=True)
        ]

    def add(self, a, b):
        """Return a + b."""
        return self.builder.fadd(a, b, flags=_FAST)

    def subtract(self, a, b):
        """Return a - b."""
        return self.builder.fsub(a, b, flags=_FAST)

    def multiply(self, a, b):
        """Return a * b, number by number."""
        return self.builder.fmul(a, b, flags=_FAST)

    def plus(self, a, b):
        """Return a + b, rounded by itself whatever stands around it."""
        return self.builder.fadd(a, b, flags=_EXACT)

    def times(self, a, b):
        """Return a * b, number by number, rounded by itself whatever stands around it."""
        return self.builder.fmul(a, b, flags=_EXACT)

    def larger(self, a, b):
        """Return the larger of each two; of b what is not a number shows."""
        return self.builder.select(self.builder.fcmp_ordered(">", a, b), a, b)

    def everywhere(self, number, lanes=LANES):
        """Return a vector of the same number."""
        nothing = ir.Constant(ir.VectorType(number.type, lanes), ir.Undefined)
        one = self.builder.insert_element(nothing, number, INT(0))
        first = ir.Constant(ir.VectorType(INT, lanes), [0] * lanes)
        return self.builder.shuffle_vector(one, nothing, first)

    def add_product(self, total, a, b):
        """Return total + a * b, in this order whatever stands around it."""
        product = self.builder.fmul(a, b, flags=_FUSED)
        return self.builder.fadd(total, product, flags=_FUSED)

    def scaled(self, total, row_step, step, bias):
        """Return total * (row_step * step) + bias, with the same bits wherever it stands."""
        return self.plus(self.times(total, self.times(row_step, step)), bias)

    def rounded(self, vector):
        """Return the numbers in bfloat16, by the processor's instruction for it."""
        name = "llvm.x86.avx512bf16.cvtneps2bf16.512"
        kind = ir.FunctionType(SHORTS, [FLOATS])
        instruction = cgutils.get_or_insert_function(self.builder.module, kind, name)
        return self.builder.call(instruction, [vector])

    def total(self, vector):
        """Return the sum of all numbers."""
        return self._reduced("fadd", vector, ir.Constant(_FLOAT, -0.0))

    def totals_of_four(self, vectors):
        """Return a vector of the sums of four vectors."""
        a, b, c, d = vectors
        ab, cd = self._sums_of_pairs(a, b, 1), self._sums_of_pairs(c, d, 1)
        quarters = self._sums_of_pairs(ab, cd, 2)  # each has a part of all four sums
        halves = self.part(quarters, 8, 0), self.part(quarters, 8, 8)
        both = self.add(*halves)
        return self.add(self.part(both, 4, 0), self.part(both, 4, 4))

    def _sums_of_pairs(self, a, b, size):
        """Return, in turns, what the groups of so many numbers of a add up to by twos, and of b."""
        firsts = range(0, LANES, 2 * size)
        lower = [v + first + i for first in firsts for v in (0, LANES) for i in range(size)]
        masks = (
            ir.Constant(ir.VectorType(INT, LANES), [i + by for i in lower]) for by in (0, size)
        )
        return self.add(*(self.builder.shuffle_vector(a, b, mask) for mask in masks))

    def part(self, vector, size, first):
        """Return so many numbers of a vector, from this one on."""
        mask = ir.Constant(ir.VectorType(INT, size), list(range(first, first + size)))
        return self.builder.shuffle_vector(vector, vector, mask)

    def largest(self, vector):
        """Return the largest of all numbers."""
        return self._reduced("fmax", vector)

    def _reduced(self, name, vector, *begin):
        kind = ir.FunctionType(_FLOAT, [*(value.type for value in begin), FLOATS])
        function = cgutils.get_or_insert_function(
            self.builder.module, kind, f"llvm.vector.reduce.{name}.v{LANES}f32"
        )
        return self.builder.call(function, [*begin, vector], fastmath=_FAST)

    def exp(self, x):
        """Compute e^x for x <= 0, one or a vector of them, within two units in the last place.

        2^t is 2^n, put together of bits, times a polynomial for the rest, which lies within a half.
        """
        builder, floats = self.builder, x.type
        whole = INTS if floats == FLOATS else INT

        def all_(number, kind=floats):
            return kind([number] * LANES if floats == FLOATS else number)

        t = self.multiply(self.larger(all_(-87.0), x), all_(1.4426950408889634))
        floor = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(floats, [floats]),
            f"llvm.floor.{f'v{LANES}' if floats == FLOATS else ''}f32",
        )
        n = builder.call(floor, [self.add(t, all_(0.5))])
        rest = self.subtract(t, n)
        power = all_(1.535336188319500e-4)
        for factor in (
            1.339887440266574e-3, 9.618437357674640e-3, 5.550332471162809e-2,
            2.402264791363012e-1, 6.931472028550421e-1, 1.0,
        ):  # fmt: skip
            power = self.add(self.multiply(power, rest), all_(factor))
        exponent = builder.add(builder.fptosi(n, whole), all_(127, whole))
        bits = builder.shl(exponent, all_(23, whole))
        return self.multiply(power, builder.bitcast(bits, floats))

    def there(self, first, length):
        """Tell which of the places first, first + 1, … are before `length`."""
        lanes = ir.Constant(ir.VectorType(WORD, LANES), list(range(LANES)))
        places = self.builder.add(self.everywhere(first), lanes)
        return self.builder.icmp_signed("<", places, self.everywhere(length))

    def fold(self, count, step, begin, each):
        """Return what `each(index, value)` makes of `begin`, for the indices 0, step, … < count.

        count is above 0.
        """
        return self.fold_all(count, step, [begin], lambda index, values: [each(index, *values)])[0]

    def fold_all(self, count, step, begin, each):
        """Fold several values at a time, as `fold` does one."""
        builder, before = self.builder, self.builder.block
        loop, after = builder.append_basic_block("each"), builder.append_basic_block("after")
        builder.branch(loop)
        builder.position_at_end(loop)
        index, values = builder.phi(WORD), [builder.phi(value.type) for value in begin]
        changed = each(index, values)
        following = builder.add(index, WORD(step))
        for phi, first, then in zip(
            [index, *values], [WORD(0), *begin], [following, *changed], strict=True
        ):
            phi.add_incoming(first, before)
            phi.add_incoming(then, builder.block)
        builder.cbranch(builder.icmp_signed("<", following, count), loop, after)
        builder.position_at_end(after)
        return changed


class Numbers:
    """An array, without its shape."""

    def __init__(self, code, kind, array):
        """Look at an array of this type."""
        self.code = code
        self.kind = kind
        self.pointer = array.data

    def _at(self, index, kind):
        place = self.code.builder.gep(self.pointer, [index])
        return self.code.builder.bitcast(place, kind.as_pointer())

    def address(self, index):
        """Return where a number lies."""
        return self._at(index, ir.IntType(8))

    def one(self, index):
        """Return a single number as it is."""
        return self.code.builder.load(self.code.builder.gep(self.pointer, [index]))

    def raw(self, index, kind):
        """Return what lies there, as something else."""
        value = self.code.builder.load(self._at(index, kind))
        value.align = 1
        return value

    def load(self, index):
        """Return 16 numbers of float32, or of bfloat16 in uint16, from this one on, in float32."""
        builder = self.code.builder
        if self.kind.dtype not in (types.float32, types.uint16):
            raise TypingError(f"vectors are of float32 or of bfloat16, not of {self.kind.dtype}")
        upper_halves = self.kind.dtype == types.uint16
        vector = builder.load(self._at(index, SHORTS if upper_halves else FLOATS))
        vector.align = 2 if upper_halves else 4
        if not upper_halves:
            return vector
        wide = builder.zext(vector, INTS)
        bits = builder.shl(wide, ir.Constant(INTS, [16] * LANES))
        return builder.bitcast(bits, FLOATS)

    def store(self, index, vector):
        """Write a vector from this place on."""
        self.code.builder.store(vector, self._at(index, vector.type)).align = 1

    def put(self, index, vector):
        """Write 16 numbers as the array has them, to the nearest if it has bfloat16."""
        upper_halves = self.kind.dtype == types.uint16
        self.store(index, self._upper_halves(vector) if upper_halves else vector)

    def _upper_halves(self, vector):
        builder = self.code.builder

        def all_(number):
            return ir.Constant(INTS, [number] * LANES)

        bits = builder.bitcast(vector, INTS)
        odd = builder.and_(builder.lshr(bits, all_(16)), all_(1))
        rounded = builder.add(bits, builder.add(odd, all_(0x7FFF)))
        upper = builder.trunc(builder.lshr(rounded, all_(16)), SHORTS)
        nan = builder.fcmp_unordered("uno", vector, vector)
        return builder.select(nan, ir.Constant(SHORTS, [0x7FC0] * LANES), upper)

    def fetch(self, index):
        """Ask for these numbers before they are needed."""
        builder = self.code.builder
        place = self._at(index, ir.IntType(8))
        kind = ir.FunctionType(ir.VoidType(), [place.type, INT, INT, INT])
        name = "llvm.prefetch.p0"
        function = cgutils.get_or_insert_function(builder.module, kind, name)
        builder.call(function, [place, INT(0), INT(3), INT(1)])


def for_loops(result: types.Type) -> Callable[[Callable[..., Any]], Any]:
    """Make of a function that writes code one that compiled loops can call.

    Its arguments are arrays, of which only the numbers in a row are seen, and numbers.
    """

    def turn(write: Callable[..., Any]) -> Any:
        def typed(context, *kinds):
            if any(isinstance(kind, types.Array) and kind.layout != "C" for kind in kinds):
                raise TypingError(f"{write.__name__} is for arrays that lie in one piece")

            def generate(context, builder, signature, arguments):
                code = Code(context, builder, signature.args, arguments)
                found = write(code, *code.arguments)
                return context.get_dummy_value() if found is None else found

            return result(*kinds), generate

        return intrinsic(functools.update_wrapper(typed, write))

    return turn


@for_loops(types.intp)
def numbers_of_a_word(code, words):
    """Return how many numbers each word of an array is: of uint32 two of bfloat16, else one."""
    return WORD(2 if words.kind.dtype == types.uint32 else 1)
