"""Arrays by their addresses, so that a kernel takes any number of arrays of one shape.

A tuple's type includes its length, so Numba would compile a kernel again for each number of arrays.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from headway.kernels.arrays import Ints


def addresses_of(arrays: Sequence[NDArray[Any]]) -> Ints:
    """Return where the numbers of arrays begin in memory; the caller keeps the arrays alive.

    Raises ValueError unless all have the type and shape of the first, and are contiguous.
    """
    first = arrays[0]
    for array in arrays:
        if (array.dtype, array.shape) != (first.dtype, first.shape) or not array.flags.c_contiguous:
            raise ValueError("Arrays that are reached by address need one type and shape.")
    return np.array([array.__array_interface__["data"][0] for array in arrays], np.int64)


@intrinsic
def _array_at(context: Any, like: Any, address: Any) -> Any:
    if not isinstance(like, types.Array) or like.layout != "C":
        raise TypeError("array_at takes a contiguous array.")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array_type = signature.args[0]
        array = context.make_array(array_type)(context, builder, arguments[0])
        result = context.make_array(array_type)(context, builder)
        for name in ("nitems", "itemsize", "shape", "strides"):
            setattr(result, name, getattr(array, name))
        result.data = builder.inttoptr(arguments[1], array.data.type)
        # Nothing owns the memory on this side, so no references are counted.
        result.meminfo = cgutils.get_null_value(result.meminfo.type)
        result.parent = cgutils.get_null_value(result.parent.type)
        return result._getvalue()

    return like(like, types.int64), generate


array_at: Any = _array_at
"""array_at(like, address): an array of the type and shape of `like` that begins at this address."""


@intrinsic
def _copy_to(context: Any, array: Any, address: Any) -> Any:
    if not isinstance(array, types.Array) or array.layout != "C":
        raise TypeError("copy_to takes a contiguous array.")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source = context.make_array(signature.args[0])(context, builder, arguments[0])
        target = builder.inttoptr(arguments[1], source.data.type)
        cgutils.raw_memcpy(builder, target, source.data, source.nitems, source.itemsize)
        return context.get_dummy_value()

    return types.none(array, types.int64), generate


copy_to: Any = _copy_to
"""copy_to(array, address): copy a contiguous array's numbers there."""
