"""Keep encoded pairs in a few flat arrays, in memory or mapped from files.

A list of lists of numbers takes thirty times the memory of the numbers. So all pairs of a side are
in one array, and a second one has the places where they begin. Mapped files are checked once. Then
only the parts that batches need are read, and several processes share them.
"""

import hashlib
import json
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from headway.data.corpus import Pair
from headway.data.encoded import EncodedPair, EncodedPairs
from headway.data.ragged import Ragged, Rows, starts_of
from headway.errors import DataError, permitted
from headway.runtime.atomic_files import PARTIAL, partial_path, remedy_for, replace
from headway.runtime.locks import lock_file

_MANIFEST = "shards.json"
_CHUNK = 10_000  # pairs turned into arrays at once
_BLOCK = 1 << 24  # bytes hashed at once
_MEASURED = 1 << 20  # pairs whose lengths are compared at once


class PairStore(Sequence[EncodedPair]):
    """Hold encoded pairs of one corpus or several, and their texts where they are needed again."""

    def __init__(
        self,
        source: Ragged,
        target: Ragged,
        lines: NDArray[np.int64],
        texts: tuple[Ragged, Ragged] | None = None,
        sizes: Sequence[int] | None = None,
    ) -> None:
        """Join the sides; sizes: the number of pairs of each corpus, in order."""
        self.source = source
        self.target = target
        self.lines = lines
        self.texts = texts
        self.sizes = list(sizes) if sizes is not None else [len(lines)]

    @classmethod
    def of(cls, pairs: Iterable[EncodedPair]) -> "PairStore":
        """Return a store in memory of these pairs."""
        writer = StoreWriter(vocabulary=1 << 32)
        writer.add_corpus(pairs)
        return writer.finish()

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.lines)

    @overload
    def __getitem__(self, index: int) -> EncodedPair: ...
    @overload
    def __getitem__(self, index: slice) -> list[EncodedPair]: ...
    def __getitem__(self, index: int | slice) -> EncodedPair | list[EncodedPair]:
        """Return one pair, or some."""
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        index %= len(self)
        return EncodedPair(
            self.source.row(index).tolist(), self.target.row(index).tolist(), int(self.lines[index])
        )

    def lengths(self, rows: Rows | slice = slice(None)) -> NDArray[np.int64]:
        """Return the pieces of both sides of these pairs.  # (N, 2)."""
        return np.stack([self.source.lengths(rows), self.target.lengths(rows)], axis=1)

    def longest(self) -> tuple[int, int]:
        """Return the row of the longest pair and the pieces of its longer side."""
        longest = (0, -1)
        for start in range(0, len(self), _MEASURED):
            lengths = self.lengths(slice(start, start + _MEASURED)).max(axis=1)
            row = int(lengths.argmax())
            if lengths[row] > longest[1]:
                longest = (start + row, int(lengths[row]))
        return longest

    def corpora(self, rows: Rows) -> NDArray[np.int64]:
        """Return the corpus of each of these pairs, counted from 0."""
        return np.searchsorted(np.cumsum(self.sizes), rows, side="right")

    def place(self, row: int) -> str:
        """Return the place of a pair in the training text, in words."""
        of_corpus = f" of corpus {self.corpora([row])[0] + 1}" if len(self.sizes) > 1 else ""
        return f"line {self.lines[row]}{of_corpus}"

    def text(self, row: int) -> tuple[str, str]:
        """Return both sides of a pair as text, if the store has kept it."""
        assert self.texts is not None
        source, target = (side.row(row).tobytes().decode("utf-8") for side in self.texts)
        return source, target


