"""Names of files are UTF-8, whatever the locale is."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

_MODE = "PYTHONUTF8"
_COMMAND_LINE = Path("/proc/self/cmdline")


def use_utf8() -> None:
    """Start this program again in Python's UTF-8 mode, where a locale says something else.

    In another encoding a name such as `말뭉치/훈련.ko` is read as other letters, which a run would
    write down, and which no other locale finds. A user who has set PYTHONUTF8 has chosen.
    """
    if sys.getfilesystemencoding() == "utf-8" or _MODE in os.environ:
        return
    os.environ[_MODE] = "1"
    os.execv(sys.executable, [sys.executable, *_words()[1:]])


def _words() -> Sequence[str | bytes]:
    """Return the command line as it was given, if possible before any decoding.

    Python decodes it by the C library, whose form of an encoding is not always its own.
    """
    try:
        return _COMMAND_LINE.read_bytes().removesuffix(b"\0").split(b"\0")
    except OSError:  # not Linux
        return sys.orig_argv
