"""A small language for loops over vectors: LLVM instructions, generated for compiled kernels.

LLVM vectorizes long loops. The loops of attention are short, a few dozen numbers each, and LLVM
would run most of them number by number.

`@generated` turns a function that writes instructions into one that compiled kernels can call. The
function computes with `Value`, which has Python's operators, and reads and writes `FlatArray`.
"""

import functools
from collections.abc import Callable, Sequence
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
# Without any flag, Numba would add all of FAST; this one changes no rounding.
_EXACT = ("nsz",)
BIT, SHORT, INT = ir.IntType(1), ir.IntType(16), ir.IntType(32)
WORD, FLOAT = ir.IntType(64), ir.FloatType()
SHORTS, INTS = ir.VectorType(SHORT, LANES), ir.VectorType(INT, LANES)
WORDS, FLOATS = ir.VectorType(WORD, LANES), ir.VectorType(FLOAT, LANES)

Builder = Any  # llvmlite has no annotations
LlvmValue = Any


class Value:
    """A number or a vector in generated code.

    Operators write one instruction each. Those of floats may be reordered (`FAST`). A Python number
    on the right is a constant of the same type.
    """

    __slots__ = ("builder", "llvm")

    def __init__(self, builder: Builder, value: LlvmValue) -> None:
        """Wrap an LLVM value."""
        self.builder = builder
        self.llvm = value

    def _written(self, value: Any) -> "Value":
        return Value(self.builder, value)

    def _like(self, other: "Value | float") -> LlvmValue:
        return other.llvm if isinstance(other, Value) else constant_of(self.llvm.type, other)

    def _is_float(self) -> bool:
        kind = self.llvm.type
        return (kind.element if isinstance(kind, ir.VectorType) else kind) == FLOAT

    def __add__(self, other: "Value | float") -> "Value":
        """Return self + other."""
        if self._is_float():
            return self._written(self.builder.fadd(self.llvm, self._like(other), flags=_FAST))
        return self._written(self.builder.add(self.llvm, self._like(other)))

    def __sub__(self, other: "Value | float") -> "Value":
        """Return self - other."""
        if self._is_float():
            return self._written(self.builder.fsub(self.llvm, self._like(other), flags=_FAST))
        return self._written(self.builder.sub(self.llvm, self._like(other)))

    def __mul__(self, other: "Value | float") -> "Value":
        """Return self * other, number by number."""
        if self._is_float():
            return self._written(self.builder.fmul(self.llvm, self._like(other), flags=_FAST))
        return self._written(self.builder.mul(self.llvm, self._like(other)))

    def __floordiv__(self, other: "Value | int") -> "Value":
        """Return the quotient of integers, rounded towards zero."""
        return self._written(self.builder.sdiv(self.llvm, self._like(other)))

    def __neg__(self) -> "Value":
        """Return -self of integers."""
        return self._written(self.builder.neg(self.llvm))

    def __rshift__(self, other: "Value | int") -> "Value":
        """Shift integers to the right, filling with zeros."""
        return self._written(self.builder.lshr(self.llvm, self._like(other)))

    def __lshift__(self, other: "Value | int") -> "Value":
        """Shift integers to the left."""
        return self._written(self.builder.shl(self.llvm, self._like(other)))

    def __and__(self, other: "Value | int") -> "Value":
        """Return the bits that both have."""
        return self._written(self.builder.and_(self.llvm, self._like(other)))

    def __xor__(self, other: "Value | int") -> "Value":
        """Return the bits that differ."""
        return self._written(self.builder.xor(self.llvm, self._like(other)))

    def __gt__(self, other: "Value | float") -> "Value":
        """Return where self > other, of floats; False for NaN."""
        return self._written(self.builder.fcmp_ordered(">", self.llvm, self._like(other)))

    def __ge__(self, other: "Value | float") -> "Value":
        """Return where self >= other, of floats (False for NaN) or of signed integers."""
        if self._is_float():
            return self._written(self.builder.fcmp_ordered(">=", self.llvm, self._like(other)))
        return self._written(self.builder.icmp_signed(">=", self.llvm, self._like(other)))

    def __lt__(self, other: "Value | int") -> "Value":
        """Return where self < other, of signed integers."""
        return self._written(self.builder.icmp_signed("<", self.llvm, self._like(other)))

    def equals(self, other: "Value | float") -> "Value":
        """Return where floats are equal; False for NaN."""
        return self._written(self.builder.fcmp_ordered("==", self.llvm, self._like(other)))

    def differs(self, other: "Value | float") -> "Value":
        """Return where floats differ; True for NaN."""
        return self._written(self.builder.fcmp_unordered("!=", self.llvm, self._like(other)))

    def divided_by(self, other: "Value | float") -> "Value":
        """Return self / other of floats."""
        return self._written(self.builder.fdiv(self.llvm, self._like(other)))

    def bitcast(self, kind: ir.Type) -> "Value":
        """Return the same bits as another type."""
        return self._written(self.builder.bitcast(self.llvm, kind))

    def truncated(self, kind: ir.Type) -> "Value":
        """Return the lower bits of integers."""
        return self._written(self.builder.trunc(self.llvm, kind))

    def widened(self, kind: ir.Type) -> "Value":
        """Return integers with more bits, which are zero."""
        return self._written(self.builder.zext(self.llvm, kind))

    def to_floats(self, kind: ir.Type) -> "Value":
        """Return signed integers as floats."""
        return self._written(self.builder.sitofp(self.llvm, kind))

    def to_integers(self, kind: ir.Type) -> "Value":
        """Return floats as signed integers."""
        return self._written(self.builder.fptosi(self.llvm, kind))


