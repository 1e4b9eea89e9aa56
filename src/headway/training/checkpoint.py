"""The state of a training, so that it continues bit for bit after any stop.

One file holds all of it: weights, optimizer, random generators, position in the data, best score.
It is replaced in one step, so there is always a whole one.
"""

import random
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from headway.bundle import model_tensors, set_model_tensors
from headway.errors import BundleError, RunError
from headway.training.diagnosis import Observed
from headway.training.tensor_file import read_tensors, write_tensors

_MODEL, _OPTIMIZER, _RANDOM = "model/", "optimizer/", "random/"


@dataclass(slots=True)
class Progress:
    """Where a training stands, in plain values."""

    step: int = 0
    """Updates done."""
    epoch: int = 0
    """Epoch of the next batch, counted from 0."""
    batch: int = 0
    """Index of the next batch in its epoch."""
    target_tokens: int = 0
    """Real target pieces trained on so far."""
    seconds: float = 0.0
    """Time spent in training steps and validation so far."""
    best_score: float | None = None
    """Best validation score so far, in the sense of best_metric; lower is better."""
    best_step: int = 0
    validations_since_best: int = 0
    snapshots: list[int] = field(default_factory=list)
    """Steps whose weights are kept for averaging, oldest first."""
    precision: str = "float32"
    hardware: str = ""
    """Device and threads; on others the run goes on, but not bit for bit."""
    unrecorded_loss: float = 0.0
    """Sum of the losses since the last record of steps, and of their pieces."""
    unrecorded_tokens: int = 0
    parts: int = 1
    """Parts in which a batch is computed, because memory did not suffice for it whole."""
    skipped: int = 0
    """Updates left out because their loss was not finite, and those of them in a row just now."""
    skipped_in_a_row: int = 0
    observed: Observed = field(default_factory=Observed)
    """What the diagnosis goes on from."""


def save_checkpoint(
    path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, progress: Progress
) -> None:
    """Write the state; on failure the earlier checkpoint stays and RunError says why."""
    state = optimizer.state_dict()
    tensors = {_MODEL + name: tensor for name, tensor in model_tensors(model).items()}
    for index, values in state["state"].items():
        for key, value in values.items():
            tensors[f"{_OPTIMIZER}{index}/{key}"] = value
    tensors |= {_RANDOM + name: value for name, value in _random_tensors().items()}
    values = {
        "progress": asdict(progress),
        "python_random": random.getstate(),
        "numpy_random": _numpy_state(),
    }
    write_tensors(path, tensors, values)


def load_checkpoint(path: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> Progress:
    """Set weights, optimizer and random generators to those of the file; return the progress."""
    tensors, values = read_tensors(path)
    if "progress" not in values:
        raise RunError(f"{path} is not a checkpoint.", "Restore last.safetensors from a copy.")
    try:
        set_model_tensors(model, _below(_MODEL, tensors))
    except BundleError as error:
        raise RunError(
            f"The checkpoint {path} is of another model: {error.message}",
            "Continue with the configuration that the run began with.",
        ) from None
    _set_optimizer(optimizer, _below(_OPTIMIZER, tensors))
    _set_random(_below(_RANDOM, tensors), values)
    progress = Progress(**values["progress"])
    # A checkpoint of an earlier version has none.
    progress.observed = Observed(**values["progress"].get("observed", {}))
    return progress


def _below(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): tensor
        for name, tensor in tensors.items()
        if name.startswith(prefix)
    }


def _set_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    state: dict[int, dict[str, Any]] = {}
    for name, tensor in tensors.items():
        index, key = name.split("/")
        state.setdefault(int(index), {})[key] = tensor
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": state, "param_groups": groups})


def _random_tensors() -> dict[str, Tensor]:
    tensors = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        for index, state in enumerate(torch.cuda.get_rng_state_all()):
            tensors[f"cuda{index}"] = state
    if torch.backends.mps.is_available():
        tensors["mps"] = torch.mps.get_rng_state()
    return tensors


def _numpy_state() -> list[Any]:
    name, keys, position, has_gauss, gauss = np.random.get_state(legacy=True)
    return [name, np.asarray(keys).tolist(), position, has_gauss, gauss]


def _set_random(tensors: dict[str, Tensor], values: dict[str, Any]) -> None:
    torch.set_rng_state(tensors["cpu"])
    for index in range(torch.cuda.device_count()):
        if f"cuda{index}" in tensors:
            torch.cuda.set_rng_state(tensors[f"cuda{index}"], index)
    if "mps" in tensors and torch.backends.mps.is_available():
        torch.mps.set_rng_state(tensors["mps"])
    version, internal, gauss = values["python_random"]
    random.setstate((version, tuple(internal), gauss))
    name, keys, *rest = values["numpy_random"]
    np.random.set_state((name, np.array(keys, dtype=np.uint32), *rest))
