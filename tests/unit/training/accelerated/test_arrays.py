"""Kernels get the memory of a tensor, and bfloat16 in uint16."""

import numpy as np
import pytest
import torch

from headway.training.accelerated.arrays import array


@pytest.mark.parametrize(
    ("dtype", "kind"), [(torch.float32, np.float32), (torch.bfloat16, np.uint16)]
)
def test_an_array_has_the_memory_of_its_tensor(dtype: torch.dtype, kind: type) -> None:
    tensor = torch.randn(2, 3, requires_grad=True).to(dtype)
    numbers = array(tensor)

    assert numbers.dtype == kind
    assert numbers.__array_interface__["data"][0] == tensor.data_ptr()


def test_a_tensor_that_is_not_contiguous_is_copied() -> None:
    tensor = torch.arange(6.0).reshape(2, 3).T
    numbers = array(tensor)

    assert numbers.flags.c_contiguous
    assert numbers.tolist() == tensor.tolist()
