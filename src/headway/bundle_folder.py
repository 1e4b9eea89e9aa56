"""The folder of a bundle, and how a new bundle replaces the old one in it.

New files are written into a hidden folder within, which one rename declares valid. Then each file
moves up to its place, the manifest last, and files that only the old bundle has are removed. A
reader looks into the hidden folder first, so it finds a whole bundle at every moment, even after a
process was killed in the middle. If two processes write at once, the bundle of the last one stays.
Other files, such as `.git`, are not touched. The folder itself stays, because it may be a mount
point or the working directory of a shell.
"""

import contextlib
import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from headway.errors import BundleError, require_path
from headway.home import expanded
from headway.runtime.atomic_files import PARTIAL, keep_access, partial_path, replace, sync_folder
from headway.runtime.locks import is_folder_locked, locked_folder

MANIFEST = "manifest.json"
_VALID = ".bundle"
"""Name of the hidden folder of valid files that are not in their places yet."""
_OLD = 86_400  # seconds, after which no process is still writing a folder
_NO_BUNDLE = "Choose another folder or remove it."

Identity = tuple[tuple[int, int] | None, ...]


def places(folder: Path, name: str) -> tuple[Path, Path]:
    """Return the places of a file of the bundle; the first that exists is the valid one."""
    return folder / _VALID / name, folder / name


def has_manifest(folder: Path) -> bool:
    """Return True for the folder of a bundle."""
    return any(place.is_file() for place in places(folder, MANIFEST))


def identity(folder: Path) -> Identity:
    """Return a value that differs before, during and after a replacement."""
    return tuple(_inode(path) for path in (folder, *places(folder, MANIFEST)))


def check_place(path: str | Path) -> None:
    """Raise BundleError for a folder that a bundle must not be written into.

    That is a folder with files but no bundle, or a bundle that this user may not change.
    """
    require_path("The folder of a bundle", path)
    target = expanded(path)
    if not target.exists():
        return
    if not target.is_dir() or (_own_names(target) is None and any(_content(target))):
        raise BundleError(f"{path} exists and is not a bundle.", _NO_BUNDLE)
    files = [target / name for name in _own_names(target) or () if (target / name).exists()]
    read_only = [file for file in files if not os.access(file, os.W_OK)]
    if not os.access(target, os.W_OK | os.X_OK):
        read_only = [target]
    if read_only:
        raise BundleError(
            f"{read_only[0]} may not be written by this user.",
            "Change its mode or choose another one.",
        )


@contextlib.contextmanager
def new_bundle(target: Path) -> Iterator[Path]:
    """Give an empty folder to write a bundle into; at the end it becomes the bundle in `target`.

    After an error the old bundle stays. Raises BundleError if a file that is not part of the old
    bundle has the name of a new file.
    """
    replaces = target.exists()
    fresh = _hidden(target) if replaces else partial_path(target)
    try:
        with contextlib.ExitStack() as until_the_end:
            with locked_folder(target) if replaces else contextlib.nullcontext():
                if replaces:
                    _settle(target)
                fresh.mkdir(parents=True)
                # Without its lock another process would take it for a leftover.
                until_the_end.enter_context(locked_folder(fresh))
            yield fresh
            if target.exists():  # perhaps since another process made it
                _replace(target, fresh)
            else:
                replace(fresh, target)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def settle(folder: Path) -> None:
    """Move the files of a valid bundle to their places, and remove files that were never valid.

    Files that another process is writing stay.
    """
    with locked_folder(folder):
        _settle(folder)


def _replace(target: Path, fresh: Path) -> None:
    with locked_folder(target):
        _settle(target)  # perhaps another process was killed after it declared files valid
        _check_strangers(fresh, target)
        for path in fresh.iterdir():
            keep_access(path, target / path.name)
        replace(fresh, target / _VALID)
        sync_folder(target)
        _settle(target)


def _settle(folder: Path) -> None:
    valid = folder / _VALID
    if (valid / MANIFEST).is_file():
        new = {path.name for path in valid.iterdir()} | (manifest_names(valid / MANIFEST) or set())
        for name in (manifest_names(folder / MANIFEST) or set()) - new:
            (folder / name).unlink(missing_ok=True)
        for name in sorted(new - {MANIFEST}):
            _move(valid / name, folder / name)
        _move(valid / MANIFEST, folder / MANIFEST)
        sync_folder(folder)
    try:
        valid.rmdir()
    except FileNotFoundError:
        pass
    except OSError:  # it holds a file of the system, such as .DS_Store
        replace(valid, _hidden(folder))
    for leftover in folder.glob(f"{_VALID}-*{PARTIAL}"):
        if not _is_written(leftover):
            shutil.rmtree(leftover, ignore_errors=True)


def _hidden(folder: Path) -> Path:
    """Return an unused path in a folder that `_settle` recognizes as a leftover."""
    return partial_path(folder / _VALID.removeprefix("."))


def _is_written(folder: Path) -> bool:
    """Return True if a process is writing a folder; without locks, if it is less than a day old."""
    try:
        locked = is_folder_locked(folder)
        return time.time() - folder.stat().st_mtime < _OLD if locked is None else locked
    except OSError:  # its process has just moved or removed it
        return True


def strangers(folder: Path) -> list[Path]:
    """Return the files in the folder of a bundle that are not part of it."""
    names = _own_names(folder) or set()
    return [path for path in _content(folder) if path.name not in names]


def _move(source: Path, place: Path) -> None:
    with contextlib.suppress(FileNotFoundError):  # it was moved before the process was killed
        replace(source, place)


def _own_names(folder: Path) -> set[str] | None:
    """Return the names of the files of a bundle; None for a folder without one."""
    for place in places(folder, MANIFEST):
        if place.is_file():
            names = manifest_names(place)
            return None if names is None else names | {MANIFEST}
    return None


def manifest_names(manifest: Path) -> set[str] | None:
    """Return the names that a manifest lists; None for a file that is not a manifest."""
    try:
        checksums = json.loads(manifest.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(checksums, dict) or not checksums:
        return None
    if not all(isinstance(value, str) and len(value) == 64 for value in checksums.values()):
        return None
    return {name for name in checksums if Path(name).name == name and name != ".."}


def _content(folder: Path) -> Iterator[Path]:
    """Yield the files and folders of a folder, except those that `settle` takes away."""
    for path in folder.iterdir():
        if path.name != _VALID and not path.match(f"{_VALID}-*{PARTIAL}"):
            yield path


def _check_strangers(fresh: Path, target: Path) -> None:
    clashes = {path.name for path in strangers(target)} & {path.name for path in fresh.iterdir()}
    if clashes:
        raise BundleError(
            f"{target / min(clashes)} is not part of the bundle there, and would be replaced.",
            "Move or rename that file.",
        )


def _inode(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns
