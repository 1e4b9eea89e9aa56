"""The machine that figures were measured on."""

from typing import Any

import torch

from headway.runtime.processor import processor_name
from headway.runtime.versions import installed_versions


def describe_machine(cores: int, *packages: str) -> dict[str, Any]:
    """Return processor, cores in use, instructions that PyTorch uses, and versions."""
    return {
        "processor": processor_name(),
        "cores": cores,
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "versions": installed_versions(["torch", "numba", *packages]),
    }
