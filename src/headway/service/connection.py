"""A connection of the server: h11, with a limit on the time that the headers of a request take.

h11 limits the length of an address and of headers, and reads the body of a request that offers to
switch to HTTP/2, as those of Java do. httptools does neither (benchmarks/log/093).
"""

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS_FOR_HEADERS = 20.0


class Connection(H11Protocol):
    """Close a connection on which no request begins for some seconds.

    uvicorn closes one that is silent after an answer. This closes one that sends something, but no
    headers with an end, and one that has never sent anything.
    """

    _closing: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore
        """Expect the first request."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Take some bytes: a request begins when the last of its headers is there."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Expect nothing more."""
        super().connection_lost(exc)
        self._stop()

    def _watch(self) -> None:
        is_answering = self.cycle is not None and not self.cycle.response_complete
        if is_answering:
            self._stop()
        elif self._closing is None and not self.transport.is_closing():
            self._closing = self.loop.call_later(SECONDS_FOR_HEADERS, self.transport.close)

    def _stop(self) -> None:
        if self._closing is not None:
            self._closing.cancel()
            self._closing = None
