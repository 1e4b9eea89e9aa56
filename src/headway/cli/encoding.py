"""Names of files are UTF-8, whatever the locale is."""

import os
import sys

_MODE = "PYTHONUTF8"


def use_utf8() -> None:
    """Start this program again in Python's UTF-8 mode, where a locale says something else.

    In another encoding a name such as `말뭉치/훈련.ko` is read as other letters, which a run would
    write down, and which no other locale finds. A user who has set PYTHONUTF8 has chosen.
    """
    if sys.getfilesystemencoding() == "utf-8" or _MODE in os.environ:
        return
    os.environ[_MODE] = "1"
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
