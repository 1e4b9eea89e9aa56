"""The number of sentences that are done, reported to the caller during a translation."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from headway.decoding.request import Request

_listener: ContextVar[Callable[[int], None] | None] = ContextVar("listener", default=None)


@contextmanager
def counting_sentences(tell: Callable[[int], None]) -> Iterator[None]:
    """Call `tell` with the number of sentences done since the last call.

    All translations of this thread within the block are counted. A blank sentence needs no search
    and is not counted.
    """
    token = _listener.set(tell)
    try:
        yield
    finally:
        _listener.reset(token)


class SentenceCounter:
    """Count a sentence once the search for each of its parts has ended."""

    def __init__(self, requests: Sequence[Request]) -> None:
        """Group requests by sentence: `Request.place` begins with the sentence's number."""
        self._tell = _listener.get()
        self._sentences = [request.place[:1] for request in requests]
        self._left = Counter(self._sentences)

    def ended(self, request: int) -> None:
        """Count the request of this number as done."""
        sentence = self._sentences[request]
        self._left[sentence] -= 1
        if self._tell is not None and not self._left[sentence]:
            self._tell(1)
