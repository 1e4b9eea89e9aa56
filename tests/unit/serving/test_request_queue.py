"""One request at a time for each model; who waits keeps nobody else from an answer."""

import asyncio
import json
import threading
from dataclasses import replace
from typing import Any, get_args

import httpx
import pytest
from fastapi import Request
from tests.unit.serving.conftest import OWN

from headway.inspection.attribution import Method
from headway.inspection.translator import Translator
from headway.serving import searches
from headway.serving.app import create_app
from headway.serving.failures import RefusedError
from headway.serving.models import Served
from headway.serving.request_queue import in_turn

SOURCE = "나는 너를 본다 ."
MORE_THAN_THREADS = 50  # anyio has 40 for everything that is not awaited
QUESTIONS = ["/api/trace", "/api/search", "/api/translate", "/api/paragraph"]


@pytest.fixture
def fresh(served: Served) -> Served:
    """Return the model with a turn that no other event loop has seen."""
    return replace(served, turn=asyncio.Lock())


def _browser(app: Any) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=OWN)


async def _wait_for_turn(turn: asyncio.Lock, count: int) -> None:
    while len(turn._waiters or ()) < count:
        await asyncio.sleep(0.001)


@pytest.mark.parametrize("path", QUESTIONS)
def test_a_busy_model_holds_up_neither_the_page_nor_another_model(
    fresh: Served, pre_norm: Served, path: str
) -> None:
    other = replace(pre_norm, turn=asyncio.Lock())
    bodies = [{"source": SOURCE, "max_length": 1 + number} for number in range(MORE_THAN_THREADS)]

    async def ask() -> None:
        async with _browser(create_app([fresh, other])) as browser:
            async with fresh.turn:
                waiting = [asyncio.ensure_future(browser.post(path, json=own)) for own in bodies]
                await _wait_for_turn(fresh.turn, MORE_THAN_THREADS)
                assert (await browser.get("/")).status_code == 200
                assert (await browser.get("/api/model")).status_code == 200
                asked = {"source": SOURCE, "model": "pre"}
                assert (await browser.post(path, json=asked)).status_code == 200
                refused = await browser.post(path, json={"source": " "})
                assert refused.status_code == 400  # what is wrong is told at once
                assert not any(own.done() for own in waiting)
            answers = await asyncio.gather(*waiting)
        assert [own.status_code for own in answers] == [200] * len(bodies)

    asyncio.run(asyncio.wait_for(ask(), 60))


def test_an_export_waits_for_the_one_before_it_and_no_model_waits(fresh: Served) -> None:
    async def ask() -> None:
        app = create_app([fresh])
        async with _browser(app) as browser:
            made = (await browser.post("/api/trace", json={"source": SOURCE})).json()
            below = f"/api/traces/{made['id']}/"
            turn = app.state.explorer.export_turn
            files = ["export.json", "export.html", "export.svg", "download/logits.npy"]
            async with turn:
                waiting = [asyncio.ensure_future(browser.get(below + file)) for file in files]
                await _wait_for_turn(turn, len(files))
                answer = await browser.post(f"{below}ablate", json={"row": 0})
                assert answer.status_code == 200
                assert not any(own.done() for own in waiting)
            assert [own.status_code for own in await asyncio.gather(*waiting)] == [200] * 4

    asyncio.run(asyncio.wait_for(ask(), 60))


def test_for_a_sender_that_went_away_nothing_is_computed(fresh: Served) -> None:
    computed: list[int] = []

    async def gone() -> dict[str, str]:
        return {"type": "http.disconnect"}

    async def there() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def ask() -> None:
        scope = {"type": "http", "method": "GET", "path": "/", "headers": []}
        with pytest.raises(RefusedError, match="went away"):
            await in_turn(fresh.turn, Request(scope, gone), lambda: computed.append(1))
        assert not fresh.turn.locked()
        await in_turn(fresh.turn, Request(scope, there), lambda: computed.append(2))

    asyncio.run(ask())
    assert computed == [2]


class Listener:
    """A client that asks for one search, and goes away when it is told to."""

    def __init__(self, app: Any, body: dict[str, Any], path: str = "/api/translate") -> None:
        self.left = asyncio.Event()
        self.body = [json.dumps(body).encode()]
        self.heard: list[bytes] = []
        self.hears = asyncio.Event()
        scope = {
            "type": "http", "asgi": {"spec_version": "2.3"}, "http_version": "1.1",
            "method": "POST", "path": path, "query_string": b"", "root_path": "",
            "headers": [(b"host", b"127.0.0.1:8080"), (b"content-type", b"application/json")],
        }  # fmt: skip
        self.served = asyncio.ensure_future(app(scope, self.receive, self.send))

    async def receive(self) -> dict[str, Any]:
        if self.body:
            return {"type": "http.request", "body": self.body.pop(), "more_body": False}
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        if message.get("body"):
            self.heard.append(message["body"])
            self.hears.set()


