"""One request at a time for each model; who waits keeps nobody else from an answer."""

import asyncio
from dataclasses import replace
from typing import Any

import httpx
import pytest
from fastapi import Request
from tests.unit.serving.conftest import OWN

from headway.inspection.translator import Translator
from headway.serving.app import create_app
from headway.serving.failures import RefusedError
from headway.serving.models import Served
from headway.serving.turns import in_turn

SOURCE = "나는 너를 본다 ."
MORE_THAN_THREADS = 50  # anyio has 40 for everything that is not awaited
QUESTIONS = ["/api/trace", "/api/search", "/api/translate"]


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


def test_a_search_holds_its_turn_until_its_thread_has_ended(
    fresh: Served, translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where its listener has gone: two searches of one model never run at once."""
    running: list[bool] = []
    own = translator.search

    def search(*arguments: Any, **options: Any) -> Any:
        running.append(fresh.turn.locked())
        try:
            return own(*arguments, **options)
        finally:
            running.append(fresh.turn.locked())

    monkeypatch.setattr(translator, "search", search)

    async def ask() -> None:
        async with _browser(create_app([fresh])) as browser:
            body = {"source": SOURCE}
            streams = [browser.post("/api/translate", json=body) for _ in range(3)]
            await asyncio.gather(*streams)
        assert not fresh.turn.locked()

    asyncio.run(ask())
    assert running == [True] * 6
