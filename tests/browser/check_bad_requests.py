"""Whatever a page, or somebody else, sends: the server says what is wrong, and goes on."""

import http.client
import json
from typing import Any
from urllib.parse import urlsplit

import pytest

WRONG: list[tuple[str, str, str | None, dict[str, str]]] = [
    ("POST", "/api/trace", "not JSON", {}),
    ("POST", "/api/trace", "{}", {}),
    ("POST", "/api/trace", '{"source": ""}', {}),
    ("POST", "/api/trace", json.dumps({"source": "가" * 100_000}), {}),
    ("POST", "/api/search", '{"source": "저는", "beam": 99}', {}),
    ("POST", "/api/search", '{"source": "저는", "beam": 1e400}', {}),
    ("POST", "/api/trace", '{"source": "저는", "edits": [{"name": "x", "kind": "zero"}]}', {}),
    ("GET", "/api/traces/none/tensors/logits", None, {}),
    ("GET", "/api/traces/none/export.html?state=%00", None, {}),
    ("GET", "/static/../models.py", None, {}),
    ("GET", "/static/%2e%2e/models.py", None, {}),
    ("DELETE", "/api/model", None, {}),
    ("GET", "/api/model", None, {"Host": "evil.example"}),
    ("POST", "/api/trace", '{"source": "저는"}', {"Origin": "https://evil.example"}),
]


@pytest.mark.parametrize(("method", "path", "body", "headers"), WRONG)
def test_a_wrong_request_is_told_what_is_wrong(
    server: str, method: str, path: str, body: str | None, headers: dict[str, str]
) -> None:
    status, answer = _ask(server, method, path, body, headers)
    assert 400 <= status < 500
    error = json.loads(answer)["error"]
    assert error["message"]
    assert "Traceback" not in answer.decode()
    assert _ask(server, "GET", "/api/model", None, {})[0] == 200


@pytest.mark.parametrize(
    "address",
    [
        "#/nowhere?l=x&h=99&t=-5&q=1e9&view=none&beam=many",
        "#/attention?src=저는 학생입니다.&l=99&h=99&t=99&q=99&k=99&view=none&tab=x&show=x",
        "#/hand?src=저는 학생입니다.&l=-9&h=-9&t=-9&q=-9&k=-9&view=none",
        "#/tree?src=저는 학생입니다.&node=100000",
        "#/tensors?src=저는 학생입니다.&name=no.such&at=head:99",
        "#/position?pos=100000&dim=100000",
        "#/lessons?lesson=99",
        "#/what-if?src=저는 학생입니다.&edits=[1",
        "#/alignment?src=저는 학생입니다.&method=none&l=99",
    ],
)
def test_a_wrong_address_is_no_blank_page(seen: Any, address: str) -> None:
    seen.page.goto(f"{seen.address}{address}")
    seen.wait()
    assert seen.page.locator("main").inner_text().strip()
    assert "NaN" not in seen.page.inner_text("body")
    # A refusal is an answer of the server, which the console lists; a fault of the page is not.
    seen.errors[:] = [line for line in seen.errors if not line.startswith("Failed to load")]


def test_a_page_says_what_the_server_refuses(seen: Any) -> None:
    page = seen.open("attention", prefix="한국말로 시작하는 번역")
    seen.errors[:] = [line for line in seen.errors if not line.startswith("Failed to load")]
    alerts = page.locator("[role=alert]")
    assert alerts.count() <= 1
    page = seen.open("attention")
    assert page.locator("[role=alert]").count() == 0


def _ask(
    server: str, method: str, path: str, body: str | None, headers: dict[str, str]
) -> tuple[int, bytes]:
    address = urlsplit(server)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=30)
    try:
        own = {"Content-Type": "application/json", **headers}
        connection.request(method, path, None if body is None else body.encode(), own)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()
