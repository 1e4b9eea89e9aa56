"""More requests than a server answers at the same time are refused before they are read."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from fastapi.testclient import TestClient
from starlette.types import Message, Receive, Scope, Send

from headway.service.crowd import MOST_BYTES, Crowd
from headway.service.failures import UnavailableError

Serve = Callable[..., tuple[Any, TestClient]]


def scope(path: str, method: str = "POST", address: str = "192.0.2.1") -> Scope:
    client = (address, 1)
    return {"type": "http", "path": path, "method": method, "headers": [], "client": client}


async def at_once() -> Message:
    return {"type": "http.request", "body": b"q=a"}


async def nothing() -> Message:
    raise AssertionError("a refused request is not read")


def test_requests_beyond_the_most_are_refused_and_probes_are_not() -> None:
    async def run() -> None:
        may_end = asyncio.Event()
        passed: list[str] = []

        async def slow(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["path"] in ("/translate", "/v1/translate"):
                await receive()
            passed.append(scope["path"])
            await may_end.wait()

        crowd = Crowd(slow, most=2)
        answers: dict[str, list[Any]] = {}

        def ask(path: str, method: str = "POST") -> asyncio.Task[None]:
            seen = answers.setdefault(path, [])

            async def send(message: Message) -> None:
                seen.append(message)

            body = at_once if path in ("/translate", "/v1/translate") else nothing
            return asyncio.create_task(crowd(scope(path, method), body, send))

        refused = ("/detect", "/v1/models", "/healthz", "/health", "/metrics")
        tasks = [ask(path) for path in ("/translate", "/v1/translate", *refused)]
        tasks += [ask("/health/live", "GET"), ask("/metrics", "GET")]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert passed == ["/translate", "/v1/translate", "/health/live", "/metrics"]
        for path in refused:
            start, body = answers[path]
            assert start["status"] == 429
            assert (b"retry-after", b"1") in start["headers"]
            assert "error" in json.loads(body["body"])
        may_end.set()
        await asyncio.gather(*tasks)
        assert crowd.inside == 0
        last = ask("/detect")
        await last
        assert passed[-1] == "/detect"

    asyncio.run(run())


def test_a_request_that_fails_makes_room() -> None:
    async def failing(scope: Scope, receive: Receive, send: Send) -> None:
        raise RuntimeError

    async def send(message: Message) -> None:
        raise AssertionError

    crowd = Crowd(failing, most=1)
    for _ in range(3):
        try:
            asyncio.run(crowd(scope("/translate"), nothing, send))
        except RuntimeError:
            continue
        raise AssertionError
    assert crowd.inside == 0


def test_a_client_that_sends_no_bodies_leaves_room_for_others() -> None:
    async def run() -> None:
        bodies: asyncio.Queue[Message] = asyncio.Queue()
        statuses: list[int] = []

        async def reading(scope: Scope, receive: Receive, send: Send) -> None:
            while (await receive()).get("more_body"):
                pass
            await send({"type": "http.response.start", "status": 200, "headers": []})

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        crowd = Crowd(reading, most_read=2)
        slow = [asyncio.create_task(crowd(scope("/translate"), bodies.get, send)) for _ in "ab"]
        await asyncio.sleep(0)
        await crowd(scope("/translate"), at_once, send)
        await crowd(scope("/translate", address="192.0.2.2"), at_once, send)
        await crowd(scope("/languages", "GET"), at_once, send)
        assert statuses == [429, 200, 200]
        for message in (
            {"type": "http.request", "body": b"q", "more_body": True},
            {"type": "http.disconnect"},
            {"type": "http.disconnect"},
        ):
            bodies.put_nowait(message)
        await asyncio.gather(*slow)
        await crowd(scope("/translate"), at_once, send)
        assert statuses[3:] == [200, 200, 200]
        assert (crowd.inside, crowd.bytes, dict(crowd.reading)) == (0, 0, {})
        assert not crowd.bytes_of

    asyncio.run(run())


def test_the_bodies_of_one_client_leave_room_for_those_of_others() -> None:
    async def run() -> None:
        may_end = asyncio.Event()

        async def reading(scope: Scope, receive: Receive, send: Send) -> None:
            await receive()
            await may_end.wait()

        async def send(message: Message) -> None:
            raise AssertionError

        def ask(address: str) -> asyncio.Task[None]:
            return asyncio.create_task(crowd(scope("/translate", address=address), at_once, send))

        crowd = Crowd(reading, most_bytes=13, most_of_one=7)  # a body has 3 bytes
        greedy, other = [ask("192.0.2.1") for _ in "abcd"], [ask("192.0.2.2") for _ in "ab"]
        await asyncio.sleep(0)
        assert dict(crowd.bytes_of) == {"192.0.2.1": 6, "192.0.2.2": 6}
        may_end.set()
        found = await asyncio.gather(*greedy, *other, return_exceptions=True)
        refused = [isinstance(error, UnavailableError) and error.status for error in found]
        assert refused == [False, False, 429, 429, False, False]
        assert (crowd.bytes, dict(crowd.bytes_of)) == (0, {})

    asyncio.run(run())


def test_a_place_is_taken_when_the_body_is_there() -> None:
    """Slow senders take no places, and find none if others have them when their body ends."""

    async def run() -> None:
        may_end, bodies = asyncio.Event(), asyncio.Queue[Message]()
        read: list[str] = []

        async def reading(scope: Scope, receive: Receive, send: Send) -> None:
            while (await receive()).get("more_body"):
                pass
            read.append(scope["path"])
            await may_end.wait()

        async def send(message: Message) -> None:
            raise AssertionError

        def ask(path: str, body: Receive, address: str) -> asyncio.Task[None]:
            return asyncio.create_task(crowd(scope(path, address=address), body, send))

        crowd = Crowd(reading, most=2)
        slow = [ask("/detect", bodies.get, f"192.0.2.{n}") for n in range(5)]
        await asyncio.sleep(0)
        fast = [ask("/translate", at_once, "192.0.2.9") for _ in range(2)]
        await asyncio.sleep(0)
        assert (crowd.inside, read) == (2, ["/translate"] * 2)
        bodies.put_nowait({"type": "http.request", "body": b"q=a"})
        refused, *slow = slow
        with pytest.raises(UnavailableError, match="too many requests"):
            await refused
        may_end.set()
        await asyncio.gather(*fast)
        for _ in slow:
            bodies.put_nowait({"type": "http.request", "body": b"q=a"})
        await asyncio.gather(*slow)
        assert read == ["/translate"] * 2 + ["/detect"] * 4
        assert (crowd.inside, crowd.bytes, dict(crowd.reading)) == (0, 0, {})

    asyncio.run(run())


def test_bodies_beyond_the_bytes_of_all_are_refused(serve: Serve) -> None:
    """The bytes count until the request is answered, because its body is in memory so long."""
    served, client = serve()
    crowd = next(m for m in served.app.user_middleware if m.cls is Crowd)
    assert crowd.kwargs["most_bytes"] == MOST_BYTES
    crowd.kwargs["most_bytes"] = 100
    served.app.middleware_stack = served.app.build_middleware_stack()
    good = {"q": "가나", "source": "ko", "target": "en"}
    large = client.post("/translate", data={**good, "q": "a" * 200})
    assert (large.status_code, large.headers["Retry-After"]) == (429, "1")
    for _ in range(3):
        assert client.post("/translate", data=good).status_code == 200
