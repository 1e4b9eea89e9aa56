"""When a connection is closed: timers of a loop without time."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import uvicorn
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from headway.service.connection import SECONDS_FOR_HEADERS, SECONDS_OF_SILENCE, Connection

HEAD = b"POST /translate HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n"


class Timer:
    """One call that a loop would make."""

    def __init__(self, seconds: float, call: Callable[[], None]) -> None:
        self.seconds, self.call, self.is_waiting = seconds, call, True

    def cancel(self) -> None:
        self.is_waiting = False


class Task:
    """A task that nothing waits for."""

    def add_done_callback(self, call: Callable[[Any], None]) -> None: ...


class Loop:
    """A loop whose tasks and timers wait until the test runs them."""

    def __init__(self) -> None:
        self.tasks: list[Any] = []
        self.timers: list[Timer] = []

    def create_task(self, work: Coroutine[Any, Any, None], **more: Any) -> Task:
        self.tasks.append(work)
        return Task()

    def call_later(self, seconds: float, call: Callable[[], None]) -> Timer:
        self.timers.append(Timer(seconds, call))
        return self.timers[-1]


class Wire(asyncio.Transport):
    """Keeps what is sent."""

    def __init__(self) -> None:
        super().__init__()
        self.sent, self.closed = b"", False

    def write(self, data: Any) -> None:
        self.sent += data

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def pause_reading(self) -> None: ...
    def resume_reading(self) -> None: ...


class Peer:
    """A connection to the server, whose answers come when `answer` is called."""

    def __init__(self) -> None:
        self.loop, self.wire = Loop(), Wire()
        config = uvicorn.Config(_answer, log_config=None)
        config.load()
        self.connection = Connection(
            config=config, server_state=ServerState(), app_state={}, _loop=self.loop
        )
        self.connection.connection_made(self.wire)

    def send(self, data: bytes) -> None:
        self.connection.data_received(data)

    def answer(self) -> None:
        asyncio.run(self.loop.tasks.pop())

    @property
    def timers(self) -> list[Timer]:
        return [timer for timer in self.loop.timers if timer.is_waiting]

    @property
    def seconds(self) -> list[float]:
        return [timer.seconds for timer in self.timers]


async def _answer(scope: Scope, receive: Receive, send: Send) -> None:
    await send({
        "type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")],
    })  # fmt: skip
    await send({"type": "http.response.body"})


def test_a_connection_that_sends_nothing_or_no_whole_headers_is_closed() -> None:
    silent, slow = Peer(), Peer()
    slow.send(HEAD[:9])
    slow.send(HEAD[9:20])
    for peer in (silent, slow):
        (timer,) = peer.timers
        assert timer.seconds == SECONDS_FOR_HEADERS
        timer.call()
        assert peer.wire.closed


def test_a_body_takes_as_long_as_it_takes() -> None:
    """`serving.limits` gives it a time of its own."""
    peer = Peer()
    peer.send(HEAD + b"a")
    assert peer.seconds == []
    peer.send(b"bc")
    assert peer.seconds == []
    peer.answer()


def test_a_silent_connection_stays_after_an_answer() -> None:
    """uvicorn's own limit of 5 seconds is below those of clients and proxies."""
    peer = Peer()
    peer.send(HEAD + b"abc")
    peer.answer()
    assert peer.wire.sent.startswith(b"HTTP/1.1 200 ")
    assert peer.seconds == [SECONDS_OF_SILENCE]
    peer.send(HEAD[:20])
    assert peer.seconds == [SECONDS_FOR_HEADERS]
    peer.send(HEAD[20:] + b"abc")
    assert peer.seconds == []
    peer.answer()
    assert peer.seconds == [SECONDS_OF_SILENCE]


def test_a_connection_stays_if_the_answer_came_before_the_end_of_the_body() -> None:
    peer = Peer()
    peer.send(HEAD + b"a")
    peer.answer()
    assert peer.seconds == [SECONDS_OF_SILENCE]
    for rest in (b"b", b"c"):
        peer.send(rest)
        assert peer.seconds == [SECONDS_OF_SILENCE]
    peer.send(HEAD[:20])
    assert peer.seconds == [SECONDS_FOR_HEADERS]


def test_a_lost_connection_has_no_timers() -> None:
    peer = Peer()
    peer.send(HEAD[:20])
    peer.connection.connection_lost(None)
    assert peer.seconds == []
