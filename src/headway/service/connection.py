"""A connection of the server: h11, with a limit on the time that the headers of a request take.

h11 limits the length of an address and of headers. It also reads the body of a request that offers
to switch to HTTP/2; Java's clients send such requests. httptools does neither (benchmarks/log/098).
"""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS_FOR_HEADERS = 20.0
SECONDS_OF_SILENCE = 75.0
"""After an answer, until the connection is closed. Proxies and clients close their end sooner
(nginx after 60 seconds), so none of them sends a request on a connection that is being closed."""
_CAN_ANSWER = (h11.IDLE, h11.SEND_RESPONSE)


class Connection(H11Protocol):
    """Close a connection on which no request begins in time, or whose body is not valid HTTP.

    uvicorn closes a connection that is silent after an answer. This class also closes one whose
    headers never end, and one that never sends anything.

    uvicorn answers bytes that are not HTTP with 400, even in the body of a request that the
    application is reading or answering. This second answer would raise an exception in the log.
    """

    def __init__(self, *arguments: Any, **more: Any) -> None:
        """Take uvicorn's arguments."""
        super().__init__(*arguments, **more)
        self.timeout_keep_alive = SECONDS_OF_SILENCE
        self._closing: asyncio.TimerHandle | None = None
        self._seconds = 0.0  # that the timer `_closing` takes in all

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore
        """Expect the first request."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Take some bytes. A request begins when its last header has arrived."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Expect nothing more."""
        super().connection_lost(exc)
        self._stop()

    def send_400_response(self, msg: str) -> None:
        """Answer, unless the application has begun to; end its work and the connection."""
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()
        if self.conn.our_state in _CAN_ANSWER:
            super().send_400_response(msg)
        else:
            self.transport.close()

    def _watch(self) -> None:
        """Limit the wait for headers, or for the rest of a request that was answered early.

        More bytes do not restart the timer while it waits for the same thing.
        """
        is_answering = self.cycle is not None and not self.cycle.response_complete
        if is_answering or self.transport.is_closing():
            self._stop()
            return
        has_begun = self.conn.their_state is h11.IDLE and bool(self.conn.trailing_data[0])
        waits_for_headers = self.cycle is None or has_begun
        seconds = SECONDS_FOR_HEADERS if waits_for_headers else SECONDS_OF_SILENCE
        if self._closing is None or seconds != self._seconds:
            self._stop()
            self._closing = self.loop.call_later(seconds, self.transport.close)
            self._seconds = seconds

    def _stop(self) -> None:
        if self._closing is not None:
            self._closing.cancel()
            self._closing = None