class StoreWriter:
    """Takes pairs as they come and makes a store of them, in memory or in a folder.

    The folder appears once its store is complete. Used as a context manager, the writer removes an
    unfinished store.
    """

    def __init__(
        self, folder: Path | None = None, *, vocabulary: int = 1 << 16, keep_texts: bool = False
    ) -> None:
        """Begin; ids below 65,536 take two bytes each."""
        self.folder = folder
        self.sizes: list[int] = []
        self._partial: Path | None = None
        if folder is not None:
            self._partial = partial_folder(folder)
        kinds: dict[str, Any] = {"source": _id_type(vocabulary), "target": _id_type(vocabulary)}
        if keep_texts:
            kinds |= {"source_text": np.uint8, "target_text": np.uint8}
        self._values = {name: self._column(name, kind) for name, kind in kinds.items()}
        self._starts = {name: self._column(f"{name}_starts", np.int64) for name in kinds}
        self._ends = dict.fromkeys(kinds, 0)
        for starts in self._starts.values():
            starts.append(np.zeros(1, dtype=np.int64))
        self._lines = self._column("lines", np.int64)

    def __enter__(self) -> "StoreWriter":
        return self

    def __exit__(self, *_: object) -> None:
        # Do all of it even if closing fails, because it writes to a disk that may be full.
        with ExitStack() as stack:
            if self._partial is not None:
                stack.callback(shutil.rmtree, self._partial, ignore_errors=True)
            for column in self._columns():
                stack.callback(column.close)

    def add_corpus(self, pairs: Iterable[EncodedPair]) -> None:
        """Add the pairs of one corpus."""
        self.begin_corpus()
        iterator = iter(pairs)
        while chunk := list(islice(iterator, _CHUNK)):
            self.add(EncodedPairs.of(chunk))

    def begin_corpus(self) -> None:
        """Begin the next corpus; all pairs added from now on belong to it."""
        self.sizes.append(0)

    def add(self, pairs: EncodedPairs) -> None:
        """Add some pairs to the current corpus, with their texts if the store keeps them."""
        self._extend("source", pairs.source)
        self._extend("target", pairs.target)
        self._lines.append(pairs.lines)
        if "source_text" in self._values:
            self._extend("source_text", _bytes_of(pair.source for pair in pairs.texts))
            self._extend("target_text", _bytes_of(pair.target for pair in pairs.texts))
        self.sizes[-1] += len(pairs)

    def finish(self, record: dict[str, Any] | None = None) -> PairStore:
        """Return the store; a folder also gets the record, which says how the store was made."""
        if self.folder is None or self._partial is None:
            return _store({column.name: column.array() for column in self._columns()}, self.sizes)
        for column in self._columns():
            column.close()
        manifest = {
            "arrays": {c.name: [c.dtype.str, c.length] for c in self._columns()},
            "sha256": {
                c.name: _file_hash(_file_of(self._partial, c.name)) for c in self._columns()
            },
            "sizes": self.sizes,
            "record": record or {},
        }
        text = json.dumps(manifest, indent=2, ensure_ascii=False)
        with writing_to(self.folder):
            (self._partial / _MANIFEST).write_bytes(text.encode())
            replace(self._partial, self.folder)
        return _mapped(self.folder, manifest)

    def _column(self, name: str, dtype: Any) -> "_Column":
        return _Column(self._partial, name, dtype)

    def _columns(self) -> list["_Column"]:
        return [*self._values.values(), *self._starts.values(), self._lines]

    def _extend(self, name: str, rows: Ragged) -> None:
        self._values[name].append(rows.values)
        self._starts[name].append(rows.starts[1:] + self._ends[name])
        self._ends[name] += len(rows.values)


def write_store(store: PairStore, folder: Path, record: dict[str, Any]) -> None:
    """Write a store to a folder, with a record that says how it was made."""
    vocabulary = np.iinfo(store.source.values.dtype).max
    keep_texts = store.texts is not None
    with StoreWriter(folder, vocabulary=vocabulary, keep_texts=keep_texts) as writer:
        end = 0
        for size in store.sizes:
            begin, end = end, end + size
            writer.begin_corpus()
            for first in range(begin, end, _CHUNK):
                rows = np.arange(first, min(first + _CHUNK, end))
                texts = [Pair(*store.text(row)) for row in rows.tolist()] if keep_texts else ()
                source, target = store.source.pick(rows), store.target.pick(rows)
                writer.add(EncodedPairs(source, target, store.lines[rows], texts))
        writer.finish(record)


def open_store(folder: Path) -> tuple[PairStore, dict[str, Any]]:
    """Map a store from its files; return it with the record of how it was made.

    Raises DataError if a file is missing, cut short or changed, or cannot be read.
    """
    damaged = DataError(
        f"The encoded text in {folder} is damaged.", "Remove that folder; it is made again."
    )
    try:
        manifest = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
        for name in manifest["arrays"]:
            if _file_hash(_file_of(folder, name)) != manifest["sha256"][name]:
                raise damaged
        return _mapped(folder, manifest), manifest["record"]
    except (FileNotFoundError, ValueError, KeyError) as error:
        raise damaged from error
    except OSError as error:
        raise DataError(
            f"The encoded text in {folder} cannot be read ({error.strerror or error}).",
            "Repair its permissions or the disk; nothing in it was changed.",
        ) from error


def kept_store(folder: Path) -> bool:
    """Return True if a folder holds a complete store."""
    with permitted(folder, DataError):
        return (folder / _MANIFEST).exists()


