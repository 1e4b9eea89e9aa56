"""Expand a leading `~` in the name of a file; a shell does not do so after `=`."""

import os
from pathlib import Path


def expanded(path: str | os.PathLike[str]) -> Path:
    """Return a path with `~` or `~user` replaced by the home folder, if that user exists.

    >>> expanded("~no-such-user/x")
    PosixPath('~no-such-user/x')
    """
    return Path(os.path.expanduser(path))
