"""Which file of a folder is the checkpoint."""

from collections.abc import Sequence
from pathlib import Path

from headway.errors import BundleError, permitted


def checkpoint_in(path: Path, names: Sequence[str], program: str) -> Path:
    """Return the checkpoint; of a folder the first of these names, or the only one.

    names: all of one ending, the best first. program: that wrote it. Raises BundleError if there is
    no such file, or if it is unclear which is meant.
    """
    if path.is_file():
        return path
    if not path.is_dir():
        raise BundleError(
            f"{path} does not exist.", f"Give a checkpoint of {program}, or its folder."
        )
    ending = Path(names[0]).suffix
    with permitted(path, BundleError):
        candidates = sorted(path.glob(f"*{ending}"))
    for name in names:
        if (path / name).is_file():
            return path / name
    if len(candidates) != 1:
        counted = f"{len(candidates)} files that end" if candidates else "no file that ends"
        raise BundleError(
            f"{path} has {counted} in {ending}, and no {names[0]}.",
            f"Give a checkpoint of {program}, or a folder with one.",
        )
    return candidates[0]
