"""Devices to compute on, and their names."""

import torch

from headway.errors import ConfigError, require_type
from headway.runtime.processor import processor_name


def resolve_device(name: str) -> str:
    """Return the device of this name; auto is the first available of cuda, mps and cpu.

    Raises ConfigError if this machine lacks the device.
    """
    require_type("device", name, str, "Give a name: auto, cpu, cuda or mps.")
    available = ["cpu"]
    if torch.backends.mps.is_available():
        available.insert(0, "mps")
    if torch.cuda.is_available():
        available.insert(0, "cuda")
    if name == "auto":
        return available[0]
    kind = name.partition(":")[0]
    count = torch.cuda.device_count() if kind == "cuda" else 1
    if kind not in available or name not in (kind, *(f"{kind}:{n}" for n in range(count))):
        raise ConfigError(
            f"The device '{name}' is not available here.",
            f"Choose auto or one of: {', '.join(available)}.",
        )
    return name


def check_device(device: object) -> None:
    """Refuse a name that PyTorch does not know; PyTorch itself refuses a device that is absent."""
    remedy = "Give a name, such as cpu or cuda:0, or a torch.device."
    require_type("device", device, (str, torch.device), remedy)
    try:
        torch.device(device)  # pyright: ignore[reportArgumentType, reportCallIssue]
    except RuntimeError:
        raise ConfigError(f"There is no device '{device}'.", remedy) from None


def processor(device: torch.device) -> str:
    """Return the name of a device's processor, and for a CPU the instructions PyTorch uses."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{processor_name()}, {torch.backends.cpu.get_cpu_capability()}"
