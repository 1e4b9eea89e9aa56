"""Strange requests: none is a fault, and each answer is one that `/spec` describes."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given, settings
from tests.clients.strange import Strange, strange_requests

Serve = Callable[..., tuple[Any, TestClient]]
KO_EN = {"source": "ko", "target": "en"}


def _described(client: TestClient, method: str, path: str) -> dict[str, Any] | None:
    """Return the answers to a request that the description names; None if it does not name it."""
    for route, methods in client.app.openapi()["paths"].items():  # type: ignore[attr-defined]
        pattern = re.sub(r"\\\{\w+\\\}", ".+", re.escape(route))
        if re.fullmatch(pattern, path.partition("?")[0]) and method.lower() in methods:
            return methods[method.lower()]["responses"]
    return None


# Starlette leaves the file of a form that has no end to the collector of garbage.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@settings(max_examples=300, deadline=None)
@given(strange_requests())
def test_no_strange_request_is_a_fault(hypothesis_client: TestClient, asked: Strange) -> None:
    """The client raises what would be a 500."""
    answer = hypothesis_client.request(
        asked.method, f"{hypothesis_client.base_url}{asked.path}",
        content=asked.body, headers=asked.headers, follow_redirects=False,
    )  # fmt: skip
    answers = _described(hypothesis_client, asked.method, asked.path)
    if answers is not None:
        assert str(answer.status_code) in answers
    elif asked.method != "HEAD" and answer.status_code >= 400:
        assert set(answer.json()) == {"error"}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/translate", {"q": "가나", **KO_EN}),
        ("POST", "/translate", {"q": ["가나"], "alternatives": 2, **KO_EN, "source": "auto"}),
        ("POST", "/translate", {"q": "가나"}),
        ("POST", "/detect", {"q": "가나"}),
        ("GET", "/languages", None),
        ("GET", "/frontend/settings", None),
        ("POST", "/suggest", {"q": "가나"}),
        ("GET", "/v1/models", None),
        ("POST", "/v1/translate", {"texts": ["가나", "refused"], **KO_EN}),
        ("POST", "/v1/translate", {"texts": []}),
        ("GET", "/health", None),
        ("GET", "/download_file/x", None),
    ],
)
def test_an_answer_has_the_fields_that_the_description_names(
    client: TestClient, method: str, path: str, body: dict[str, Any] | None
) -> None:
    answer = client.request(method, path, json=body)
    answers = _described(client, method, path)
    assert answers is not None
    content = answers[str(answer.status_code)]["content"]
    assert answer.headers["Content-Type"] in content
    assert _fits(answer.json(), content["application/json"]["schema"])


_TYPES = {
    "object": dict, "array": list, "string": str, "boolean": bool, "integer": int,
    "null": type(None),
}  # fmt: skip


def _fits(value: Any, schema: dict[str, Any]) -> bool:
    """Compare names and types, also within objects and lists."""
    if "oneOf" in schema:
        return sum(_fits(value, each) for each in schema["oneOf"]) == 1
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not isinstance(value, tuple(_TYPES[kind] for kind in kinds)):
        return False
    if isinstance(value, dict):
        inner = {n: each for n, each in schema["properties"].items() if n in value}
        return inner.keys() >= set(schema["required"]) and all(
            _fits(value[name], each) for name, each in inner.items()
        )
    return not isinstance(value, list) or all(_fits(each, schema["items"]) for each in value)


def test_the_description_has_no_answer_that_is_not_given(client: TestClient) -> None:
    described = client.get("/spec").json()
    assert "HTTPValidationError" not in described["components"]["schemas"]
    for methods in described["paths"].values():
        for operation in methods.values():
            content = operation["responses"]["200"].get("content", {})
            assert all(each["schema"] for each in content.values()) or "suggest" in str(operation)
