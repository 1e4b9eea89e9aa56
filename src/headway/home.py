"""The user's folders: a leading `~` in the name of a file, and the cache folder.

A shell does not expand `~` after `=`.
"""

import os
from pathlib import Path


def expanded(path: str | os.PathLike[str]) -> Path:
    """Return a path with `~` or `~user` replaced by the home folder, if that user exists.

    >>> expanded("~no-such-user/x")
    PosixPath('~no-such-user/x')
    """
    return Path(os.path.expanduser(path))


def cache_folder() -> Path:
    """Return Headway's folder for files that can be made again.

    It is below $XDG_CACHE_HOME, or `~/.cache`. Raises RuntimeError if the user has no home folder.
    """
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "headway"
