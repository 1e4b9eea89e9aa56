"""Calls of compiled kernels by the addresses of their machine code.

A kernel that calls another by name contains a copy of it, optimized with the caller: it takes
longer to compile, and its sums may differ in the last bits. A call by address runs the same machine
code as a call from Python, and takes about 13 nanoseconds.
"""

from typing import Any, NamedTuple

import numba
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


class Form(NamedTuple):
    """A kernel of `compiled`, at the top level of a module, for arguments of these types."""

    kernel: Any
    kinds: tuple[types.Type, ...]

    @property
    def address(self) -> int:
        """The address of the machine code, which is compiled if needed and never freed."""
        self.kernel.compile(self.kinds)
        result = self.kernel.overloads[self.kinds]
        return result.library.get_pointer_to_function(result.fndesc.llvm_func_name)


def form(kernel: Any, *arguments: Any) -> Form:
    """Return the form of a kernel that takes arguments of these types."""
    return Form(kernel, tuple(map(numba.typeof, arguments)))


@intrinsic
def _call_at(context: Any, address: Any, arguments: Any) -> Any:
    kinds = tuple(arguments)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        convention = context.call_conv
        kind = convention.get_function_type(types.none, kinds).as_pointer()
        code = builder.inttoptr(values[0], kind)
        unpacked = cgutils.unpack_tuple(builder, values[1], len(kinds))
        status, _ = convention.call_function(builder, code, types.none, kinds, unpacked)
        with cgutils.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
        return context.get_dummy_value()

    return types.none(address, arguments), generate


call_at: Any = _call_at
"""call_at(address, arguments): call the kernel there, which returns None.

The arguments, a tuple, must have the types that `form` was given: nothing checks them. Only
the numbers of an array may be of another type of the same size.
"""
