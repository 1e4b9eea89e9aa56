"""Weights that stay in their file: the system reads a page when it is used, and may drop it again.

They are written in the format of safetensors, without a second copy in memory.

A bundle's files are replaced, never modified, so mapped weights do not change. Only a program that
modifies the file itself would change weights in use.
"""

import contextlib
import json
import math
import mmap
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_safetensors
from torch import Tensor

from headway.errors import BundleError
from headway.runtime.processes import trim_heap

FileBytes = mmap.mmap | bytearray | bytes
"""The content of a file: mapped, read or empty."""

_LENGTH = 8  # bytes that hold the length of the header
_ALIGNMENT = 8  # of the first tensor
_METADATA = "__metadata__"
# In the order of safetensors, so that each tensor begins at a multiple of its number's size.
_DTYPES = {
    "I64": torch.int64, "F64": torch.float64, "F32": torch.float32, "I32": torch.int32,
    "BF16": torch.bfloat16, "F16": torch.float16, "U8": torch.uint8, "BOOL": torch.bool,
}  # fmt: skip
_NAMES = {kind: name for name, kind in _DTYPES.items()}


def map_file(path: Path) -> FileBytes:
    """Map a file so that changes stay in this process; an empty file cannot be mapped.

    Windows does not let a mapped file be replaced, so there the file is read into memory.
    """
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return b""
        if sys.platform == "win32":
            return bytearray(file.read())
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)


def safetensors_parts(
    tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None
) -> Iterator[bytes | memoryview]:
    """Yield a file of contiguous tensors on the CPU in parts: its header, then each tensor.

    Together the parts equal the result of `safetensors.torch.save`, which takes twice the memory of
    all tensors. `save_file` takes none, but only the owner may read the files that it writes.
    Raises BundleError for a type of numbers that cannot be read back.
    """
    kinds = list(_NAMES)
    for name, tensor in tensors.items():
        if tensor.dtype not in _NAMES:
            kind = str(tensor.dtype).removeprefix("torch.")
            raise _unknown_type(f"{name} holds numbers of type {kind}.")
    ordered = sorted(tensors.items(), key=lambda item: (kinds.index(item[1].dtype), item[0]))
    header: dict[str, Any] = {} if metadata is None else {_METADATA: dict(metadata)}
    end = 0
    for name, tensor in ordered:
        begin, end = end, end + tensor.nbytes
        kind, shape = _NAMES[tensor.dtype], list(tensor.shape)
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    yield len(text).to_bytes(_LENGTH, "little") + text
    for _, tensor in ordered:
        yield tensor.reshape(-1).view(torch.uint8).numpy().data


def read_tensors(path: Path, data: bytes) -> dict[str, Tensor]:
    """Return the tensors in the bytes of this file; BundleError for another kind of file."""
    try:
        return load_safetensors(data)
    except SafetensorError:
        raise _not_safetensors(path) from None


def _not_safetensors(path: Path) -> BundleError:
    return BundleError(
        f"{path} is not a safetensors file.", "Other formats, pickle above all, are never read."
    )


def _unknown_type(message: str) -> BundleError:
    return BundleError(message, f"Save them as one of {', '.join(_DTYPES)}.")


class MappedTensors:
    """A safetensors file in the address space of this process and of its forked children.

    Pages are read when they are used, and shared. Writing to a page gives the process its own copy;
    the file does not change.
    """

    def __init__(self, path: Path, data: FileBytes) -> None:
        """Read tensors from the content of a file, as `map_file` returns it; path: its path."""
        self.path = path
        self.data = data

    def tensors(self) -> dict[str, Tensor]:
        """Return the tensors by name, without a copy; BundleError for another kind of file."""
        with self._reading() as (first, header):
            header.pop(_METADATA, None)
            return {name: self._tensor(first, **entry) for name, entry in header.items()}

    def metadata(self) -> dict[str, str]:
        """Return the metadata of the file; BundleError for another kind of file."""
        with self._reading() as (_, header):
            return dict(header.get(_METADATA, {}))

    @contextlib.contextmanager
    def _reading(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the position of the first number, and the header."""
        try:
            first = _LENGTH + int.from_bytes(self.data[:_LENGTH], "little")
            yield first, json.loads(self.data[_LENGTH:first])
        except (AttributeError, KeyError, OverflowError, RuntimeError, TypeError, ValueError):
            raise _not_safetensors(self.path) from None

    def _tensor(
        self, first: int, dtype: str, shape: list[int], data_offsets: tuple[int, int]
    ) -> Tensor:
        if dtype not in _DTYPES:
            raise _unknown_type(f"{self.path} holds numbers of type {dtype}.")
        begin, end = data_offsets
        kind, count = _DTYPES[dtype], math.prod(shape)
        if begin < 0 or end - begin != count * kind.itemsize:
            raise ValueError("the header contradicts itself")
        if not count:
            return torch.empty(shape, dtype=kind)
        return torch.frombuffer(self.data, dtype=kind, count=count, offset=first + begin).view(
            shape
        )

    def let_go(self) -> None:
        """Return the pages and the free heap to the system; a page is read again when it is used.

        Only for unchanged weights: a page that was written to gets the content of the file again.
        """
        with contextlib.suppress(AttributeError, OSError):  # not mapped, or not this system
            self.data.madvise(mmap.MADV_DONTNEED)  # pyright: ignore[reportAttributeAccessIssue]
        trim_heap()
