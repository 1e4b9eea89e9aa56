"""ReLU by the bits is PyTorch's, with its gradient, for every number."""

import contextlib

import pytest
import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from headway.training.accelerated.relu import relu_, relu_gradient


def every_number() -> Tensor:
    """Return all there are in bfloat16, those that are none at the end of each half."""
    return torch.arange(-(2**15), 2**15).to(torch.int16).view(torch.bfloat16)


def test_it_is_pytorchs_for_every_number() -> None:
    found, expected = every_number(), every_number().relu()

    relu_(found)

    torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True)


def test_its_gradient_is_pytorchs_for_every_number() -> None:
    active, grad = every_number().relu(), every_number().flip(0)
    expected = torch.ops.aten.threshold_backward(grad, active, 0)

    found = relu_gradient(grad, active)

    torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True)
    assert torch.equal(grad.view(torch.int16), every_number().flip(0).view(torch.int16))


@pytest.mark.parametrize("watched", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_it_takes_any_layout_and_type(dtype: torch.dtype, watched: bool) -> None:
    x, grad = torch.randn(5, 7, dtype=dtype).T, torch.randn(7, 5, dtype=dtype)
    expected = x.relu(), torch.where(x > 0, grad, 0)

    with FlopCounterMode(display=False) if watched else contextlib.nullcontext():
        relu_(x)
        passed = relu_gradient(grad, x)

    assert torch.equal(x, expected[0])
    assert torch.equal(passed, expected[1])
