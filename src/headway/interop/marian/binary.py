"""The `.bin` file of Marian: a list of named arrays, as students of Firefox have it.

Everything is a little-endian number: the version and the count of items in 64 bits; of each item
four numbers, the bytes of its name, its type, its number of axes and the bytes of its data; then
all names, all shapes in 32 bits, a gap up to a multiple of 256, and all data.
"""

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headway.errors import BundleError

VERSION = 1
ALIGNMENT = 256
"""Data begins at a multiple of this, and each array is padded to one."""
FLOAT32, INT8, INTGEMM8 = 0x404, 0x101, 0x4101
"""The types: numbers; text in bytes; and whole numbers, followed by the factor that made them."""
TABLES = ("Wemb", "encoder_Wemb", "decoder_Wemb")
"""Embeddings, by rows; every other matrix of whole numbers is stored as its transpose."""

StoredArray = tuple[int, tuple[int, ...], bytes]
"""Type, shape and bytes of an array."""

_ITEM_SIZES = {FLOAT32: 4, INT8: 1, INTGEMM8: 1}
_SHARES = np.linspace(0.95, 0.4, 12)  # of the largest number that bytes can hold
_EXACT = 1e-8  # squared error of a matrix that was rounded before, of its square
_LEAST = 1e-30  # 127 divided by it is a number of float32
_MOST_AXES = 4
_LONGEST_NAME = 256
_LARGEST_AXIS = 2**24


@dataclass(frozen=True, slots=True)
class Item:
    """An array of the file, which is not read yet."""

    kind: int
    shape: tuple[int, ...]
    begin: int
    """Byte of the file where the data begins."""

    @property
    def count(self) -> int:
        """Return the number of elements."""
        return math.prod(self.shape)


class BinaryFile:
    """The arrays of a `.bin` file by name; an array is read when it is asked for."""

    def __init__(self, path: Path) -> None:
        """Check the whole table of the file; BundleError for a damaged one or another kind."""
        self.path = path
        try:
            # Mapped: nothing of the file is copied before its lengths have been checked.
            self._bytes: NDArray[np.uint8] = np.memmap(path, np.uint8, "r")
        except (OSError, ValueError) as error:  # ValueError: the file is empty
            raise BundleError(
                f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.",
                "Check the file and its permissions.",
            ) from None
        self.items = self._read_table()

    def numbers(self, name: str) -> NDArray[np.float32]:
        """Return an array in float32: a matrix as (in, out), whole numbers divided by their factor.

        Raises BundleError for text, and for numbers that are not finite.
        """
        item = self.items[name]
        if item.kind == INT8:
            raise self.damaged(f"'{name}' is text, but must be numbers.")
        values = (
            self._floats(item.begin, item.count).reshape(item.shape).copy()
            if item.kind == FLOAT32
            else self._divided(name, item)
        )
        if not np.isfinite(values).all():
            raise self.damaged(f"'{name}' has numbers that are not finite.")
        return values

    def text(self, name: str) -> str:
        """Return an item of text; BundleError if it is none."""
        item = self.items[name]
        if item.kind != INT8:
            raise self.damaged(f"'{name}' is numbers, but must be text.")
        data = self._bytes[item.begin : item.begin + item.count].tobytes().rstrip(b"\0")
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            raise self.damaged(f"'{name}' is not text in UTF-8.") from None

    def damaged(self, problem: str) -> BundleError:
        """Return the error for this file."""
        return BundleError(f"{self.path}: {problem}", "Copy or download the file again.")

    def _floats(self, begin: int, count: int) -> NDArray[np.float32]:
        return self._bytes[begin : begin + 4 * count].view("<f4")

    def _divided(self, name: str, item: Item) -> NDArray[np.float32]:
        whole = self._bytes[item.begin : item.begin + item.count].view(np.int8)
        factor = float(np.frombuffer(self._bytes[item.begin + item.count :][:4], "<f4")[0])
        if not (math.isfinite(factor) and factor > 0):
            raise self.damaged(f"'{name}' has the factor {factor}, but must have one above 0.")
        values = whole.astype(np.float32)
        values /= np.float32(factor)
        if name in TABLES:
            return values.reshape(item.shape)
        return values.reshape(item.shape[::-1]).T

    def _read_table(self) -> dict[str, Item]:
        size = len(self._bytes)
        version, count = self._words(0, 2)
        if version != VERSION:
            raise BundleError(
                f"{self.path} begins with {version}; a .bin file of Marian begins with {VERSION}.",
                "Give the .bin file of a student.",
            )
        if count > (size - 16) // 32:
            raise self.damaged(f"It says that it has {count} arrays, but has {size:,} bytes.")
        table = [self._words(16 + 32 * number, 4) for number in range(count)]
        place = 16 + 32 * count
        names: list[str] = []
        for length, *_ in table:
            names.append(self._name(place, length, len(names)))
            place += length
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise self.damaged(f"'{twice}' is there twice.")
        shapes = []
        for name, (_, kind, axes, _) in zip(names, table, strict=True):
            shapes.append(self._shape(place, name, kind, axes))
            place += 4 * axes
        (gap,) = self._words(place, 1)
        place += 8 + gap
        if gap > ALIGNMENT or place > size:
            raise self.damaged(f"Its data would begin at byte {place}, of {size:,}.")
        items = {}
        for name, (_, kind, _, length), shape in zip(names, table, shapes, strict=True):
            needed = math.prod(shape) * _ITEM_SIZES[kind] + (4 if kind == INTGEMM8 else 0)
            if not needed <= length <= needed + ALIGNMENT:
                raise self.damaged(f"'{name}' of shape {shape} has {length} bytes.")
            items[name] = Item(kind, shape, place)
            place += length
            if place > size:
                raise self.damaged(f"It ends within '{name}', at byte {size:,} of {place:,}.")
        if place != size:
            raise self.damaged(f"{size - place:,} bytes follow its last array.")
        return items

    def _words(self, place: int, count: int) -> tuple[int, ...]:
        """Return whole numbers of 64 bits."""
        data = self._bytes[place : place + 8 * count].tobytes()
        if len(data) < 8 * count:
            raise self.damaged(f"It ends at byte {len(self._bytes):,}, within its table.")
        return struct.unpack(f"<{count}Q", data)

    def _name(self, place: int, length: int, number: int) -> str:
        if not 2 <= length <= _LONGEST_NAME:
            raise self.damaged(f"The name of array {number} has {length} bytes.")
        data = self._bytes[place : place + length].tobytes()
        if len(data) < length or data[-1] or b"\0" in data[:-1] or not data[:-1].isascii():
            raise self.damaged(f"The name of array {number} is not text that ends with a zero.")
        return data[:-1].decode()

    def _shape(self, place: int, name: str, kind: int, axes: int) -> tuple[int, ...]:
        if kind not in _ITEM_SIZES:
            known = ", ".join(f"{known:#x}" for known in _ITEM_SIZES)
            raise BundleError(
                f"{self.path}: '{name}' has the type {kind:#x}; known are {known}.",
                "A file of another type is packed for one processor: give the one before packing.",
            )
        if not 1 <= axes <= _MOST_AXES:
            raise self.damaged(f"'{name}' has {axes} axes.")
        data = self._bytes[place : place + 4 * axes].tobytes()
        if len(data) < 4 * axes:
            raise self.damaged(f"It ends at byte {len(self._bytes):,}, within its table.")
        shape = struct.unpack(f"<{axes}i", data)
        if not all(1 <= length <= _LARGEST_AXIS for length in shape):
            raise self.damaged(f"'{name}' has the shape {shape}.")
        return shape


