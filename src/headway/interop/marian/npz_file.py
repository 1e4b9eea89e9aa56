"""The `.npz` file of Marian: a zip of arrays, each checked before it is read."""

import zipfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from headway.errors import BundleError
from headway.interop.marian.model_settings import SETTINGS

_MOST_TIMES = 20  # a compressed array is larger than the file; more is no model
_READING = (EOFError, KeyError, OSError, ValueError, zipfile.BadZipFile, MemoryError)


class NpzFile:
    """The arrays of a file by name, in float32; BundleError for anything else in it."""

    def __init__(self, path: Path) -> None:
        """Check the table of the file, and that it does not grow when it is read."""
        self.path = path
        try:
            with zipfile.ZipFile(path) as archive:
                sizes = [entry.file_size for entry in archive.infolist()]
                names = [entry.filename for entry in archive.infolist()]
            if sum(sizes) > _MOST_TIMES * path.stat().st_size:
                raise self.damaged("It is many times larger than its file.")
            self._arrays = np.load(path, allow_pickle=False)
        except _READING:
            raise self.damaged("It is not a file of arrays.") from None
        if len(set(names)) < len(names):
            raise self.damaged("It has an array twice.")
        self.names = set(self._arrays.files)

    def damaged(self, problem: str) -> BundleError:
        """Return the error for a file that does not fit."""
        return BundleError(f"{self.path} cannot be used. {problem}", "Copy the folder again.")

    def numbers(self, name: str) -> NDArray[np.float32]:
        """Return a matrix; BundleError if it is missing, of another type or not finite."""
        array = self._array(name)
        if array.dtype not in (np.float32, np.float16) or array.ndim != 2:
            raise self.damaged(f"'{name}' is not a matrix of float32 but {array.dtype}.")
        if not np.isfinite(array).all():
            raise self.damaged(f"'{name}' is not finite.")
        return array.astype(np.float32)

    def settings(self) -> str:
        """Return the text of the model's settings, which ends with a NUL."""
        array = self._array(SETTINGS)
        if array.dtype.itemsize != 1 or array.size > 2**20:
            raise self.damaged(f"'{SETTINGS}' is not text.")
        return array.tobytes().rstrip(b"\0").decode("utf-8", "replace")

    def _array(self, name: str) -> NDArray[np.generic]:
        if name not in self.names:
            raise self.damaged(f"It lacks '{name}'.")
        try:
            return self._arrays[name]
        except _READING:
            raise self.damaged(f"'{name}' is damaged, or no array of numbers.") from None
