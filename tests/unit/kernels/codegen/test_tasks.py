"""A call that was written to memory is made later, with the arguments of that time."""

import numba
import numpy as np
import pytest

from headway.kernels.codegen.calls import form
from headway.kernels.codegen.numba_compiler import compiled
from headway.kernels.codegen.tasks import do_part, write_task


@compiled
def fill(numbers, value, first, last):
    if value < 0:
        raise MemoryError("no memory")
    for i in range(first, last):
        numbers[i] = value


@numba.njit
def write(code, numbers, value, address):
    return write_task(code, (numbers, value), address)


@numba.njit
def do(task, address, first, last):
    return do_part(task, address, first, last)


@pytest.mark.parametrize(("value", "succeeds"), [(7, True), (-1, False)])
def test_a_part_is_done_or_is_said_to_have_failed(value: int, succeeds: bool) -> None:
    numbers, memory = np.zeros(5, np.int64), np.zeros(32, np.int64)
    code = form(fill, numbers, value, 0, 0).address
    task = write(code, numbers, value, memory.ctypes.data)
    assert not numbers.any()

    assert do(task, memory.ctypes.data, 1, 3) is succeeds

    assert numbers.tolist() == ([0, 7, 7, 0, 0] if succeeds else 5 * [0])
