"""The machine that figures were measured on."""

from importlib.metadata import PackageNotFoundError, version
from typing import Any

import torch

from headway.runtime.processor import processor_name


def describe_machine(cores: int, *packages: str) -> dict[str, Any]:
    """Return processor, cores in use, instructions that PyTorch uses, and versions."""
    return {
        "processor": processor_name(),
        "cores": cores,
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "versions": {name: _version(name) for name in ("torch", "numba", *packages)},
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
