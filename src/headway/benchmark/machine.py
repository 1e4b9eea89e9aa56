"""What a figure was measured on."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

_CPU_INFO = Path("/proc/cpuinfo")


def num_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def describe_machine(cores: int, *packages: str) -> dict[str, Any]:
    """Return processor, cores in use, instructions that PyTorch takes, and versions."""
    return {
        "processor": _processor(),
        "cores": cores,
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "versions": {name: _version(name) for name in ("torch", "numba", *packages)},
    }


def _processor() -> str:
    if _CPU_INFO.exists():
        for line in _CPU_INFO.read_text("utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
