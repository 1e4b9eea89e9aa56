"""Notes on an interruption by Ctrl-C: what was saved, and how to continue."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def if_stopped(sentence: str | Callable[[], str], *, instead: bool = False) -> Iterator[None]:
    """Add this sentence as a note to a KeyboardInterrupt that leaves the block.

    If blocks are nested, the innermost sentence stays, because it knows most. instead: replace it
    by this one. A function is called once the work has been stopped.
    """
    try:
        yield
    except KeyboardInterrupt as error:
        if instead or not last_words(error):
            error.__notes__ = [sentence if isinstance(sentence, str) else sentence()]
        raise


def last_words(error: KeyboardInterrupt) -> str:
    """Return the note of an interruption, or nothing."""
    return " ".join(getattr(error, "__notes__", []))
