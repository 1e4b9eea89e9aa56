"""Which kernels compute on a device."""

import torch

from headway.decoding.packed.kernels import Kernels
from headway.decoding.packed.plain import PlainKernels
from headway.decoding.packed.plain_products import Precision
from headway.errors import ConfigError
from headway.kernels.arrays import has_numba


def kernels_for(device: torch.device, precision: Precision) -> Kernels:
    """Return compiled kernels for a CPU where Numba is installed, those of PyTorch elsewhere."""
    if device.type == "cpu" and has_numba():
        from headway.decoding.packed.compiled import CompiledKernels

        return CompiledKernels(precision)
    if precision == "int8" and device.type != "cpu":
        raise ConfigError(
            f"int8 is for the CPU, and the model is on {device}.",
            "Use bfloat16 or float32 there, or the device cpu.",
        )
    return PlainKernels(device, precision)
