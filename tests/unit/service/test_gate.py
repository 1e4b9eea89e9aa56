"""What is refused before a route is chosen: foreign hosts and origins, large bodies; and errors."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

Serve = Callable[..., tuple[Any, TestClient]]
GOOD = {"q": "가나", "source": "ko", "target": "en"}


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "a@127.0.0.1", ""])
def test_a_foreign_host_is_refused(client: TestClient, host: str) -> None:
    answer = client.post("/translate", json=GOOD, headers={"Host": host})
    assert answer.status_code == 421
    assert list(answer.json()) == ["error"]


@pytest.mark.parametrize("path", ["/api/trace", "/v1/translate"])
def test_refusals_have_the_form_of_their_routes(client: TestClient, path: str) -> None:
    answer = client.post(path, json=GOOD, headers={"Host": "evil.example"})
    assert (answer.status_code, set(answer.json()["error"])) == (421, {"code", "message", "remedy"})


def test_the_names_of_the_settings_are_own_hosts(serve: Serve) -> None:
    _, client = serve(hosts=["Translate.example"])
    headers = {"Host": "translate.example:8080"}
    assert client.post("/translate", json=GOOD, headers=headers).status_code == 200


def test_a_page_of_another_site_may_ask_only_if_it_is_named(serve: Serve) -> None:
    _, closed = serve()
    _, opened = serve(cors=["https://a.example"])
    for origin, statuses in (("https://a.example", (403, 200)), ("https://b.example", (403, 403))):
        headers = {"Origin": origin}
        answers = [c.post("/translate", json=GOOD, headers=headers) for c in (closed, opened)]
        assert tuple(answer.status_code for answer in answers) == statuses
    allowed = opened.post("/translate", json=GOOD, headers={"Origin": "https://a.example"})
    assert allowed.headers["Access-Control-Allow-Origin"] == "https://a.example"
    assert "Access-Control-Allow-Credentials" not in allowed.headers


def test_a_body_over_the_limit_is_refused_with_its_length_and_in_chunks(serve: Serve) -> None:
    _, client = serve(body_limit=1000)

    def chunks() -> Iterator[bytes]:
        for _ in range(101):
            yield b"q=1234567890"

    for content in (b"q" * 1001, chunks()):
        answer = client.post("/translate", content=content)
        assert (answer.status_code, list(answer.json())) == (413, ["error"])
    assert client.post("/translate", data=GOOD).status_code == 200


def test_a_form_field_may_be_as_large_as_the_body(serve: Serve) -> None:
    served, client = serve(queue=3_000_000)
    text = "가" * 600_000  # 1.8 MB; Starlette's own limit is 1 MB
    answer = client.post("/translate", data={**GOOD, "q": text}, files={"x": b""})
    assert answer.status_code == 200
    assert len(served.started[0].asked[0][0][0]) == 600_000
