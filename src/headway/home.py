"""A leading `~` in the name of a file: a shell does not expand it after `=`, nor in a text."""

import os
from pathlib import Path


def expanded(path: str | os.PathLike[str]) -> Path:
    """Return a path with the user's folder in the place of `~` or `~user`, where there is one.

    >>> expanded("~nobody-of-this-name/x")
    PosixPath('~nobody-of-this-name/x')
    """
    return Path(os.path.expanduser(path))
