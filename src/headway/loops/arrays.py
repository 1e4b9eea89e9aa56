"""Tensors as the arrays that loops take."""

import functools
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

TYPES = (torch.float32, torch.bfloat16)


def can_loop(*tensors: Tensor) -> bool:
    """Tell whether loops are installed, and take these tensors: their types, and their memory."""
    known = all(tensor.device.type == "cpu" and tensor.dtype in TYPES for tensor in tensors)
    return known and has_numba() and not any(is_traced(tensor) for tensor in tensors)


def is_traced(tensor: Tensor) -> bool:
    """Tell whether torch.compile or a transform of torch.func stands between us and the numbers."""
    functorch = torch._C._functorch  # pyright: ignore[reportAttributeAccessIssue]
    wrapped = functorch.is_functorch_wrapped_tensor(tensor)
    return torch.compiler.is_compiling() or wrapped


@functools.cache
def has_numba() -> bool:
    """Tell whether loops can be compiled."""
    return find_spec("numba") is not None


def array(tensor: Tensor) -> Any:
    """Return the tensor's numbers in a row after the other, bfloat16 in uint16, without copying.

    Those of a tensor that does not lie so are copied.
    """
    tensor = tensor.detach().contiguous()
    return (tensor.view(torch.uint16) if tensor.dtype == torch.bfloat16 else tensor).numpy()
