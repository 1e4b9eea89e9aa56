"""A model whose process ends, is replaced, fails or is full; health; clients that go away."""

import asyncio
import sys
from asyncio.subprocess import PIPE
from collections.abc import Callable
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.unit.service.conftest import Served

from headway.service import served_model
from headway.service.keys import Client
from headway.service.model_process import ModelProcess, ProcessEndedError
from headway.service.settings import Settings
from headway.serving.failures import RefusedError

Serve = Callable[..., tuple[Any, TestClient]]
GOOD = {"q": "가나", "source": "ko", "target": "en"}
ADA = Client("Ada", has_key=True)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served_model, "_SECONDS_BETWEEN_LOOKS", 0.01)
    monkeypatch.setattr(served_model, "_SECONDS_BEFORE_START", 0.01)
    monkeypatch.setattr(served_model, "_SECONDS_BEFORE_RETRY", 0.01)


async def _until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not true():
            await asyncio.sleep(0.005)


def test_a_process_that_ends_is_started_again(tmp_path: Any) -> None:
    async def run() -> None:
        served = Served(["ko-en"], Settings(), tmp_path / "bundle")
        (model,) = served.service.models.values()
        served.service.start()
        await _until(lambda: model.is_ready)
        served.started[0].hold = True
        waiting = asyncio.create_task(served.service.translate(["ko-en"], ["가"], {}, ADA))
        await _until(lambda: bool(served.started[0].asked))
        served.started[0].end()
        with pytest.raises(RefusedError) as refused:
            await waiting
        assert refused.value.status == 503
        await _until(lambda: len(served.started) == 2 and model.is_ready)
        (item,) = await served.service.translate(["ko-en"], ["가나"], {}, ADA)
        assert item["translation"]["text"] == "나가"
        assert model.backlog.characters == 0
        await served.service.close()

    asyncio.run(run())


def test_a_changed_bundle_is_loaded_while_the_old_one_answers(tmp_path: Any) -> None:
    async def run() -> None:
        folder = tmp_path / "bundle"
        folder.mkdir()
        (folder / "manifest.json").write_text("{}")
        served = Served(["ko-en"], Settings(), folder)
        (model,) = served.service.models.values()
        served.service.start()
        await _until(lambda: model.is_ready)
        served.fails = True
        (folder / "manifest.json").write_text("{ }")
        await _until(lambda: model.failure is not None)
        assert model.is_ready  # the old process goes on
        served.fails = False  # as when the weights come after the manifest
        await _until(lambda: len(served.started) == 2)
        await _until(lambda: not served.started[0].is_alive)
        assert (model.is_ready, model.failure, model.replaced) == (True, None, 1)
        await served.service.close()

    asyncio.run(run())


def test_a_model_that_cannot_be_loaded_is_told(tmp_path: Any) -> None:
    async def run() -> None:
        served = Served(["ko-en"], Settings(), tmp_path / "bundle")
        served.fails = True
        served.service.start()
        failure = await served.service.first_failure()
        assert failure is not None
        assert failure.message == "It is damaged."
        await served.service.close()

    asyncio.run(run())


@pytest.mark.parametrize("fault", [OSError("no memory"), ValueError("no JSON")])
def test_any_fault_of_a_start_is_told_and_another_start_follows(
    tmp_path: Any, fault: Exception
) -> None:
    async def run() -> None:
        served = Served(["ko-en"], Settings(), tmp_path / "bundle")
        (model,) = served.service.models.values()
        served.fault = fault
        served.service.start()
        failure = await served.service.first_failure()
        assert failure is not None
        assert str(fault) in failure.message
        served.fault = None
        await _until(lambda: model.is_ready)
        await served.service.close()

    asyncio.run(run())


def test_an_answer_that_is_no_message_ends_the_process_and_fails_its_jobs() -> None:
    async def run() -> None:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", "input(); print('no JSON', flush=True); input()",
            stdin=PIPE, stdout=PIPE,
        )  # fmt: skip
        own = ModelProcess(process, {})
        with pytest.raises(ProcessEndedError):
            await own.translate(["가"], {})
        await own.ended
        assert process.returncode is not None
        assert not own.is_alive

    asyncio.run(run())


