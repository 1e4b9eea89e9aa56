"""The limit on the files and connections that a process may have open."""

import contextlib
import sys

if sys.platform != "win32":
    import resource

_ENOUGH = 65_536


def allow_many_open_files() -> None:
    """Raise this process's own limit as far as the system allows, to 65,536 at most.

    A connection is an open file. Many systems begin with a limit of 1,024, at which a server
    accepts no more connections. On Windows the limit is high enough.
    """
    if sys.platform != "win32":
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = _ENOUGH if hard == resource.RLIM_INFINITY else min(hard, _ENOUGH)
        if soft != resource.RLIM_INFINITY and soft < most:
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
