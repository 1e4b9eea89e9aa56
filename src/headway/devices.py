"""Where to compute."""

import torch

from headway.errors import ConfigError


def resolve_device(name: str) -> str:
    """Return a device that exists here; auto takes cuda, then mps, then cpu."""
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
