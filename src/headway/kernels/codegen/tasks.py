"""Calls of kernels that are written to memory, and the code of a thread that waits for work."""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from headway.kernels.codegen.vectors import INT, WORD

_POINTER = ir.IntType(8).as_pointer()
_TASK = ir.FunctionType(INT, [_POINTER, WORD, WORD])
_THREAD = ir.FunctionType(_POINTER, [_POINTER])
_WAIT = ir.FunctionType(INT, [_POINTER])
_PRIORITY = ir.FunctionType(INT, [INT, INT, INT])
_for_compiled: Callable[..., Any] = intrinsic  # callers do not pass the first parameter


@_for_compiled
def write_task(
    typing: Any, code: Any, arguments: Any, address: Any
) -> tuple[Any, Callable[..., Any]]:
    """Write a call of code(*arguments, first, last) to this address, without first and last.

    Return the task for `do_part`, an address of code. code: the address of a kernel that returns
    nothing. The memory of its arrays is not kept alive.
    """
    kinds = *arguments, types.int64, types.int64

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> ir.Value:
        layout = ir.LiteralStructType([WORD, *map(context.get_value_type, arguments)])
        place = builder.inttoptr(values[2], layout.as_pointer())
        fields = [values[0], *cgutils.unpack_tuple(builder, values[1], len(arguments))]
        for i, field in enumerate(fields):
            builder.store(field, cgutils.gep_inbounds(builder, place, 0, i))

        task = ir.Function(builder.module, _TASK, builder.module.get_unique_name("task"))
        task.linkage = "internal"
        inside = ir.IRBuilder(task.append_basic_block("entry"))
        stored = inside.bitcast(task.args[0], layout.as_pointer())
        first, *others = (
            inside.load(cgutils.gep_inbounds(inside, stored, 0, i)) for i in range(len(fields))
        )
        kind = context.call_conv.get_function_type(types.none, kinds).as_pointer()
        status, _ = context.call_conv.call_function(
            inside, inside.inttoptr(first, kind), types.none, kinds, [*others, *task.args[1:]]
        )
        inside.ret(inside.zext(status.is_error, INT))
        return builder.ptrtoint(task, WORD)

    return types.int64(types.int64, arguments, types.int64), generate


@_for_compiled
def do_part(
    typing: Any, task: Any, address: Any, first: Any, last: Any
) -> tuple[Any, Callable[..., Any]]:
    """Make the call that `write_task` wrote to this address; return False if it failed."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> ir.Value:
        function = builder.inttoptr(values[0], _TASK.as_pointer())
        failed = builder.call(function, [builder.inttoptr(values[1], _POINTER), *values[2:]])
        return builder.icmp_signed("==", failed, INT(0))

    return types.boolean(types.int64, types.int64, types.int64, types.int64), generate


@_for_compiled
def code_of_thread(typing: Any, function: Any) -> tuple[Any, Callable[..., Any]]:
    """Return the address of a thread's code: function(address) at each post of a semaphore.

    function: a compiled kernel that takes an int and returns nothing. The thread's argument is the
    address, where the semaphore is. The thread never enters Python, so it never holds the GIL. It
    gives itself the lowest priority; only on Linux does a thread have its own.
    """
    call = function.get_call_type(typing, (types.int64,), {})

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> ir.Value:
        compiled = function.dispatcher.get_compile_result(call)
        context.add_linking_libs([compiled.library])
        module = builder.module
        set_priority = cgutils.get_or_insert_function(module, _PRIORITY, "setpriority")
        wait = cgutils.get_or_insert_function(module, _WAIT, "sem_wait")
        code = ir.Function(module, _THREAD, module.get_unique_name("thread"))
        code.linkage = "internal"
        inside = ir.IRBuilder(code.append_basic_block("entry"))
        inside.call(set_priority, [INT(0), INT(0), INT(19)])
        address = inside.ptrtoint(code.args[0], WORD)
        again, awake = (inside.append_basic_block(name) for name in ("again", "awake"))
        inside.branch(again)
        inside.position_at_end(again)
        interrupted = inside.icmp_signed("!=", inside.call(wait, [code.args[0]]), INT(0))
        inside.cbranch(interrupted, again, awake)
        inside.position_at_end(awake)
        context.call_internal_no_propagate(inside, compiled.fndesc, call, [address])
        inside.branch(again)
        return builder.ptrtoint(code, WORD)

    return types.int64(function), generate
