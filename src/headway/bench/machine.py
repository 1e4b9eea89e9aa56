"""What a figure was measured on."""

import os
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import torch

from headway.runtime.devices import processor_name


def num_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def describe_machine(cores: int, *packages: str) -> dict[str, Any]:
    """Return processor, cores in use, instructions that PyTorch takes, and versions."""
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