def constant_of(kind: ir.Type, number: float) -> ir.Constant:
    """Return a constant of this type; in a vector, every number is the same."""
    numbers = [number] * kind.count if isinstance(kind, ir.VectorType) else number
    return ir.Constant(kind, numbers)


class Code:
    """Writes instructions, one after the other."""

    def __init__(
        self,
        context: Any,
        builder: Builder,
        kinds: Sequence[types.Type],
        arguments: Sequence[LlvmValue],
    ) -> None:
        """Begin with the arguments of a function."""
        self.builder = builder
        self.arguments = [
            FlatArray(builder, kind, context.make_array(kind)(context, builder, argument).data)
            if isinstance(kind, types.Array)
            else Value(builder, argument)
            for kind, argument in zip(kinds, arguments, strict=True)
        ]

    def value(self, value: LlvmValue) -> Value:
        """Wrap an LLVM value."""
        return Value(self.builder, value)

    def constant(self, number: float, kind: ir.Type = FLOATS) -> Value:
        """Return a constant; in a vector, every number is the same."""
        return self.value(constant_of(kind, number))

    def numbered(self, kind: ir.VectorType) -> Value:
        """Return the vector of 0, 1, 2 and so on."""
        return self.value(ir.Constant(kind, list(range(kind.count))))

    def call(self, name: str, result: ir.Type, *arguments: Value, fast: bool = False) -> Value:
        """Call an intrinsic function of LLVM; fast: its sums may be reordered."""
        values = [argument.llvm for argument in arguments]
        kind = ir.FunctionType(result, [value.type for value in values])
        function = cgutils.get_or_insert_function(self.builder.module, kind, name)
        return self.value(self.builder.call(function, values, fastmath=_FAST if fast else ()))

    def exact_add(self, a: Value, b: Value) -> Value:
        """Return a + b of floats, rounded by itself whatever surrounds it."""
        return self.value(self.builder.fadd(a.llvm, b.llvm, flags=_EXACT))

    def exact_multiply(self, a: Value, b: Value) -> Value:
        """Return a * b of floats, rounded by itself whatever surrounds it."""
        return self.value(self.builder.fmul(a.llvm, b.llvm, flags=_EXACT))

    def add_product(self, total: Value, a: Value, b: Value) -> Value:
        """Return total + a * b of floats, in this order whatever surrounds it."""
        product = self.builder.fmul(a.llvm, b.llvm, flags=_FUSED)
        return self.value(self.builder.fadd(total.llvm, product, flags=_FUSED))

    def dequantized(self, total: Value, row_step: Value, step: Value, bias: Value) -> Value:
        """Return total * (row_step * step) + bias, with the same bits whatever surrounds it."""
        steps = self.exact_multiply(row_step, step)
        return self.exact_add(self.exact_multiply(total, steps), bias)

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        """Return a where the condition holds, b elsewhere."""
        return self.value(self.builder.select(condition.llvm, a.llvm, b.llvm))

    def larger(self, a: Value, b: Value) -> Value:
        """Return the larger number of each pair of floats; NaN of b is kept."""
        return self.select(a > b, a, b)

    def broadcast(self, number: Value, lanes: int = LANES) -> Value:
        """Return a vector of the same number."""
        undefined = ir.Constant(ir.VectorType(number.llvm.type, lanes), ir.Undefined)
        one_lane = self.builder.insert_element(undefined, number.llvm, INT(0))
        first = ir.Constant(ir.VectorType(INT, lanes), [0] * lanes)
        return self.value(self.builder.shuffle_vector(one_lane, undefined, first))

    def shuffle(self, a: Value, b: Value, order: Sequence[int]) -> Value:
        """Return the numbers at these places of a followed by b."""
        mask = ir.Constant(ir.VectorType(INT, len(order)), list(order))
        return self.value(self.builder.shuffle_vector(a.llvm, b.llvm, mask))

    def part(self, vector: Value, size: int, first: int) -> Value:
        """Return `size` numbers of a vector, from `first` on."""
        return self.shuffle(vector, vector, range(first, first + size))

    def to_bfloat16(self, vector: Value) -> Value:
        """Return the numbers in bfloat16, by the processor's instruction for it."""
        return self.call("llvm.x86.avx512bf16.cvtneps2bf16.512", SHORTS, vector)

    def sum(self, vector: Value) -> Value:
        """Return the sum of all numbers."""
        start = self.constant(-0.0, FLOAT)
        name = f"llvm.vector.reduce.fadd.v{LANES}f32"
        return self.call(name, FLOAT, start, vector, fast=True)

    def sums_of_four(self, vectors: Sequence[Value]) -> Value:
        """Return a vector of the sums of four vectors."""
        a, b, c, d = vectors
        ab, cd = self._sums_of_pairs(a, b, 1), self._sums_of_pairs(c, d, 1)
        quarters = self._sums_of_pairs(ab, cd, 2)  # each has a part of all four sums
        halves = self.part(quarters, 8, 0) + self.part(quarters, 8, 8)
        return self.part(halves, 4, 0) + self.part(halves, 4, 4)

    def _sums_of_pairs(self, a: Value, b: Value, size: int) -> Value:
        """Add neighbouring groups of `size` numbers; sums of a and of b take turns."""
        firsts = range(0, LANES, 2 * size)
        lower = [v + first + i for first in firsts for v in (0, LANES) for i in range(size)]
        return self.shuffle(a, b, lower) + self.shuffle(a, b, [place + size for place in lower])

    def largest(self, vector: Value) -> Value:
        """Return the largest of all numbers.

        LLVM's own reduction would compare one number after the other.
        """
        half = LANES
        while half > 1:
            half //= 2
            lower, upper = self.part(vector, half, 0), self.part(vector, half, half)
            name = f"llvm.maxnum.v{half}f32"
            vector = self.call(name, ir.VectorType(FLOAT, half), lower, upper)
        return self.value(self.builder.extract_element(vector.llvm, INT(0)))

    def exp(self, x: Value) -> Value:
        """Compute e^x for x <= 0, one float or a vector, within two units in the last place.

        2^t is 2^n, made from the bits of n, times a polynomial in t - n, which is at most a half.
        """
        floats = x.llvm.type
        lanes, whole = (f"v{LANES}", INTS) if floats == FLOATS else ("", INT)
        t = self.larger(self.constant(-87.0, floats), x) * 1.4426950408889634
        n = self.call(f"llvm.floor.{lanes}f32", floats, t + 0.5)
        fraction = t - n
        power = self.constant(1.535336188319500e-4, floats)
        for factor in (
            1.339887440266574e-3, 9.618437357674640e-3, 5.550332471162809e-2,
            2.402264791363012e-1, 6.931472028550421e-1, 1.0,
        ):  # fmt: skip
            power = power * fraction + factor
        bits = (n.to_integers(whole) + 127) << 23
        return power * bits.bitcast(floats)

    def sigmoid(self, x: Value) -> Value:
        """Compute 1 / (1 + e^-x), one float or a vector, by a power that cannot overflow."""
        one, zero = self.constant(1.0, x.llvm.type), self.constant(0.0, x.llvm.type)
        power = self.exp(zero - self.larger(x, zero - x))
        return self.select(x >= 0.0, one, power).divided_by(one + power)

    def is_before(self, first: Value, length: Value) -> Value:
        """Return a mask of the lanes whose place, first + lane, is below `length`."""
        return self.broadcast(first) + self.numbered(WORDS) < self.broadcast(length)

    def fold(
        self, count: Value, step: int, begin: Value, change: Callable[[Value, Value], Value]
    ) -> Value:
        """Start with `begin`, and call change(index, value) for 0, step, 2 * step, … below count.

        Return the last value. count is above 0.
        """
        return self.fold_all(count, step, [begin], lambda i, values: [change(i, *values)])[0]

    def fold_all(
        self,
        count: Value,
        step: int,
        begin: Sequence[Value],
        change: Callable[[Value, list[Value]], list[Value]],
    ) -> list[Value]:
        """Fold several values at a time, as `fold` does one."""
        builder, before = self.builder, self.builder.block
        loop, after = builder.append_basic_block("loop"), builder.append_basic_block("after")
        builder.branch(loop)
        builder.position_at_end(loop)
        index, phis = builder.phi(WORD), [builder.phi(value.llvm.type) for value in begin]
        changed = change(self.value(index), [self.value(phi) for phi in phis])
        following = self.value(index) + step
        firsts = [WORD(0), *(value.llvm for value in begin)]
        nexts = [following.llvm, *(value.llvm for value in changed)]
        for phi, first, then in zip([index, *phis], firsts, nexts, strict=True):
            phi.add_incoming(first, before)
            phi.add_incoming(then, builder.block)
        builder.cbranch((following < count).llvm, loop, after)
        builder.position_at_end(after)
        return changed

    def repeat(self, count: Value, step: int, body: Callable[[Value], None]) -> None:
        """Call body(index) for 0, step, 2 * step, … below count, which is above 0."""

        def run(index: Value, values: list[Value]) -> list[Value]:
            body(index)
            return values

        self.fold_all(count, step, [], run)


