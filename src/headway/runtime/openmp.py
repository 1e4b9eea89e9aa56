"""GCC's OpenMP library, which holds the threads that PyTorch computes with on Linux."""

import contextlib
import ctypes
import functools
import os
from pathlib import Path

import torch


@functools.cache
def parallel_region() -> int:
    """Return the address of the function that begins a parallel region of PyTorch's threads.

    0 where PyTorch computes with the threads of another library, as on macOS and Windows.
    """
    for path in sorted((Path(torch.__file__).parent / "lib").glob("libgomp*.so*")):
        with contextlib.suppress(OSError, AttributeError):  # PyTorch has loaded another library
            library = ctypes.CDLL(str(path), mode=os.RTLD_NOLOAD)
            return ctypes.cast(library.GOMP_parallel, ctypes.c_void_p).value or 0
    return 0
