"""Writes a folder that is seen whole or not at all."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from headway.errors import BundleError
from headway.home import expanded
from headway.runtime.atomic_files import partial_path, replace, writing


@contextlib.contextmanager
def new_folder(folder: str | Path) -> Iterator[Path]:
    """Give an empty folder to fill, which gets this name once the block has ended without an error.

    Raises BundleError, and leaves nothing behind, when there is content under this name or the
    disk refuses.
    """
    target = expanded(folder).resolve()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise BundleError(f"{folder} exists and is not empty.", "Choose another folder.")
    is_there = target.exists()  # it stays: it may be a mount point, or where a shell stands
    fresh = partial_path(target / "folder" if is_there else target)
    try:
        with writing(folder, BundleError, "Free some space or choose another folder."):
            fresh.mkdir(parents=True)
            yield fresh
            if is_there:
                for path in sorted(fresh.iterdir()):
                    replace(path, target / path.name)
            else:
                replace(fresh, target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
