"""Messages for people, on standard error: one that cannot be written is dropped.

A terminal that was closed, a full disk below a log or a pipe without a reader is worth no run.
"""

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator
from typing import IO, TYPE_CHECKING, Any, TextIO, cast

if TYPE_CHECKING:
    from rich.console import Console

_NOT_WRITTEN = (OSError, ValueError)  # ValueError: the stream is closed


class Messages:
    """A stream of text whose failures nobody hears of."""

    def __init__(self, stream: TextIO | None) -> None:
        """Write to this stream; None is a standard error that was closed from the beginning."""
        self.stream = stream

    def write(self, text: str) -> int:
        """Write text, or drop it."""
        if self.stream is not None:
            with contextlib.suppress(*_NOT_WRITTEN):
                self.stream.write(text)
        return len(text)

    def writelines(self, texts: Iterable[str]) -> None:
        """Write texts, or drop them."""
        for text in texts:
            self.write(text)

    def flush(self) -> None:
        """Flush, or do not."""
        if self.stream is not None:
            with contextlib.suppress(*_NOT_WRITTEN):
                self.stream.flush()

    def isatty(self) -> bool:
        """Return True for a terminal."""
        return self.stream is not None and not self.stream.closed and self.stream.isatty()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextlib.contextmanager
def unfailing_messages() -> Iterator[None]:
    """Drop within what cannot be written to standard error, whoever writes it."""
    before = sys.stderr
    sys.stderr = cast(TextIO, Messages(before))
    try:
        yield
    finally:
        sys.stderr = before
        try:
            before.flush()
        except _NOT_WRITTEN:
            discard(before)


def discard(stream: TextIO) -> None:
    """Let what a stream still holds go nowhere: else Python fails over it when it ends."""
    with contextlib.suppress(*_NOT_WRITTEN):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def message_console(*, quiet: bool = False) -> "Console":
    """Return a console of rich for standard error that drops what cannot be written."""
    from rich.console import Console

    class MessageConsole(Console):
        @property
        def file(self) -> IO[str]:
            return cast(TextIO, Messages(cast(TextIO, super().file)))

        @file.setter
        def file(self, new_file: IO[str]) -> None:
            self._file = new_file

    return MessageConsole(stderr=True, quiet=quiet, highlight=False)
