"""A notice while kernels are compiled: on a machine without compiled code, that takes seconds.

A program asks for it with `tell_of_compiling`, as the command line does.
"""

from collections.abc import Callable
from time import monotonic

_MOMENT = 1.0  # seconds without a notice
_MESSAGE = "Compiling kernels for this processor: some seconds, once."

_tell: Callable[[str], object] | None = None


def tell_of_compiling(tell: Callable[[str], object] | None) -> None:
    """Set the function that gets a sentence, once, when compiling takes more than a moment."""
    global _tell
    _tell = tell


def give_notice() -> None:
    """Say that kernels are being compiled, once, if a program has asked for the notice."""
    if _tell is not None:
        _tell(_MESSAGE)
        tell_of_compiling(None)


class CompilingTime:
    """Adds up the time of compiling functions, which may compile their callees meanwhile."""

    def __init__(self) -> None:
        """Start at zero."""
        self.depth = 0
        self.began = self.taken = 0.0

    def begin(self) -> None:
        """Record the start of a compilation; give notice if earlier ones took long."""
        now = monotonic()
        if not self.depth:
            self.began = now
        self.depth += 1
        if self.taken + now - self.began > _MOMENT:
            give_notice()

    def end(self) -> None:
        """Record the end of a compilation."""
        self.depth -= 1
        if not self.depth:
            self.taken += monotonic() - self.began
