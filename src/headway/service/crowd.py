"""Limits on the requests that are answered at the same time, and on the memory of their bodies."""

from collections import Counter

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headway.service.failures import UnavailableError, answer_for
from headway.service.rate import client_of

MOST = 1000
"""Requests that are answered at the same time, those that wait for a model included."""
MOST_READ = 100
"""Requests of one address whose bodies are being read at the same time."""
MOST_BYTES = 128 * 2**20
"""Bytes of the bodies of all requests that are being answered."""
SHARE = 4
"""The bytes of one address are at most the limit for all addresses, divided by this."""
_MANY = "too many requests at the same time"
_PROBES = frozenset({"/health", "/health/live", "/health/ready", "/metrics"})


class Crowd:
    """Refuse a request with 429 while too many others are being answered, or have too many bytes.

    Otherwise all requests would become slower: the process that reads them is busy, too, and the
    queues of the models do not count requests that are not read yet. A request takes a place when
    its body has arrived, so clients that send their bodies slowly, or never, take no places.
    """

    def __init__(
        self,
        app: ASGIApp,
        most: int = MOST,
        most_read: int = MOST_READ,
        most_bytes: int = MOST_BYTES,
        most_of_one: int = MOST_BYTES // SHARE,
    ) -> None:
        """Let `most` requests, of `most_bytes` together, pass to an application at the same time.

        most_read: requests of one address whose bodies are being read. most_of_one: the bytes of
        one address. For a body beyond `most_bytes` or `most_of_one`, reading it raises
        UnavailableError in the application.
        """
        self.app, self.most = app, most
        self.most_read, self.most_bytes, self.most_of_one = most_read, most_bytes, most_of_one
        self.inside = self.bytes = 0
        self.reading: Counter[str] = Counter()
        self.bytes_of: Counter[str] = Counter()
        """Both counters are by address, and have only addresses with requests."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it. Probes always pass."""
        if scope["type"] != "http" or (scope["method"] == "GET" and scope["path"] in _PROBES):
            await self.app(scope, receive, send)
            return
        address = client_of(scope["client"][0]) if scope.get("client") else ""
        is_read, size, places = scope["method"] != "POST", 0, 0
        if self.inside >= self.most or (not is_read and self.reading[address] >= self.most_read):
            await answer_for(scope["path"], _slowdown(_MANY))(scope, receive, send)
            return

        def take_place() -> None:
            nonlocal places
            if self.inside >= self.most:
                raise _slowdown(_MANY)
            places = 1
            self.inside += 1

        def end_reading() -> None:
            nonlocal is_read
            is_read = True
            _remove(self.reading, address, 1)

        async def counted() -> Message:
            nonlocal size
            message = await receive()
            more = len(message.get("body", b""))
            of_one = self.bytes_of[address] + more
            if self.bytes + more > self.most_bytes or of_one > self.most_of_one:
                raise _slowdown("too many bytes at the same time")
            size += more
            self.bytes += more
            self.bytes_of[address] = of_one
            if not is_read and not message.get("more_body", False):
                end_reading()
                take_place()
            return message

        try:
            if is_read:
                take_place()
            else:
                self.reading[address] += 1
            await self.app(scope, counted, send)
        finally:
            if not is_read:
                end_reading()
            self.inside -= places
            self.bytes -= size
            _remove(self.bytes_of, address, size)


def _remove(counts: Counter[str], address: str, count: int) -> None:
    counts[address] -= count
    if not counts[address]:
        del counts[address]


def _slowdown(reason: str) -> UnavailableError:
    return UnavailableError(429, f"Slowdown: {reason}", "Ask again later.", 1)
