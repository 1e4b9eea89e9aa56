"""More requests than a server answers at the same time are refused before they are read."""

import asyncio
import json
from typing import Any

from starlette.types import Message, Receive, Scope, Send

from headway.service.crowd import Crowd


def scope(path: str) -> Scope:
    return {"type": "http", "path": path, "method": "POST", "headers": []}


async def nothing() -> Message:
    raise AssertionError("a refused request is not read")


def test_requests_beyond_the_most_are_refused_and_probes_are_not() -> None:
    async def run() -> None:
        may_end = asyncio.Event()
        passed: list[str] = []

        async def slow(scope: Scope, receive: Receive, send: Send) -> None:
            passed.append(scope["path"])
            await may_end.wait()

        crowd = Crowd(slow, most=2)
        answers: dict[str, list[Any]] = {}

        def ask(path: str) -> asyncio.Task[None]:
            seen = answers.setdefault(path, [])

            async def send(message: Message) -> None:
                seen.append(message)

            return asyncio.create_task(crowd(scope(path), nothing, send))

        tasks = [ask(p) for p in ("/translate", "/v1/translate", "/detect", "/v1/models")]
        tasks += [ask("/health/live"), ask("/metrics")]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert passed == ["/translate", "/v1/translate", "/health/live", "/metrics"]
        for path in ("/detect", "/v1/models"):
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
