"""Use UTF-8 for names of files in any locale."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

_MODE = "PYTHONUTF8"
_COMMAND_LINE = Path("/proc/self/cmdline")


def use_utf8() -> None:
    """Start this program again in Python's UTF-8 mode if the locale has another encoding.

    In another encoding a name such as `말뭉치/훈련.ko` is read as other letters. A run would record
    them, and no other locale would find the file. Nothing happens if PYTHONUTF8 is set.
    """
    if sys.getfilesystemencoding() == "utf-8" or _MODE in os.environ:
        return
    os.environ[_MODE] = "1"
    os.execv(sys.executable, [sys.executable, *_words()[1:]])


def _words() -> Sequence[str | bytes]:
    """Return the command line, if possible before any decoding.

    Python decodes it with the C library, whose version of an encoding may differ from Python's.
    """
    try:
        return _COMMAND_LINE.read_bytes().removesuffix(b"\0").split(b"\0")
    except OSError:  # not Linux
        return sys.orig_argv
