"""Tensors as the arrays that loops take."""

import functools
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

from headway.errors import warn

TYPES = (torch.float32, torch.bfloat16)


def can_loop(*tensors: Tensor) -> bool:
    """Tell whether loops are installed, and take these tensors: their types, and their memory."""
    known = all(tensor.device.type == "cpu" and tensor.dtype in TYPES for tensor in tensors)
    return known and not is_traced() and has_numba()


def is_traced() -> bool:
    """Tell whether torch.compile or a transform of torch.func stands between us and the numbers."""
    if torch.compiler.is_compiling():
        return True
    return bool(torch._C._are_functorch_transforms_active())  # pyright: ignore[reportAttributeAccessIssue]


def is_watched() -> bool:
    """Tell whether somebody watches PyTorch's operations, to count them for example."""
    return torch._C._len_torch_dispatch_stack() > 0


@functools.cache
def has_numba() -> bool:
    """Return True if loops can be compiled; warn once of a Numba that cannot be used."""
    if find_spec("numba") is None:
        return False
    try:
        import_module("headway.kernels.codegen.numba_compiler")
    except Exception as error:  # Numba and llvmlite raise several kinds, such as SystemError
        warn(
            f"Numba is installed, but cannot be used ({error}). PyTorch computes instead, "
            "and takes several times as long."
        )
        return False
    return True


def array(tensor: Tensor) -> Any:
    """Return the tensor as a contiguous array, bfloat16 in uint16; copied only if it is not."""
    tensor = tensor.detach().contiguous()
    return (tensor.view(torch.uint16) if tensor.dtype == torch.bfloat16 else tensor).numpy()
