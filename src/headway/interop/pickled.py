"""Read a checkpoint that PyTorch has pickled: numbers, texts and tensors, without executing code.

A pickle can name any function and have it called. Here PyTorch's `weights_only` reads it, which
knows tensors and plain containers. Other names are refused, except a few that hold settings or
measurements: their content is kept in a `Record`, and their own code is not even imported.
"""

import pickle
import re
import zipfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from headway.errors import BundleError

_NUMPY = ("numpy.core.multiarray.scalar", "numpy._core.multiarray.scalar", "numpy.dtype")
_TYPES = ("bool", "bytes", "dict", "float", "int", "list", "str", "tuple", "type")
_HARMLESS = ("argparse.Namespace", *_NUMPY, *(f"builtins.{name}" for name in _TYPES))
_REFUSED = re.compile(r"GLOBAL ([\w.]+)")
_ROUNDED = (torch.float16, torch.bfloat16)


class Record:
    """The content of a harmless object: settings or measurements, in its `__dict__`."""

    def __init__(self, *values: object) -> None:
        """Forget the arguments, which are those of measurements."""

    def __setstate__(self, state: object) -> None:
        """Keep settings; the state of a measurement may be no mapping."""
        if isinstance(state, dict):
            self.__dict__.update(state)


def unwrapped(value: object) -> object:
    """Return the settings in a record as a dict or a value; anything else as it is.

    omegaconf keeps the content of a container in `_content`, and a single value, which may be a
    record again, in `_val`.
    """
    if isinstance(value, Record) and "_val" in vars(value):
        value = vars(value)["_val"]
    return vars(value).get("_content", vars(value)) if isinstance(value, Record) else value


def read_pickle(path: Path, remedy: str, packages: Collection[str] = ()) -> Any:
    """Return the content of a checkpoint, tensors on the CPU.

    packages: of classes whose content is kept in a `Record`, too, or names with their package; none
    is imported. Raises BundleError, with this remedy, for a damaged file and for one that names
    other code.
    """
    try:
        known = [(Record, name) for name in (*_HARMLESS, *_names(path, packages))]
        with (
            torch.serialization.safe_globals([*known, (_table, "collections.defaultdict")]),
            path.open("rb") as file,
        ):
            return torch.load(file, map_location="cpu", weights_only=True)
    except (
        AttributeError, EOFError, IndexError, KeyError, MemoryError, OSError, RuntimeError,
        TypeError, ValueError, pickle.UnpicklingError,
    ) as error:  # fmt: skip
        named = _REFUSED.search(str(error))
        raise BundleError(
            f"{path} is not a file of weights, or it holds more than tensors"
            f"{f' ({named[1]})' if named else ''}; its code was not executed.",
            remedy,
        ) from None


def _names(path: Path, packages: Collection[str]) -> list[str]:
    """Return the names in a checkpoint that belong to these packages.

    The names in a file of PyTorch before 1.6, which is not an archive, are not looked for.
    """
    if not packages or not zipfile.is_zipfile(path):
        return []
    names = torch.serialization.get_unsafe_globals_in_checkpoint(path)
    return [name for name in names if name in packages or name.partition(".")[0] in packages]


def _table(*_factory: object) -> dict[object, object]:
    """Return an empty dict, for one that makes missing values."""
    return {}


def as_float32(tensors: Mapping[str, Tensor], path: Path) -> tuple[dict[str, Tensor], list[str]]:
    """Return tensors in float32, and a note if they were not.

    Raises BundleError for numbers of another type and for those that are not finite.
    """
    kinds = {tensor.dtype for tensor in tensors.values()}
    if other_types := kinds - {torch.float32, *_ROUNDED}:
        raise BundleError(
            f"{path} holds numbers of the type {_name(min(other_types, key=str))}.",
            "Weights are float32, float16 or bfloat16.",
        )
    notes = [
        f"The weights are {_name(kind)}; they are in float32 now, with the same values."
        for kind in _ROUNDED
        if kind in kinds
    ]
    for name, tensor in tensors.items():
        if not bool(torch.isfinite(tensor).all()):
            raise BundleError(f"'{name}' in {path} is not finite.", "Copy the file again.")
    return {name: tensor.float() for name, tensor in tensors.items()}, notes


def _name(kind: torch.dtype) -> str:
    return str(kind).removeprefix("torch.")
