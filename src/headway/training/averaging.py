"""Averaging of weights over the last validations (section 6.1)."""

from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor, nn

from headway.bundle import model_tensors, write_atomically
from headway.errors import RunError


def snapshot_path(folder: Path, step: int) -> Path:
    """Return the file of the weights of a step."""
    return folder / f"weights-{step:08d}.safetensors"


def save_snapshot(folder: Path, step: int, model: nn.Module) -> None:
    """Keep the weights of this step for the average."""
    path = snapshot_path(folder, step)
    try:
        write_atomically(path, save(model_tensors(model)))
    except OSError as error:
        raise RunError(
            f"The weights {path} cannot be written ({error.strerror or error}).",
            "The last checkpoint is unchanged: free some space and continue with --resume.",
        ) from error


def prune_snapshots(folder: Path, keep: Sequence[int]) -> None:
    """Remove the weights of all other steps."""
    kept = {snapshot_path(folder, step) for step in keep}
    for path in folder.glob("weights-*.safetensors"):
        if path not in kept:
            path.unlink()


def average_snapshots(folder: Path, steps: Sequence[int]) -> dict[str, Tensor]:
    """Return the mean of the weights of these steps, summed in float64."""
    sums: dict[str, Tensor] = {}
    for step in steps:
        for name, tensor in _load(snapshot_path(folder, step)).items():
            sums[name] = sums[name] + tensor.double() if name in sums else tensor.double()
    return {name: (total / len(steps)).to(torch.float32) for name, total in sums.items()}


def _load(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise RunError(
            f"The weights {path} cannot be read ({error}).", "Continue the run with --resume."
        ) from None
