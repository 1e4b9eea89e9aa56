"""Who is told that loops are compiled: on a machine where none are kept yet, it takes seconds.

Nobody, unless a program asks for it, as the command line does.
"""

from collections.abc import Callable
from time import monotonic

_MOMENT = 1.0  # seconds that nobody needs to be told of
_MESSAGE = "Compiling loops for this processor, some seconds; they are kept."

_tell: Callable[[str], object] | None = None


def tell_of_compiling(tell: Callable[[str], object] | None) -> None:
    """Have this called with a sentence, once, when compiling takes more than a moment."""
    global _tell
    _tell = tell


class Patience:
    """Adds up what compiling takes, of functions that have others compiled meanwhile."""

    def __init__(self) -> None:
        """Begin with no time taken."""
        self.depth = 0
        self.began = self.taken = 0.0

    def begin(self) -> None:
        """Note that compiling begins; tell of it, if much came before."""
        now = monotonic()
        if not self.depth:
            self.began = now
        self.depth += 1
        if _tell is not None and self.taken + now - self.began > _MOMENT:
            _tell(_MESSAGE)
            tell_of_compiling(None)

    def end(self) -> None:
        """Note that it has ended."""
        self.depth -= 1
        if not self.depth:
            self.taken += monotonic() - self.began