@contextmanager
def made_once(folder: Path) -> Iterator[None]:
    """Let one process at a time make a folder, so that the others find it made.

    Remains of processes that were killed while making this folder, or a neighbour, are removed.
    """
    with ExitStack() as stack:
        with writing_to(folder):
            folder.parent.mkdir(parents=True, exist_ok=True)
            lock = _lock_of(folder).open("a")
            lock_file(stack.enter_context(lock), wait=True)
        _remove_leftovers(folder)
        yield


def _lock_of(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.lock")


def _remove_leftovers(folder: Path) -> None:
    """Remove abandoned parts of this folder and of its neighbours.

    A process that makes a folder holds its lock, which ends with the process.
    """
    for partial in folder.parent.glob(f".*{PARTIAL}"):
        # A random name follows the folder's, after a full stop if an older version made it.
        named = re.fullmatch(r"\.(.+)[-.]\w+", partial.name.removesuffix(PARTIAL))
        if named and named[1] == folder.name:
            shutil.rmtree(partial, ignore_errors=True)
        elif named and (lock := _lock_of(folder.with_name(named[1]))).exists():
            with suppress(OSError), lock.open("a") as file:
                lock_file(file, wait=False)
                shutil.rmtree(partial, ignore_errors=True)


def partial_folder(folder: Path) -> Path:
    """Return a new folder that becomes this one once it is complete."""
    with writing_to(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        partial = partial_path(folder)
        partial.mkdir()
        return partial


@contextmanager
def writing_to(folder: Path) -> Iterator[None]:
    """Turn a full disk, or a place without permission to write, into a DataError."""
    try:
        yield
    except OSError as error:
        raise DataError(
            f"Encoded text cannot be kept in {folder.parent} ({error.strerror or error}).",
            remedy_for(
                error,
                "Free some space, repair the permissions, or choose another folder: data.shards.",
            ),
        ) from error


class _Column:
    """One array that grows, in memory or in a file."""

    def __init__(self, folder: Path | None, name: str, dtype: Any) -> None:
        self.name = name
        self.dtype = np.dtype(dtype)
        self.length = 0
        self._parts: list[NDArray[Any]] = []
        self._folder, self._file = folder, None
        if folder is not None:
            with writing_to(folder):
                self._file = _file_of(folder, name).open("wb")

    def append(self, part: NDArray[Any]) -> None:
        if len(part) and int(part.max()) > np.iinfo(self.dtype).max:
            raise OverflowError(f"{part.max()} is beyond the numbers that '{self.name}' can hold")
        part = part.astype(self.dtype, copy=False)
        self.length += len(part)
        if self._folder is None or self._file is None:
            self._parts.append(part)
            return
        with writing_to(self._folder):
            self._file.write(part.tobytes())

    def array(self) -> NDArray[Any]:
        joined = np.concatenate(self._parts or [np.empty(0, self.dtype)])
        self._parts = [joined]
        return joined

    def close(self) -> None:
        if self._folder is not None and self._file is not None:
            with writing_to(self._folder):
                self._file.close()


def _store(arrays: dict[str, NDArray[Any]], sizes: Sequence[int]) -> PairStore:
    sides = {
        name: Ragged(values, arrays[f"{name}_starts"])
        for name, values in arrays.items()
        if f"{name}_starts" in arrays
    }
    texts = (sides["source_text"], sides["target_text"]) if "source_text" in sides else None
    return PairStore(sides["source"], sides["target"], arrays["lines"], texts, sizes)


def _mapped(folder: Path, manifest: dict[str, Any]) -> PairStore:
    """Return the store in a folder without checking its content."""
    arrays: dict[str, NDArray[Any]] = {
        name: np.memmap(_file_of(folder, name), dtype=kind, mode="r", shape=(length,))
        if length
        else np.empty(0, dtype=kind)  # an empty file cannot be mapped
        for name, (kind, length) in manifest["arrays"].items()
    }
    return _store(arrays, manifest["sizes"])


def _file_of(folder: Path, name: str) -> Path:
    return folder / f"{name}.bin"


def _bytes_of(texts: Iterable[str]) -> Ragged:
    rows = [text.encode() for text in texts]
    return Ragged(np.frombuffer(b"".join(rows), np.uint8), starts_of([len(row) for row in rows]))


def _id_type(vocabulary: int) -> Any:
    return np.uint16 if vocabulary <= 1 << 16 else np.uint32


def _file_hash(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
