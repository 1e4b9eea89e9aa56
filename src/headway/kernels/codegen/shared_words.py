"""Words of memory that two threads read and write, in compiled kernels."""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from headway.kernels.codegen.vectors import WORD

_for_compiled: Callable[..., Any] = intrinsic  # callers do not pass the first parameter


def _place(builder: Any, address: ir.Value, index: ir.Value) -> ir.Value:
    return builder.gep(builder.inttoptr(address, WORD.as_pointer()), [index])


@_for_compiled
def load(typing: Any, address: Any, index: Any) -> Any:
    """Return a word. Everything that its writer wrote before it is then visible, too."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> ir.Value:
        return builder.load_atomic(_place(builder, *values), "acquire", align=8)

    return types.int64(types.int64, types.int64), generate


@_for_compiled
def store(typing: Any, address: Any, index: Any, value: Any) -> Any:
    """Write a word, after everything that this thread wrote before is visible."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> ir.Value:
        place = _place(builder, *values[:2])
        builder.store_atomic(values[2], place, "release", align=8)
        return context.get_dummy_value()

    return types.none(types.int64, types.int64, types.int64), generate


@_for_compiled
def replace(typing: Any, address: Any, index: Any, before: Any, after: Any) -> Any:
    """Write a word if it is still `before`; return True if it was."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> ir.Value:
        place = _place(builder, *values[:2])
        result = builder.cmpxchg(place, values[2], values[3], "acq_rel", "acquire")
        return builder.extract_value(result, 1)

    return types.boolean(types.int64, types.int64, types.int64, types.int64), generate
