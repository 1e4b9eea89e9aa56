"""The arrays that kernels take."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Numbers = NDArray[np.float32] | NDArray[np.uint16]
"""Numbers of float32, or of bfloat16 in uint16."""
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Words = NDArray[np.uint32] | NDArray[np.int32] | NDArray[np.float32]
"""Words of 32 bits: two numbers of bfloat16 in uint32, four bytes in int32, or one of float32."""
