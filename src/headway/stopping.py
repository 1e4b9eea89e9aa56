"""What is said when Ctrl-C ends a piece of work: what became of it, and how to go on."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def if_stopped(sentence: str | Callable[[], str], *, instead: bool = False) -> Iterator[None]:
    """Give a KeyboardInterrupt that leaves the block this sentence, as a note of the exception.

    The innermost sentence stays, because it knows most; instead: this one takes its place. A
    function is called once the work has been stopped.
    """
    try:
        yield
    except KeyboardInterrupt as error:
        if instead or not last_words(error):
            error.__notes__ = [sentence if isinstance(sentence, str) else sentence()]
        raise


def last_words(error: KeyboardInterrupt) -> str:
    """Return the sentence that an interruption was given, or nothing."""
    return " ".join(getattr(error, "__notes__", []))
