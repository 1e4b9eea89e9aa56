"""The state of a training, so that it continues bit for bit after any stop.

One file holds weights, optimizer, position in the data and best score. It is replaced in one step,
so it is always whole. It holds no random generators, because each step seeds them.
"""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from headway.bundle import set_model_tensors
from headway.errors import BundleError, RunError
from headway.training.diagnosis import Observed
from headway.training.distributed import World
from headway.training.tensor_file import read_tensors, read_values, write_tensors

_MODEL, _OPTIMIZER, _AVERAGE = "model/", "optimizer/", "average/"


@dataclass(slots=True)
class Progress:
    """The progress of a training, in plain values."""

    step: int = 0
    """Updates done."""
    epoch: int = 0
    """Epoch of the next batch, counted from 0."""
    batch: int = 0
    """Index of the next batch in its block."""
    target_tokens: int = 0
    """Real target pieces trained on so far."""
    seconds: float = 0.0
    """Time spent in training steps and validation so far."""
    best_score: float | None = None
    """Best validation score so far, in the sense of best_metric; lower is better."""
    best_step: int = 0
    start: dict[str, Any] | None = None
    """Loss and scores of the model that a fine-tune starts from, before its first step."""
    validations_since_best: int = 0
    snapshots: list[int] = field(default_factory=list)
    """Steps whose weights are kept for averaging, oldest first."""
    precision: str = "float32"
    block: int = 0
    """Block of the next batch in its epoch."""
    parts: int = 1
    """Parts of each batch, each with its own random numbers; more after memory did not suffice."""
    hardware: str = ""
    """Device, threads and processes; with others the run continues, but not bit for bit."""
    unrecorded_loss: float = 0.0
    """Sum of the losses since the last record of steps; below, their target pieces."""
    unrecorded_tokens: int = 0
    skipped: int = 0
    """Updates left out because their loss was not finite; below, the latest ones in a row."""
    skipped_in_a_row: int = 0
    observed: Observed = field(default_factory=Observed)
    """Observations of the diagnosis."""
    step_seconds: float = 0.0
    """Time spent in training steps alone."""
    preparing_seconds: float = 0.0
    """The part of it in steps that prepared later ones, which no estimate includes."""
    peak_memory: int = 0
    """Most bytes that process 0 has held so far, including before the run was continued."""
    estimate: dict[str, float] | None = None
    """The estimate from the first steps; empty after the hardware has changed."""
    changed: dict[str, str] = field(default_factory=dict)
    """Classes of parts that are not this package's own, by path."""


def save_checkpoint(
    path: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    progress: Progress,
    average: nn.Module | None = None,
    world: World | None = None,
) -> None:
    """Write the state; on failure the earlier checkpoint stays and RunError gives the reason.

    world: its process 0 writes. If the state is divided among the processes, all must call, and the
    file is the same as that of one process.
    """
    world = world or World()
    state: dict[str, Tensor] = {_MODEL + name: value for name, value in model.named_parameters()}
    if average is not None:
        state |= {_AVERAGE + name: value for name, value in average.named_parameters()}
    for index, values in optimizer.state_dict()["state"].items():
        for key, value in values.items():
            state[f"{_OPTIMIZER}{index}/{key}"] = value
    tensors = world.collect(state)
    if world.leads:
        write_tensors(path, tensors, {"progress": asdict(progress)})


def load_checkpoint(
    path: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    average: nn.Module | None = None,
    world: World | None = None,
) -> Progress:
    """Set weights and optimizer to those of the file, or this process's share of them.

    Returns the progress.
    """
    world = world or World()
    tensors, values = read_tensors(path)
    if "progress" not in values:
        raise RunError(f"{path} is not a checkpoint.", "Restore last.safetensors from a copy.")
    if "block" not in values["progress"]:
        raise RunError(
            f"The checkpoint {path} is of an earlier version, which ordered the text and drew "
            "its random numbers differently.",
            "Continue it with that version, or begin another run with training.start_from.",
        )
    try:
        _set_weights(model, _below(_MODEL, tensors), world)
        if average is not None:
            _set_weights(average, _below(_AVERAGE, tensors), world)
    except BundleError as error:
        raise RunError(
            f"The checkpoint {path} is of another model: {error.message}",
            "Continue with the configuration, and the change= if any, that the run began with.",
        ) from None
    _set_optimizer(optimizer, _below(_OPTIMIZER, tensors), world)
    progress = Progress(**values["progress"])
    progress.observed = Observed(**values["progress"]["observed"])
    return progress


def saved_step(path: Path) -> int:
    """Return the step in the header of a checkpoint, or 0 for a file without one.

    `load_checkpoint` checks whether the file is whole.
    """
    values = read_values(path)
    return int(values["progress"]["step"]) if "progress" in values else 0


def _below(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): tensor
        for name, tensor in tensors.items()
        if name.startswith(prefix)
    }


def _set_weights(model: nn.Module, tensors: dict[str, Tensor], world: World) -> None:
    parameters = dict(model.named_parameters())
    set_model_tensors(
        model,
        {
            name: world.share(tensor, parameters[name]) if name in parameters else tensor
            for name, tensor in tensors.items()
        },
    )


def _set_optimizer(
    optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor], world: World
) -> None:
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    state: dict[int, dict[str, Any]] = {}
    for name, tensor in tensors.items():
        index, key = name.split("/")
        # Moments have the shape of their parameter; the number of steps is not divided.
        like = parameters[int(index)] if tensor.dim() else tensor
        state.setdefault(int(index), {})[key] = world.share(tensor, like)
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": state, "param_groups": groups})
