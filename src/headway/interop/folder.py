"""Write a folder that appears whole or not at all."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from headway.errors import BundleError
from headway.home import expanded
from headway.runtime.atomic_files import partial_path, replace, writing


def check_new(folder: str | Path) -> None:
    """Raise BundleError if a folder has content, which a result would replace."""
    target = expanded(folder).resolve()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise BundleError(f"{folder} exists and is not empty.", "Choose another folder.")


@contextlib.contextmanager
def new_folder(folder: str | Path) -> Iterator[Path]:
    """Give an empty folder to fill; it gets this name if the block ends without an error.

    Raises BundleError, and leaves nothing behind, if the folder has content or cannot be written.
    """
    check_new(folder)
    target = expanded(folder).resolve()
    stays = target.exists()  # because it may be a mount point, or the folder of a shell
    fresh = partial_path(target / "folder" if stays else target)
    try:
        with writing(folder, BundleError, "Free some space or choose another folder."):
            fresh.mkdir(parents=True)
            yield fresh
            if stays:
                for path in sorted(fresh.iterdir()):
                    replace(path, target / path.name)
            else:
                replace(fresh, target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
