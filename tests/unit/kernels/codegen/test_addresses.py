"""A kernel reaches any number of arrays of one shape by their addresses."""

import numpy as np
import pytest

pytest.importorskip("numba")

from headway.kernels.codegen.addresses import addresses_of, array_at
from headway.kernels.codegen.numba_compiler import compiled


@compiled
def add_all(first: np.ndarray, addresses: np.ndarray, total: np.ndarray) -> None:
    for i in range(addresses.size):
        array = array_at(first, addresses[i])
        for row in range(array.shape[0]):
            for c in range(array.shape[1]):
                total[row, c] += array[row, c]
                array[row, c] = i


@pytest.mark.parametrize("count", [1, 2, 5])
def test_arrays_are_read_and_written_where_they_are(count: int) -> None:
    arrays = [np.random.default_rng(i).standard_normal((3, 7)) for i in range(count)]
    expected, total = np.sum(arrays, axis=0), np.zeros((3, 7))

    add_all(arrays[0], addresses_of(arrays), total)

    np.testing.assert_allclose(total, expected)
    for i, array in enumerate(arrays):
        assert (array == i).all()


def test_one_machine_code_serves_any_number() -> None:
    for count in (1, 3):
        arrays = [np.zeros((2, 2)) for _ in range(count)]
        add_all(arrays[0], addresses_of(arrays), np.zeros((2, 2)))
    assert len(add_all.signatures) == 1


@pytest.mark.parametrize(
    "other", [np.zeros((2, 3)), np.zeros((3, 2), np.float32), np.zeros((2, 3)).T]
)
def test_arrays_of_other_shapes_types_and_orders_are_refused(other: np.ndarray) -> None:
    with pytest.raises(ValueError, match="one type and shape"):
        addresses_of([np.zeros((3, 2)), other])
