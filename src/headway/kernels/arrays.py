"""The arrays that kernels take."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Floats = NDArray[np.float32]
Numbers = NDArray[np.float32] | NDArray[np.uint16]
"""Numbers of float32, or of bfloat16 in uint16."""
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Words = NDArray[np.uint32] | NDArray[np.int32] | NDArray[np.float32]
"""Words of 32 bits: two numbers of bfloat16 in uint32, four bytes in int32, or one of float32."""


def array(tensor: Tensor) -> NDArray[Any]:
    """Return a contiguous array of the tensor, bfloat16 in uint16; copied only if it is not one."""
    tensor = tensor.detach().contiguous()
    return (tensor.view(torch.uint16) if tensor.dtype == torch.bfloat16 else tensor).numpy()
