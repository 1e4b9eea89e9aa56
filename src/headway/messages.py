"""Messages on standard error, which are dropped if they cannot be written.

No run should end because a terminal was closed, a log's disk is full or a pipe has no reader.
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
    """A text stream that ignores its failures."""

    def __init__(self, stream: TextIO | None) -> None:
        """Write to this stream; None if standard error was closed from the beginning."""
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
        """Flush, and ignore a failure."""
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
    """Drop, in the block, all output to standard error that cannot be written."""
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
    """Discard the buffer of a stream; otherwise Python fails to write it when it ends."""
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
