"""The choice of a backend for a device."""

import torch

from headway.decoding.packed.backend import Backend
from headway.decoding.packed.torch_backend import TorchBackend
from headway.errors import ConfigError
from headway.kernels import dispatch
from headway.kernels.dispatch import Precision


def choose_backend(device: torch.device, precision: Precision) -> Backend:
    """Return the Numba backend for a CPU with Numba installed, the PyTorch backend elsewhere."""
    if dispatch.decoder(device).by is dispatch.By.NUMBA:
        from headway.decoding.packed.numba_backend import NumbaBackend

        return NumbaBackend(precision)
    if precision == "int8" and device.type != "cpu":
        raise ConfigError(
            f"int8 is for the CPU, and the model is on {device}.",
            "Use bfloat16 or float32 there, or the device cpu.",
        )
    return TorchBackend(device, precision)