def binary_file(arrays: Mapping[str, StoredArray]) -> bytes:
    """Return the content of a `.bin` file with these arrays, in this order.

    Marian pads each array to a multiple of 256 bytes, except text.
    """
    head = [struct.pack("<2Q", VERSION, len(arrays))]
    names, shapes, content = [], [], []
    for name, (kind, shape, data) in arrays.items():
        padded = data if kind == INT8 else data + bytes(-len(data) % ALIGNMENT)
        written = name.encode() + b"\0"
        head.append(struct.pack("<4Q", len(written), kind, len(shape), len(padded)))
        names.append(written)
        shapes.append(struct.pack(f"<{len(shape)}i", *shape))
        content.append(padded)
    table = b"".join([*head, *names, *shapes])
    gap = -(len(table) + 8) % ALIGNMENT
    return b"".join([table, struct.pack("<Q", gap), bytes(gap), *content])


def whole_numbers(matrix: NDArray[Any], *, by_rows: bool) -> StoredArray:
    """Return a matrix (in, out), rounded to bytes, for `binary_file`; by_rows: an embedding.

    Numbers that were rounded before keep Marian's factor, which makes 127 of the largest. Others
    get that of the least squared error among larger factors, which cut off a few numbers. With
    Marian's, the small changes of a fine-tune would all be rounded away, back to the numbers that
    it began with.
    """
    largest = max(float(np.abs(matrix).max()), _LEAST)  # a matrix of zeros has a factor, too
    before = _rounded(matrix, np.float32(127 / largest))
    candidates = (_rounded(matrix, np.float32(127 / (largest * share))) for share in _SHARES)
    was_rounded = before[0] <= _EXACT * float(np.square(matrix).sum(dtype=np.float64))
    _, factor, whole = before if was_rounded else min(candidates, key=lambda rounded: rounded[0])
    stored = whole if by_rows else whole.T
    return INTGEMM8, matrix.shape, np.ascontiguousarray(stored).tobytes() + factor.tobytes()


def _rounded(
    matrix: NDArray[Any], factor: np.float32
) -> tuple[float, np.float32, NDArray[np.int8]]:
    """Return the squared error, the factor and the whole numbers."""
    whole = np.clip(np.rint(matrix * factor), -127, 127)
    error = float(np.square(whole / factor - matrix).sum(dtype=np.float64))
    return error, factor, whole.astype(np.int8)


def floats(array: NDArray[Any]) -> StoredArray:
    """Return an array in float32 for `binary_file`."""
    return FLOAT32, array.shape, array.astype("<f4").tobytes()
