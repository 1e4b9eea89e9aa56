"""A kernel's work in parts, which the threads of a parallel region take one after the other.

A compiler does the same for OpenMP's `parallel`: the arguments go into a structure, and every
thread calls a function that takes it. Threads of Python would wait a tenth of a millisecond for the
GIL in each region; these threads never need it.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from headway.kernels.codegen.vectors import INT, WORD

_NOTHING, _POINTER = ir.VoidType(), ir.IntType(8).as_pointer()
_SHARE = ir.FunctionType(_NOTHING, [_POINTER])
_REGION = ir.FunctionType(_NOTHING, [_SHARE.as_pointer(), _POINTER, INT, INT])


_for_compiled: Callable[..., Any] = intrinsic  # callers do not pass the first parameter


@_for_compiled
def in_parts(
    typing: Any, function: Any, arguments: Any, count: Any, parts: Any, region: Any
) -> tuple[Any, Callable[..., Any]]:
    """Call function(*arguments, first, last) for parts that make up 0 to count, in a kernel.

    parts: their number; their sizes are as equal as possible. region: the address of
    `GOMP_parallel`, or 0 if the calling thread does all parts. Returns True if all parts ended
    without an error; the only possible error is lack of memory. The result of a part must not
    depend on its thread.
    """
    kinds = (*arguments.types, types.intp, types.intp)
    call = function.get_call_type(typing, kinds, {})

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> ir.Value:
        work = _Work(context, builder, function, call)
        return work.divide(values[1], *values[2:])

    return types.boolean(function, arguments, types.intp, types.intp, types.intp), generate


class _Work:
    """The instructions of one `in_parts`."""

    def __init__(self, context: Any, builder: ir.IRBuilder, function: Any, call: Any) -> None:
        self.context, self.builder, self.call = context, builder, call
        self.compiled = function.dispatcher.get_compile_result(call)
        context.add_linking_libs([self.compiled.library])
        kinds = [context.get_value_type(kind) for kind in call.args[:-2]]
        # The arguments; the count; the number of parts; the next part; whether there was an error.
        self.shared = ir.LiteralStructType([*kinds, WORD, WORD, WORD, INT])
        self.num_arguments = len(kinds)

    def divide(
        self, arguments: ir.Value, count: ir.Value, parts: ir.Value, region: ir.Value
    ) -> ir.Value:
        """Write all to the structure that threads share, and begin the region."""
        builder = self.builder
        place = cgutils.alloca_once(builder, self.shared)
        values = [builder.extract_value(arguments, i) for i in range(self.num_arguments)]
        for i, value in enumerate([*values, count, parts, WORD(0), INT(0)]):
            builder.store(value, cgutils.gep_inbounds(builder, place, 0, i))
        share, data = self._share(), builder.bitcast(place, _POINTER)
        alone = builder.icmp_signed("==", region, WORD(0))
        with builder.if_else(alone) as (by_itself, by_threads):
            with by_itself:
                builder.call(share, [data])
            with by_threads:
                begin = builder.inttoptr(region, _REGION.as_pointer())
                # 0 means as many threads as PyTorch has. For fewer, GCC's pool would end the
                # surplus threads, and start new ones for PyTorch's next operation.
                builder.call(begin, [share, data, INT(0), INT(0)])
        failed = builder.load(cgutils.gep_inbounds(builder, place, 0, self.num_arguments + 3))
        return builder.icmp_signed("==", failed, INT(0))

    def _share(self) -> ir.Function:
        """Write the function of a thread, which takes parts until none is left."""
        module = self.builder.module
        share = ir.Function(module, _SHARE, module.get_unique_name("share"))
        share.linkage = "internal"
        builder = ir.IRBuilder(share.append_basic_block("entry"))
        place = builder.bitcast(share.args[0], self.shared.as_pointer())
        indices = range(self.num_arguments + 4)
        fields = [cgutils.gep_inbounds(builder, place, 0, i) for i in indices]
        *arguments, count, parts = [builder.load(field) for field in fields[:-2]]
        take, work, fail, end = (
            builder.append_basic_block(n) for n in ("take", "work", "fail", "end")
        )
        builder.branch(take)
        builder.position_at_end(take)
        part = builder.atomic_rmw("add", fields[-2], WORD(1), "monotonic")
        builder.cbranch(builder.icmp_signed("<", part, parts), work, end)
        builder.position_at_end(work)
        first, last = (
            builder.sdiv(builder.mul(count, number), parts)
            for number in (part, builder.add(part, WORD(1)))
        )
        status, _ = self.context.call_internal_no_propagate(
            builder, self.compiled.fndesc, self.call, [*arguments, first, last]
        )
        builder.cbranch(status.is_error, fail, take)
        builder.position_at_end(fail)
        builder.store(INT(1), fields[-1])
        builder.branch(end)
        builder.position_at_end(end)
        builder.ret_void()
        return share