@pytest.mark.parametrize("path", ["/api/translate", "/api/search"])
def test_of_a_search_that_is_left_while_it_waits_nothing_is_computed(
    fresh: Served, translator: Translator, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    searched: list[str] = []
    monkeypatch.setattr(translator, "search", lambda source, **_: searched.append(source))

    async def ask() -> None:
        async with fresh.turn:
            listener = Listener(create_app([fresh]), {"source": SOURCE}, path)
            await _wait_for_turn(fresh.turn, 1)
            listener.left.set()
            if path == "/api/translate":  # of a stream the server hears at once that it was left
                await listener.served
            assert fresh.turn.locked()
        await listener.served
        while fresh.turn.locked() or fresh.turn._waiters:
            await asyncio.sleep(0.001)

    asyncio.run(asyncio.wait_for(ask(), 60))
    assert searched == []


def test_a_stream_that_is_left_midway_ends_with_its_step_and_holds_its_turn_till_then(
    fresh: Served, translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, locked = threading.Event(), list[bool]()
    step = searches.Events.step

    def slowly(events: searches.Events, *arguments: Any) -> None:
        step(events, *arguments)
        assert go_on.wait(60)
        locked.append(fresh.turn.locked())

    monkeypatch.setattr(searches.Events, "step", slowly)

    async def ask() -> None:
        listener = Listener(create_app([fresh]), {"source": SOURCE, "max_length": 6})
        while not any(b"event: step" in part for part in listener.heard):
            await listener.hears.wait()
            listener.hears.clear()
        listener.left.set()
        await listener.served
        assert fresh.turn.locked()
        go_on.set()
        async with fresh.turn:
            pass

    asyncio.run(asyncio.wait_for(ask(), 60))
    assert locked == [True]  # there was no second step


def test_who_waits_for_a_model_to_export_holds_up_no_export_of_another(
    fresh: Served, pre_norm: Served
) -> None:
    other = replace(pre_norm, turn=asyncio.Lock())

    async def ask() -> None:
        async with _browser(create_app([fresh, other])) as browser:
            made = [
                (await browser.post("/api/trace", json={"source": SOURCE, "model": name})).json()
                for name in (fresh.name, other.name)
            ]
            mine, theirs = (f"/api/traces/{trace['id']}/" for trace in made)
            async with fresh.turn:
                page = asyncio.ensure_future(browser.get(f"{mine}export.html"))
                await _wait_for_turn(fresh.turn, 1)
                for file in ("download/logits.npy", "export.json", "export.html"):
                    assert (await browser.get(theirs + file)).status_code == 200
                assert not page.done()
            assert (await page).status_code == 200

    asyncio.run(asyncio.wait_for(ask(), 60))


def test_what_is_there_already_waits_for_nobody(fresh: Served) -> None:
    async def ask() -> None:
        async with _browser(create_app([fresh])) as browser:
            first = await browser.post("/api/trace", json={"source": SOURCE})
            below = f"/api/traces/{first.json()['id']}/"
            questions = {"ablate": {"row": 0}, "attribute": {"method": "gradient_x_input"}}
            answers = {
                question: (await browser.post(below + question, json=body)).content
                for question, body in questions.items()
            }
            async with fresh.turn:
                again = await browser.post("/api/trace", json={"source": SOURCE})
                assert again.content == first.content
                for question, body in questions.items():
                    answer = await browser.post(below + question, json=body)
                    assert answer.content == answers[question]
                assert (await browser.get("/api/position?length=700")).status_code == 200

    asyncio.run(asyncio.wait_for(ask(), 60))


def test_what_a_page_was_made_of_is_there_when_it_is_asked_for(fresh: Served) -> None:
    async def ask() -> None:
        async with _browser(create_app([fresh])) as browser:
            made = (await browser.post("/api/trace", json={"source": SOURCE})).json()
            below = f"/api/traces/{made['id']}/"
            assert (await browser.get(f"{below}export.html")).status_code == 200
            async with fresh.turn:
                for method in get_args(Method):
                    answer = await browser.post(f"{below}attribute", json={"method": method})
                    assert answer.json()["method"] == method

    asyncio.run(asyncio.wait_for(ask(), 60))


def test_a_server_that_ends_says_so_to_those_who_wait(fresh: Served) -> None:
    async def never() -> dict[str, str]:
        await asyncio.Event().wait()
        return {}

    async def ask() -> None:
        scope = {"type": "http", "method": "GET", "path": "/", "headers": []}
        request = Request(scope, never)
        computing, before = threading.Event(), set(threading.enumerate())
        complaints: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, what: complaints.append(what))
        both = [
            asyncio.ensure_future(in_turn(fresh.turn, request, lambda: computing.wait(60))),
            asyncio.ensure_future(in_turn(fresh.turn, request, lambda: None)),
        ]
        await _wait_for_turn(fresh.turn, 1)
        for one in both[::-1]:
            one.cancel()
            with pytest.raises(RefusedError, match="The server ends"):
                await one
        computing.set()
        for thread in set(threading.enumerate()) - before:
            thread.join(10)
        await asyncio.sleep(0)
        assert not complaints  # of an answer to somebody who does not wait any more

    asyncio.run(asyncio.wait_for(ask(), 60))


def test_what_goes_wrong_in_the_thread_goes_wrong_for_who_asked(fresh: Served) -> None:
    async def there() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def ask() -> None:
        scope = {"type": "http", "method": "GET", "path": "/", "headers": []}
        with pytest.raises(ZeroDivisionError):
            await in_turn(fresh.turn, Request(scope, there), lambda: 1 // 0)
        assert not fresh.turn.locked()

    asyncio.run(ask())
