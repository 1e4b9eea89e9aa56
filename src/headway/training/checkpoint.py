"""The state of a training, so that it continues bit for bit after any stop.

One file holds all of it: weights, optimizer, random generators, position in the data, best score.
It is a safetensors file; what is not a tensor is JSON in its header. It is replaced in one step,
so there is always a whole one.
"""

import json
import random
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from headway.bundle import model_tensors, set_model_tensors, write_atomically
from headway.errors import BundleError, RunError

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


def save_checkpoint(
    path: Path, model: nn.Module, optimizer: torch.optim.Optimizer, progress: Progress
) -> None:
    """Write the state; on failure the earlier checkpoint stays and RunError says why."""
    state = optimizer.state_dict()
    tensors = {_MODEL + name: tensor for name, tensor in model_tensors(model).items()}
    for index, values in state["state"].items():
        for key, value in values.items():
            tensors[f"{_OPTIMIZER}{index}/{key}"] = value.detach().cpu().contiguous()
    tensors |= {_RANDOM + name: value for name, value in _random_tensors().items()}
    header = {
        "progress": json.dumps(asdict(progress)),
        "python_random": json.dumps(random.getstate()),
        "numpy_random": json.dumps(_numpy_state()),
    }
    try:
        write_atomically(path, save(tensors, metadata=header))
    except OSError as error:
        raise RunError(
            f"The checkpoint {path} cannot be written ({error.strerror or error}).",
            "The last good one is unchanged: free some space and continue with --resume.",
        ) from error


def load_checkpoint(
    path: Path, model: nn.Module, optimizer: torch.optim.Optimizer
) -> Progress:
    """Set weights, optimizer and random generators to those of the file; return the progress."""
    try:
        with safe_open(path, framework="pt") as file:
            header = file.metadata()
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise RunError(
            f"There is no checkpoint {path}.", "Start the run without --resume."
        ) from None
    except (SafetensorError, OSError) as error:
        raise RunError(
            f"The checkpoint {path} cannot be read ({error}).",
            "Restore it from a copy, or start the run again in another folder.",
        ) from None
    try:
        set_model_tensors(model, _below(_MODEL, tensors))
    except BundleError as error:
        raise RunError(
            f"The checkpoint {path} is of another model: {error.message}",
            "Continue with the configuration that the run began with.",
        ) from None
    _set_optimizer(optimizer, _below(_OPTIMIZER, tensors))
    _set_random(_below(_RANDOM, tensors), header)
    return Progress(**json.loads(header["progress"]))


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
    return tensors


def _numpy_state() -> list[Any]:
    name, keys, position, has_gauss, gauss = np.random.get_state(legacy=True)
    return [name, np.asarray(keys).tolist(), position, has_gauss, gauss]


def _set_random(tensors: dict[str, Tensor], header: dict[str, str]) -> None:
    torch.set_rng_state(tensors["cpu"])
    for index in range(torch.cuda.device_count()):
        if f"cuda{index}" in tensors:
            torch.cuda.set_rng_state(tensors[f"cuda{index}"], index)
    version, internal, gauss = json.loads(header["python_random"])
    random.setstate((version, tuple(internal), gauss))
    name, keys, *rest = json.loads(header["numpy_random"])
    np.random.set_state((name, np.array(keys, dtype=np.uint32), *rest))
