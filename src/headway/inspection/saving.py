"""A trace as a file: safetensors, JSON or NumPy's npz, by the name of the file.

All three have the same content: the tensors by name, and one description of axes, sentence,
equations and edits. The sentence has all pieces; the axes get them from there.

JSON has neither infinity nor NaN. A number that is not finite is `null` among the values, and
`not_finite` says which kind: `{"-inf": [3, 4]}` has the places of minus infinity, counted row by
row. So a masked score is not mistaken for a number, nor for a missing one.
"""

import io
import json
import math
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_safetensors
from safetensors.torch import save as save_safetensors
from torch import Tensor

from headway.errors import ConfigError, TraceError, require_path, suggest
from headway.home import expanded
from headway.inspection.model_kind import Variant
from headway.inspection.named_tensor import Axis, TracedTensor
from headway.inspection.sentence import TracedSentence
from headway.runtime.atomic_files import write_atomically, writing

FORMAT = 1
_DESCRIPTION = "headway_trace"  # never the name of a tensor: those have the names of attributes
_NOT_FINITE = {"-inf": -math.inf, "inf": math.inf, "nan": math.nan}

Tensors = dict[str, Tensor]
Description = dict[str, Any]
"""Axes, sentence, equations and edits."""

# Errors from reading a file that is damaged or not a trace.
_DAMAGES = (
    AttributeError, EOFError, KeyError, OSError, RuntimeError, SafetensorError, TypeError,
    ValueError, zipfile.BadZipFile,
)  # fmt: skip


def write_file(path: str | Path, tensors: Mapping[str, Tensor], description: Description) -> None:
    """Write tensors with their description, in the form of the name's ending."""
    require_path("The file of a trace", path)
    path = expanded(path)
    write = _form(path, "written")[0]
    copies = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    data = write(copies, description)
    remedy = "Choose another place, or free some space."
    with writing(f"The trace {path}", TraceError, remedy):
        write_atomically(path, data)


def read_file(path: str | Path) -> tuple[Tensors, Description]:
    """Return tensors and description; TraceError if the file does not hold a trace."""
    require_path("The file of a trace", path)
    path = expanded(path)
    read = _form(path, "read")[1]
    try:
        data = path.read_bytes()
    except OSError as error:
        raise TraceError(
            f"The trace {path} cannot be read ({error.strerror or error}).", "Check its name."
        ) from error
    try:
        tensors, description = read(data)
        if description["format"] != FORMAT:
            raise ValueError(f"format {description['format']}")
        axes = {
            name: [Axis(axis, letter) for axis, letter in pairs]
            for name, pairs in description["axes"].items()
        }
        if axes.keys() != tensors.keys():
            raise ValueError("axes of other tensors")
        return tensors, {**description, **_restored(description), "axes": axes}
    except _DAMAGES as error:
        raise TraceError(
            f"{path} is not a trace that this version can read, or it is damaged.",
            "Write it again with the trace's `save`.",
        ) from error


def describe(
    tensors: Mapping[str, TracedTensor],
    sentence: TracedSentence | None,
    variant: Variant | None,
    edits: Mapping[str, str],
) -> Description:
    """Return everything but the numbers, as plain JSON values."""
    return {
        "format": FORMAT,
        "axes": {
            name: [[axis.name, axis.letter] for axis in tensor.axes]
            for name, tensor in tensors.items()
        },
        "sentence": None if sentence is None else asdict(sentence),
        "variant": None if variant is None else asdict(variant),
        "edits": dict(edits),
    }


def _restored(description: Description) -> Description:
    """Return sentence and equations as they were before JSON made lists of tuples."""
    sentence, variant = description["sentence"], description["variant"]
    if sentence is not None:
        values: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value
            for key, value in sentence.items()
        }
        sentence = TracedSentence(**values)
    return {"sentence": sentence, "variant": None if variant is None else Variant(**variant)}


def _form(path: Path, verb: str) -> tuple[Callable[..., bytes], Callable[[bytes], Any]]:
    if path.suffix not in _FORMS:
        raise ConfigError(
            f"A trace cannot be {verb} as '{path.suffix or path.name}'.",
            suggest(path.suffix, _FORMS),
        )
    return _FORMS[path.suffix]


def _to_safetensors(tensors: Tensors, description: Mapping[str, Any]) -> bytes:
    return save_safetensors(tensors, {_DESCRIPTION: _json(description)})


def _from_safetensors(data: bytes) -> tuple[Tensors, dict[str, Any]]:
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    return load_safetensors(data), json.loads(header["__metadata__"][_DESCRIPTION])


def _to_json(tensors: Tensors, description: Mapping[str, Any]) -> bytes:
    values = {name: json_tensor(tensor) for name, tensor in tensors.items()}
    return _json({**description, "tensors": values}).encode()


def _from_json(data: bytes) -> tuple[Tensors, dict[str, Any]]:
    description = json.loads(data)
    values = description["tensors"]
    return {name: _tensor_of(value) for name, value in values.items()}, description


def json_tensor(tensor: Tensor) -> dict[str, Any]:
    """Return a tensor as JSON values; a number that is not finite is null, and in a list."""
    flat = tensor.flatten()
    result: dict[str, Any] = {
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "shape": list(tensor.shape),
    }
    values = flat.tolist()
    if tensor.is_floating_point() and not bool(flat.isfinite().all()):
        places = {
            "-inf": flat == -math.inf, "inf": flat == math.inf, "nan": flat.isnan(),
        }  # fmt: skip
        result["not_finite"] = {
            name: mask.nonzero()[:, 0].tolist() for name, mask in places.items() if mask.any()
        }
        values = [value if math.isfinite(value) else None for value in values]
    return {**result, "values": values}


def _tensor_of(saved: Mapping[str, Any]) -> Tensor:
    values = [0.0 if value is None else value for value in saved["values"]]
    tensor = torch.tensor(values, dtype=getattr(torch, saved["dtype"]))
    for name, places in saved.get("not_finite", {}).items():
        tensor[places] = _NOT_FINITE[name]
    return tensor.reshape(saved["shape"])


def _to_npz(tensors: Tensors, description: Mapping[str, Any]) -> bytes:
    if any(tensor.dtype == torch.bfloat16 for tensor in tensors.values()):
        raise ConfigError(
            "NumPy has no bfloat16, so this trace cannot be written as .npz.",
            "Write it as .safetensors or .json.",
        )
    file = io.BytesIO()
    arrays: dict[str, Any] = {name: tensor.numpy() for name, tensor in tensors.items()}
    np.savez_compressed(file, **{**arrays, _DESCRIPTION: np.array(_json(description))})
    return file.getvalue()


def _from_npz(data: bytes) -> tuple[Tensors, dict[str, Any]]:
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        tensors = {
            name: torch.from_numpy(file[name]) for name in file.files if name != _DESCRIPTION
        }
        return tensors, json.loads(str(file[_DESCRIPTION]))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


_FORMS: dict[str, tuple[Callable[..., bytes], Callable[[bytes], Any]]] = {
    ".json": (_to_json, _from_json),
    ".npz": (_to_npz, _from_npz),
    ".safetensors": (_to_safetensors, _from_safetensors),
}
