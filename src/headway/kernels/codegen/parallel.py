"""A compiled loop's work in parts, which the threads of a parallel region take one after the other.

This is what a compiler makes of OpenMP's `parallel`: the arguments go into a structure, and a
function that takes it is called by every thread. Nothing of it needs Python's lock, for which
threads that come from Python would wait, a tenth of a millisecond for each region.
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


_for_compiled: Callable[..., Any] = intrinsic  # whose first parameter no caller gives


@_for_compiled
def in_parts(typing, function, arguments, count, parts, region):
    """Call function(*arguments, first, last) for parts that make up 0 to count; in compiled loops.

    parts: how many, of sizes as equal as they can be. region: the address of `GOMP_parallel`, or 0
    where the caller is to do all of them itself. Returns whether all ended without an error, of
    which there can be one: no memory. What a part does must not depend on who does it.
    """
    given = (*arguments.types, types.intp, types.intp)
    call = function.get_call_type(typing, given, {})

    def generate(context, builder, signature, values):
        work = _Work(context, builder, function, call)
        return work.divide(values[1], *values[2:])

    return types.boolean(function, arguments, types.intp, types.intp, types.intp), generate


class _Work:
    """The instructions of one `in_parts`."""

    def __init__(self, context, builder, function, call):
        self.context, self.builder, self.call = context, builder, call
        self.found = function.dispatcher.get_compile_result(call)
        context.add_linking_libs([self.found.library])
        own = [context.get_value_type(kind) for kind in call.args[:-2]]
        # The arguments; how many, in how many parts; the next part; whether there was an error.
        self.shared = ir.LiteralStructType([*own, WORD, WORD, WORD, INT])
        self.num_own = len(own)

    def divide(self, arguments, count, parts, region):
        """Put everything where all threads find it, and begin the region."""
        builder = self.builder
        place = cgutils.alloca_once(builder, self.shared)
        own = [builder.extract_value(arguments, i) for i in range(self.num_own)]
        for i, value in enumerate([*own, count, parts, WORD(0), INT(0)]):
            builder.store(value, cgutils.gep_inbounds(builder, place, 0, i))
        share, data = self._share(), builder.bitcast(place, _POINTER)
        alone = builder.icmp_signed("==", region, WORD(0))
        with builder.if_else(alone) as (by_itself, by_threads):
            with by_itself:
                builder.call(share, [data])
            with by_threads:
                begin = builder.inttoptr(region, _REGION.as_pointer())
                # 0 is as many threads as PyTorch has: asked for fewer, GCC's pool would end the
                # others, and start new ones for PyTorch's next operation.
                builder.call(begin, [share, data, INT(0), INT(0)])
        failed = builder.load(cgutils.gep_inbounds(builder, place, 0, self.num_own + 3))
        return builder.icmp_signed("==", failed, INT(0))

    def _share(self):
        """Write the function of a thread: it takes parts while there are any."""
        module = self.builder.module
        share = ir.Function(module, _SHARE, module.get_unique_name("share"))
        share.linkage = "internal"
        builder = ir.IRBuilder(share.append_basic_block("entry"))
        place = builder.bitcast(share.args[0], self.shared.as_pointer())
        fields = [cgutils.gep_inbounds(builder, place, 0, i) for i in range(self.num_own + 4)]
        *own, count, parts = [builder.load(field) for field in fields[:-2]]
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
            builder, self.found.fndesc, self.call, [*own, first, last]
        )
        builder.cbranch(status.is_error, fail, take)
        builder.position_at_end(fail)
        builder.store(INT(1), fields[-1])
        builder.branch(end)
        builder.position_at_end(end)
        builder.ret_void()
        return share
