"""A service over processes that are replaced by one that turns texts round."""

import asyncio
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from headway.errors import BundleError
from headway.service.app import create_app
from headway.service.backlog import Backlog
from headway.service.languages import parse_direction
from headway.service.model_process import Item, ProcessEndedError
from headway.service.served_model import ServedModel
from headway.service.service import Service
from headway.service.settings import Settings

OWN = "http://127.0.0.1:8080"


class Reverser:
    """Answers like a `ModelProcess`: the text backwards, then with marks as alternatives."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self.arguments = list(arguments)
        self.facts = {"checksum": "c" * 64, "source_language": "ko", "target_language": "en"}
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.asked: list[tuple[list[str], Mapping[str, Any], str]] = []
        self.given_up = 0
        self.hold = False

    @property
    def is_alive(self) -> bool:
        return not self.ended.done()

    async def translate(
        self,
        texts: Sequence[str],
        wish: Mapping[str, Any],
        *,
        client: str = "",
        prefixes: Sequence[str] | None = None,
        each: Callable[[int, Item], None] = lambda place, item: None,
        part: Callable[[int, str], None] = lambda place, text: None,
    ) -> list[Item]:
        if not self.is_alive:
            raise ProcessEndedError("It has ended.")
        self.asked.append((list(texts), wish, client))
        items = [_item(text, wish.get("n_best", 1)) for text in texts]
        if wish.get("file"):
            items = [_file(text) for text in texts]
        try:
            if self.hold:
                await self.ended
                raise ProcessEndedError("It has ended.")
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            self.given_up += 1
            raise
        for place, item in enumerate(items):
            if wish.get("parts"):
                part(place, texts[place][::-1])
            each(place, item)
        return items

    async def measure(self) -> dict[str, int]:
        return {"waiting": 3, "at_work": 5, "slots": 7}

    async def close(self) -> None:
        self.end()

    def end(self) -> None:
        if not self.ended.done():
            self.ended.set_result(None)


def _file(text: str) -> Item:
    content = b64decode(text)
    if b"refused" in content:
        return _item("refused", 1)
    answer = b64encode(content.decode("utf-8", "replace")[::-1].encode()).decode()
    flags = ["empty", "split"] if b"no translation" in content else ["split"]
    translation = {"text": answer, "hypotheses": [{"text": answer}], "flags": flags}
    return {"translation": translation, "pieces": 1}


def _item(text: str, n_best: int) -> Item:
    if "refused" in text:
        return {"error": {"message": "It cannot be.", "remedy": "Change it.", "fault": False}}
    best = text[::-1]
    texts = [best, f"{best}!", f"{best}!", "", f"{best}?"][:n_best]
    hypotheses = [{"text": text, "score": -float(n)} for n, text in enumerate(texts)]
    return {
        "translation": {
            **hypotheses[0], "hypotheses": hypotheses, "num_parts": 2,
            "flags": ["split", "cut"] if "cut" in text else [],
        },
        "pieces": len(text),
    }  # fmt: skip


class Served:
    """A service with its client, and the processes that it has started."""

    def __init__(self, directions: Sequence[str], settings: Settings, path: Path) -> None:
        self.started: list[Reverser] = []
        self.fails = False
        self.fault: Exception | None = None
        self.path = path
        models = [
            ServedModel(
                name, path, parse_direction(name), ["--device", "cpu"],
                Backlog(settings.queue, settings.timeout / 2, lambda: 0.0), self.start,
            )
            for name in directions
        ]  # fmt: skip
        self.service = Service(models, settings)
        self.app = create_app(self.service)

    async def start(self, arguments: Sequence[str]) -> Any:
        if self.fails:
            raise BundleError("It is damaged.", "Write it again.")
        if self.fault is not None:
            raise self.fault
        self.started.append(Reverser(arguments))
        return self.started[-1]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., tuple[Served, TestClient]]]:
    """Return a function that starts a service with directions and settings."""
    clients: list[TestClient] = []

    def start(*directions: str, **settings: Any) -> tuple[Served, TestClient]:
        served = Served(directions or ("ko-en",), Settings(**settings), tmp_path / "bundle")
        client = TestClient(served.app, base_url=OWN, raise_server_exceptions=False)
        client.__enter__()
        clients.append(client)
        return served, client

    yield start
    for client in clients:
        client.__exit__(None, None, None)


@pytest.fixture
def client(serve: Callable[..., tuple[Served, TestClient]]) -> TestClient:
    """Return the client of a service from Korean to English."""
    return serve()[1]


@pytest.fixture(scope="module")
def hypothesis_client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Return one client for all examples of a test; it raises what would be a 500."""
    served = Served(["ko-en"], Settings(), tmp_path_factory.mktemp("served") / "bundle")
    with TestClient(served.app, base_url=OWN) as own:
        yield own