def test_a_full_queue_is_429_and_an_empty_one_takes_what_fits(tmp_path: Any) -> None:
    async def run() -> None:
        served = Served(["ko-en"], Settings(queue=10), tmp_path / "bundle")
        served.service.start()
        await _until(lambda: bool(served.started))
        served.started[0].hold = True
        first = asyncio.create_task(served.service.translate(["ko-en"], ["가" * 8], {}, ADA))
        await _until(lambda: bool(served.started[0].asked))
        with pytest.raises(RefusedError) as refused:
            await served.service.translate(["ko-en"], ["가" * 3], {}, ADA)
        assert refused.value.status == 429
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        assert served.started[0].given_up == 1
        (model,) = served.service.models.values()
        assert model.backlog.characters == 0
        await served.service.close()

    asyncio.run(run())


def test_terms_take_room_in_the_queue_for_each_hypothesis(tmp_path: Any) -> None:
    async def run() -> None:
        served = Served(["ko-en"], Settings(queue=30), tmp_path / "bundle")
        served.service.start()
        await _until(lambda: bool(served.started))
        served.started[0].hold = True
        (model,) = served.service.models.values()
        wish = {"terms": ["see", "you"], "n_best": 3, "beam_size": 2}
        ask = served.service.translate
        first = asyncio.create_task(ask(["ko-en"], ["가"], wish, ADA, prefixes=["I"]))
        await _until(lambda: bool(served.started[0].asked))
        assert model.backlog.characters == 1 + 3 * (6 + 1)
        with pytest.raises(RefusedError) as refused:
            await ask(["ko-en"], ["가"], wish, ADA)
        assert refused.value.status == 429
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        assert model.backlog.characters == 0
        await served.service.close()

    asyncio.run(run())


def test_health_follows_the_process(serve: Serve) -> None:
    served, client = serve()
    for path in ("/health", "/health/live", "/health/ready"):
        assert (client.get(path).status_code, client.get(path).json()) == (200, {"status": "ok"})
    assert client.request("GET", "/health", json={}).status_code == 200
    served.service.draining = True
    for path in ("/health", "/health/ready"):
        assert client.get(path).status_code == 503
    assert client.get("/health/live").status_code == 200
    refused = client.post("/translate", json=GOOD)
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "1")


def test_while_a_model_starts_requests_are_503(serve: Serve) -> None:
    served, client = serve()
    served.fails = True
    client.portal.call(served.started[0].end)  # type: ignore[union-attr]
    answer = client.post("/translate", json=GOOD)
    assert answer.status_code == 503
    assert int(answer.headers["Retry-After"]) >= 1
    assert client.get("/health/ready").status_code == 503
    assert client.get("/health/live").status_code == 200


def test_a_request_beyond_its_deadline_is_504_and_given_up(serve: Serve) -> None:
    served, client = serve(timeout=0.05)
    served.started[0].hold = True
    answer = client.post("/translate", json=GOOD)
    assert (answer.status_code, list(answer.json())) == (504, ["error"])
    assert served.started[0].given_up == 1


def test_what_a_client_that_is_gone_asked_for_is_given_up(tmp_path: Any) -> None:
    async def run() -> None:
        served = Served(["ko-en"], Settings(), tmp_path / "bundle")
        served.service.start()
        await _until(lambda: bool(served.started))
        served.started[0].hold = True
        body = b"q=a&source=ko&target=en"
        messages = iter([{"type": "http.request", "body": body, "more_body": False}])
        gone = asyncio.Event()
        statuses: list[int] = []

        async def receive() -> Any:
            for message in messages:
                return message
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/x-www-form-urlencoded")]
        scope = {
            "type": "http", "method": "POST", "path": "/translate", "raw_path": b"/translate",
            "query_string": b"", "headers": headers, "client": ("127.0.0.1", 1), "scheme": "http",
            "server": ("127.0.0.1", 8080), "http_version": "1.1", "root_path": "",
        }  # fmt: skip
        asked = asyncio.create_task(served.app(scope, receive, send))
        await _until(lambda: bool(served.started[0].asked))
        gone.set()
        await asked
        assert (served.started[0].given_up, statuses) == (1, [499])  # the deadline would be 504
        await served.service.close()

    asyncio.run(run())