class FlatArray:
    """The numbers of an array in generated code, without its shape."""

    def __init__(self, builder: Builder, kind: types.Array, pointer: LlvmValue) -> None:
        """Take the pointer to the first number of an array of this type."""
        self.builder = builder
        self.kind = kind
        self.pointer = pointer

    def _place(self, index: Value, kind: ir.Type) -> LlvmValue:
        place = self.builder.gep(self.pointer, [index.llvm])
        return self.builder.bitcast(place, kind.as_pointer())

    def address(self, index: Value) -> Value:
        """Return the address of a number."""
        return Value(self.builder, self._place(index, ir.IntType(8)))

    def scalar(self, index: Value) -> Value:
        """Return one number in its own type."""
        return Value(self.builder, self.builder.load(self.builder.gep(self.pointer, [index.llvm])))

    def read(self, index: Value, kind: ir.Type) -> Value:
        """Return the bits from this number on as another type."""
        value = self.builder.load(self._place(index, kind))
        value.align = 1
        return Value(self.builder, value)

    def load(self, index: Value) -> Value:
        """Return 16 numbers of float32, or of bfloat16 in uint16, from this one on, in float32."""
        if self.kind.dtype not in (types.float32, types.uint16):
            raise TypingError(f"vectors are of float32 or of bfloat16, not of {self.kind.dtype}")
        upper_halves = self.kind.dtype == types.uint16
        vector = self.builder.load(self._place(index, SHORTS if upper_halves else FLOATS))
        vector.align = 2 if upper_halves else 4
        if not upper_halves:
            return Value(self.builder, vector)
        return (Value(self.builder, self.builder.zext(vector, INTS)) << 16).bitcast(FLOATS)

    def store(self, index: Value, vector: Value) -> None:
        """Write a vector from this number on."""
        place = self._place(index, vector.llvm.type)
        self.builder.store(vector.llvm, place).align = 1

    def store_rounded(self, index: Value, vector: Value) -> None:
        """Write 16 floats in the type of the array, to the nearest if that is bfloat16."""
        upper_halves = self.kind.dtype == types.uint16
        self.store(index, self._upper_halves(vector) if upper_halves else vector)

    def _upper_halves(self, vector: Value) -> Value:
        bits = vector.bitcast(INTS)
        odd = (bits >> 16) & 1
        rounded = bits + (odd + 0x7FFF)
        upper = (rounded >> 16).truncated(SHORTS)
        nan = self.builder.fcmp_unordered("uno", vector.llvm, vector.llvm)
        quiet_nan = constant_of(SHORTS, 0x7FC0)
        return Value(self.builder, self.builder.select(nan, quiet_nan, upper.llvm))

    def prefetch(self, index: Value, *, into_l2: bool = False) -> None:
        """Load the cache line of a number before it is needed, into L1, or into L2 alone."""
        place = self._place(index, ir.IntType(8))
        kind = ir.FunctionType(ir.VoidType(), [place.type, INT, INT, INT])
        function = cgutils.get_or_insert_function(self.builder.module, kind, "llvm.prefetch.p0")
        self.builder.call(function, [place, INT(0), INT(2 if into_l2 else 3), INT(1)])


def generated(result: types.Type) -> Callable[[Callable[..., Value | None]], Any]:
    """Turn a function that writes code into one that compiled kernels can call.

    The function takes `Code` and the arguments: a `FlatArray` for an array, which must be
    contiguous, and a `Value` for a number. It returns the result, or None for `types.void`.
    """

    def turn(write: Callable[..., Value | None]) -> Any:
        def typed(context: Any, *kinds: types.Type) -> tuple[Any, Callable[..., Any]]:
            if any(isinstance(kind, types.Array) and kind.layout != "C" for kind in kinds):
                raise TypingError(f"{write.__name__} takes contiguous arrays only")

            def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
                code = Code(context, builder, signature.args, arguments)
                value = write(code, *code.arguments)
                return context.get_dummy_value() if value is None else value.llvm

            return result(*kinds), generate

        return intrinsic(functools.update_wrapper(typed, write))

    return turn


@generated(types.intp)
def numbers_of_a_word(code: Code, words: FlatArray) -> Value:
    """Return the numbers in each word of an array: two of bfloat16 in uint32, otherwise one."""
    return code.constant(2 if words.kind.dtype == types.uint32 else 1, WORD)
