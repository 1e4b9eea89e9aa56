"""Averaging of weights over the last validations (section 6.1)."""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from headway.bundle import model_tensors
from headway.training.tensor_file import read_tensors, write_tensors


def snapshot_path(folder: Path, step: int) -> Path:
    """Return the file of the weights of a step."""
    return folder / f"weights-{step:08d}.safetensors"


def save_snapshot(folder: Path, step: int, model: nn.Module) -> None:
    """Keep the weights of this step for the average."""
    write_tensors(snapshot_path(folder, step), model_tensors(model))


def prune_snapshots(folder: Path, keep: Sequence[int]) -> None:
    """Remove the weights of all other steps."""
    paths_to_keep = {snapshot_path(folder, step) for step in keep}
    for path in folder.glob("weights-*.safetensors"):
        if path not in paths_to_keep:
            path.unlink()


def average_snapshots(folder: Path, steps: Sequence[int]) -> dict[str, Tensor]:
    """Return the mean of the weights of these steps, summed in float64."""
    sums: dict[str, Tensor] = {}
    for step in steps:
        tensors, _ = read_tensors(snapshot_path(folder, step))
        for name, tensor in tensors.items():
            sums[name] = sums[name] + tensor.double() if name in sums else tensor.double()
    return {name: (total / len(steps)).to(torch.float32) for name, total in sums.items()}
