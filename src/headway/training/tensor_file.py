"""Tensors on disk: one safetensors file, replaced in one step, with a checksum of its content."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from headway.errors import BundleError, RunError
from headway.runtime.atomic_files import write_atomically, writing
from headway.runtime.mapped_tensors import MappedTensors, map_file, safetensors_parts


def write_tensors(
    path: Path, tensors: Mapping[str, Tensor], values: Mapping[str, Any] | None = None
) -> None:
    """Write tensors and plain values; on failure the earlier file stays and RunError is raised."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    text = json.dumps(dict(values or {}))
    # One entry, because safetensors writes several in an order that depends on the process.
    header = {"headway": json.dumps({"values": text, "checksum": _checksum(tensors, text)})}
    remedy = "What was saved before is unchanged: free some space and continue with --resume."
    with writing(path, RunError, remedy):
        write_atomically(path, safetensors_parts(tensors, header))


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return tensors and values; RunError if the file is missing, cut short or changed."""
    # Not with safetensors itself: its `get_tensor` swallows Ctrl-C, and then reports a whole file
    # as damaged.
    try:
        file = MappedTensors(path, map_file(path))
        header = _header(file)
        tensors = {name: tensor.clone() for name, tensor in file.tensors().items()}
    except OSError as error:
        message = f"{path} cannot be read ({error.strerror or error})."
        raise RunError(message, _DAMAGED) from None
    except (BundleError, ValueError):
        raise RunError(f"{path} cannot be read: it is incomplete.", _DAMAGED) from None
    text = header.get("values", "")
    if header.get("checksum") != _checksum(tensors, text):
        raise RunError(f"{path} has changed since it was written.", _DAMAGED)
    return tensors, json.loads(text)


def read_values(path: Path) -> dict[str, Any]:
    """Return the plain values; {} for a file that is damaged or of another kind."""
    try:
        return json.loads(_header(MappedTensors(path, map_file(path))).get("values", "{}"))
    except (BundleError, OSError, ValueError):
        return {}


_DAMAGED = "Restore it from a copy, or start the run again in another folder."


def _header(file: MappedTensors) -> dict[str, Any]:
    header = json.loads(file.metadata().get("headway", "{}"))
    return header if isinstance(header, dict) else {}


def _checksum(tensors: Mapping[str, Tensor], text: str) -> str:
    total = hashlib.sha256(text.encode())
    for name, tensor in sorted(tensors.items()):
        total.update(f"\n{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        total.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return total.hexdigest()
