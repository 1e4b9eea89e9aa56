"""A call by address is a call."""

import numpy as np
import pytest

compiler = pytest.importorskip("headway.kernels.codegen.numba_compiler")
calls = pytest.importorskip("headway.kernels.codegen.calls")


@compiler.compiled
def _scale(numbers: np.ndarray, factor: float, out: np.ndarray) -> None:
    for i in range(numbers.size):
        out[i] = numbers[i] * factor


@compiler.compiled
def _scale_all(numbers: np.ndarray, out: np.ndarray) -> None:
    for i in range(numbers.shape[0]):
        _scale(numbers[i], 3.0, out[i])
        _scale(out[i], 3.0, out[i])


@compiler.compiled
def _refuse(numbers: np.ndarray) -> None:
    raise ValueError("refused")


@compiler.compiled
def _scale_at(address: int, numbers: np.ndarray, out: np.ndarray) -> None:
    calls.call_at(address, (numbers, 3.0, out))


@compiler.compiled
def _call_with(address: int, numbers: np.ndarray) -> None:
    calls.call_at(address, (numbers,))


def test_the_kernel_at_the_address_gets_the_arguments() -> None:
    numbers, out = np.arange(5, dtype=np.float32), np.empty(5, np.float32)
    _scale_at(calls.form(_scale, numbers, 3.0, out).address, numbers, out)
    np.testing.assert_array_equal(out, 3 * numbers)


def test_the_address_is_that_of_the_kernel_and_not_of_a_copy_in_another() -> None:
    numbers, out = np.arange(6, dtype=np.float32).reshape(2, 3), np.empty((2, 3), np.float32)
    before = calls.form(_scale, numbers[0], 3.0, out[0]).address
    _scale_all(numbers, out)
    assert calls.form(_scale, numbers[0], 3.0, out[0]).address == before
    _scale_at(before, numbers[0], out[0])
    np.testing.assert_array_equal(out[0], 3 * numbers[0])


def test_an_error_of_the_kernel_is_raised() -> None:
    numbers = np.zeros(2)
    with pytest.raises(ValueError, match="refused"):
        _call_with(calls.form(_refuse, numbers).address, numbers)
