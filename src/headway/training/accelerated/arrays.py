"""The memory of tensors as arrays, which kernels take."""

from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor


def array(tensor: Tensor) -> NDArray[Any]:
    """Return a contiguous array of the tensor, bfloat16 in uint16; copied only if it is not one."""
    tensor = tensor.detach().contiguous()
    return (tensor.view(torch.uint16) if tensor.dtype == torch.bfloat16 else tensor).numpy()
