"""Whatever is sent, the answer is one sentence in JSON, and the server goes on."""

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

from headway.serving.app import create_app
from headway.serving.models import Served

SOURCE = "나는 너를 본다 ."
OWN = "http://127.0.0.1:8080"


def _refused(client: TestClient, answer: Any, status: int) -> dict[str, str]:
    assert answer.status_code == status
    error = json.loads(answer.content)["error"]
    assert error["message"].endswith((".", ")."))
    assert "Traceback" not in answer.text
    assert "\n" not in error["message"] + error["remedy"]
    assert client.post("/api/search", json={"source": SOURCE}).status_code == 200
    return error


@pytest.mark.parametrize("path", ["/api/translate", "/api/search", "/api/trace"])
@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"source": ""}, 400, "blank"),
        ({"source": " \n\u3000 "}, 400, "blank"),
        ({"source": "a" * 2001}, 413, "2,001 characters"),
        ({"source": "a" * 100_000}, 413, "65,536 bytes"),
        ({"source": "너" * 1900}, 400, "tokens"),
        ({"source": SOURCE, "beam": 64}, 422, "'beam' is 64, but must be at most 8."),
        ({"source": SOURCE, "beam": 0}, 422, "at least 1"),
        ({"source": SOURCE, "beam": True}, 422, "whole number"),
        ({"source": SOURCE, "beam": "2"}, 422, "'beam' is '2', but must be a whole number."),
        ({"source": SOURCE, "length_penalty": -1}, 422, "at least 0"),
        ({"source": SOURCE, "max_length": 0}, 422, "at least 1"),
        ({"source": 5}, 422, "'source' is 5, but must be text."),
        ({"source": None}, 422, "must be text"),
        ({}, 422, "'source' is missing."),
        ([SOURCE], 422, "not a JSON object"),
        ("text", 422, "not a JSON object"),
        (None, 422, "missing"),
        ({"source": SOURCE, "bem": 4}, 422, "There is no field 'bem'."),
        ({"source": SOURCE, "model": "big"}, 404, "no model 'big'"),
        ({"source": SOURCE, "prefix": "⌘"}, 400, "does not know"),
        ({"source": SOURCE, "prefix": "a" * 2001}, 413, "characters"),
        ({"source": SOURCE, "edits": [{"name": "x"}]}, 422, "'edits.0.kind' is missing."),
        ({"source": SOURCE, "edits": [{"name": "x", "kind": "cut"}]}, 422, "'zero', 'replace'"),
        ({"source": SOURCE, "edits": [{"name": "logits", "kind": "allow"}]}, 400, "for masks"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_bad_sentences(client: TestClient, path: str, body: Any, status: int, message: str) -> None:
    if path == "/api/translate" and message == "for masks":
        return  # known only once it runs: an event
    error = _refused(client, client.post(path, json=body), status)
    assert message in error["message"]


@pytest.mark.parametrize(
    "body",
    [b"{", b"\xff\xfe{", b"[" * 50_000, b'{"source": ' + b"9" * 5000 + b"}", b'{"source"}'],
    ids=["cut", "not UTF-8", "deep", "long number", "no value"],
)
def test_a_body_that_is_no_json(client: TestClient, body: bytes) -> None:
    headers = {"content-type": "application/json"}
    answer = client.post("/api/search", content=body, headers=headers)
    assert _refused(client, answer, 422)["message"] == "The body is not a JSON object."


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"beam": 2, "sampling": {}}, "the beam is 2"),
        ({"sampling": {"temperature": 0}}, "above 0"),
        ({"sampling": {"top_p": 2}}, "at most 1"),
        ({"sampling": {"seed": -1}}, "at least 0"),
        ({"sampling": 3}, "'sampling' is 3"),
    ],
    ids=str,
)
def test_bad_samples(client: TestClient, body: Any, message: str) -> None:
    answer = client.post("/api/search", json={"source": SOURCE, **body})
    assert message in _refused(client, answer, answer.status_code)["message"]
    assert answer.status_code in (400, 422)


@pytest.mark.parametrize(
    "body", [b"", b"{", b"\xff\xfe", b'{"source": NaN}', b"[" * 9000,
             b'{"source": "\\ud800", "x": 1}',
             b'{"source": "a", "length_penalty": NaN}', b'{"source": "a", "length_penalty": 1e999}',
             b"9" * 5000]
)  # fmt: skip
def test_bad_bytes(client: TestClient, body: bytes) -> None:
    answer = client.post("/api/search", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)
    _refused(client, answer, answer.status_code)


def test_another_content_type(client: TestClient) -> None:
    body = b'{"source": "a"}'
    for header in ("text/plain", "application/x-www-form-urlencoded"):
        answer = client.post("/api/search", content=body, headers={"Content-Type": header})
        assert (
            "the header Content-Type: application/json" in _refused(client, answer, 422)["remedy"]
        )


def test_half_a_character_is_answered(client: TestClient) -> None:
    body = b'{"source": "a\\ud800", "target": "\\udfff"}'
    for path in ("/api/search", "/api/trace"):
        answer = client.post(path, content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code in (200, 400, 422)
        json.loads(answer.content)


@pytest.mark.parametrize("path", ["/nothing", "/api", "/api/traces/0/nothing", "/api//model"])
def test_unknown_routes(client: TestClient, path: str) -> None:
    assert path in _refused(client, client.get(path), 404)["message"]


def test_the_wrong_method(client: TestClient) -> None:
    answer = client.get("/api/search")
    assert _refused(client, answer, 405)["remedy"] == "Use POST."
    assert answer.headers["allow"] == "POST"
    _refused(client, client.delete("/api/models"), 405)


@pytest.mark.parametrize(
    "what", ["tensors/logits", "statistics/logits", "explain/logits", "lens", "align",
             "download/logits.npy", "export.json", "export.svg"]
)  # fmt: skip
def test_unknown_traces(client: TestClient, what: str) -> None:
    error = _refused(client, client.get(f"/api/traces/{'0' * 32}/{what}"), 404)
    assert error["remedy"].startswith("Ask for it again")


@pytest.mark.parametrize(
    "what", ["tensors/logit", "tensors/logits?head=0", "tensors/logits?self=0",
             "tensors/logits?target=99", "tensors/logits?target=--1", "tensors/logits?target=²",
             "tensors/logits?vocabulary=" + "9" * 6000, "tensors/*", "statistics/x",
             "explain/logits", "explain/logits?target=0&vocabulary=0&language=fr",
             "explain/decoder.layers.*.cross_attention.weights?layer=0&head=0&query=0&key=0",
             "explain/nothing?target=0"]
)  # fmt: skip
def test_unknown_names_and_places(client: TestClient, traced: dict[str, Any], what: str) -> None:
    answer = client.get(f"/api/traces/{traced['id']}/{what}")
    _refused(client, answer, 400)


@pytest.mark.parametrize("host", ["evil.com", "127.0.0.1.evil.com", "evil.com:8080", "", "a@b",
                                  "127.0.0.1:x", "localhost/x", "192.168.0.7"])  # fmt: skip
def test_foreign_hosts(client: TestClient, host: str) -> None:
    error = _refused(client, client.get("/api/models", headers={"Host": host}), 421)
    assert "is not this server" in error["message"]


@pytest.mark.parametrize("host", ["localhost", "localhost:9", "LOCALHOST", "127.0.0.1:8080",
                                  "[::1]:8080", "[::1]"])  # fmt: skip
def test_own_hosts(client: TestClient, host: str) -> None:
    assert client.get("/api/models", headers={"Host": host}).status_code == 200


def test_the_chosen_host(served: Served) -> None:
    with TestClient(create_app([served], host="big.example"), base_url="http://big.example") as own:
        assert own.get("/api/models").status_code == 200
        assert own.get("/api/models", headers={"Host": "other.example"}).status_code == 421
    with TestClient(create_app([served], host="0.0.0.0"), base_url="http://192.168.0.7") as own:
        assert own.get("/api/models").status_code == 200
        assert own.get("/api/models", headers={"Host": "evil.com"}).status_code == 421


@pytest.mark.parametrize("origin", ["http://evil.com", "null", "http://127.0.0.1:81"])
def test_foreign_origins(client: TestClient, origin: str) -> None:
    answer = client.post("/api/search", json={"source": SOURCE}, headers={"Origin": origin})
    _refused(client, answer, 403)


def test_the_own_origin(client: TestClient) -> None:
    answer = client.get("/api/models", headers={"Origin": "http://127.0.0.1:8080"})
    assert answer.status_code == 200


def test_every_answer_has_the_headers(client: TestClient) -> None:
    for path in ("/", "/api/models", "/nothing", "/api/position"):
        answer = client.get(path)
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-cache"


def test_a_fault_has_the_headers_too(
    served: Served, pre_norm: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise ZeroDivisionError("by chance")

    monkeypatch.setattr("headway.serving.models.suggest", fail)
    app = create_app([served, pre_norm])
    with TestClient(app, base_url=OWN, raise_server_exceptions=False) as own:
        answer = own.get("/api/model", params={"model": "big"})
        assert answer.status_code == 500
        assert "by chance" in answer.json()["error"]["message"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-cache"


_ZERO = {"name": "decoder.layers.0.cross_attention.heads", "kind": "zero"}


@pytest.mark.parametrize(
    ("method", "path", "body", "code"),
    [
        ("POST", "search", {"source": " "}, "blank"),
        ("POST", "search", {"source": "a" * 2001}, "too-long"),
        ("POST", "search", {"source": "a" * 100_000}, "too-long"),
        ("POST", "search", {"source": "너" * 1900}, "too-long"),
        ("POST", "search", {"source": SOURCE, "prefix": "⌘"}, "prefix"),
        ("POST", "search", {"source": SOURCE, "prefix": 3}, "prefix"),
        ("POST", "search", {"source": SOURCE, "beam": 64}, "beam"),
        ("POST", "search", {"source": SOURCE, "beam": 2, "sampling": {}}, "beam"),
        ("POST", "search", {"source": SOURCE, "edits": [{**_ZERO, "name": "x"}]}, "edit"),
        ("POST", "search", {"source": SOURCE, "edits": [{**_ZERO, "where": {"query": 0}}]}, "edit"),
        ("POST", "search", {"source": SOURCE, "edits": [{**_ZERO, "where": {"head": 9}}]}, "edit"),
        ("POST", "trace", {"source": SOURCE, "edits": [{**_ZERO, "where": {"head": 9}}]}, "edit"),
        ("POST", "trace", {"source": SOURCE, "edits": [{**_ZERO, "kind": "cut"}]}, "edit"),
        ("POST", "trace", {"source": SOURCE, "edits": [{**_ZERO, "value": 1.0}]}, "edit"),
        (
            "POST", "trace",
            {"source": SOURCE, "edits": [{**_ZERO, "kind": "replace", "trace": "0"}]},
            "trace-gone",
        ),
        ("GET", "traces/0/lens", None, "trace-gone"),
        ("GET", "{own}/tensors/nothing", None, "tensor"),
        ("GET", "{own}/tensors/logits?target=99", None, "tensor"),
        ("GET", "{own}/explain/logits", None, "tensor"),
        ("POST", "{own}/align_error", {"gold": "one"}, "gold"),
        ("POST", "{own}/align_error", {"gold": "9-9"}, "gold"),
        ("POST", "{own}/align_error", {"gold": 3}, "gold"),
        ("POST", "{own}/align_error", {"gold": ""}, "gold"),
        ("POST", "{own}/align_error", {"gold": f"{'9' * 5000}-1"}, "gold"),
        ("POST", "trace", {"source": SOURCE, "target": ["I", "</s>"]}, "other"),
        ("POST", "{own}/compare", {"other": "0"}, "trace-gone"),
        ("POST", "search", {"source": SOURCE, "model": "big"}, "other"),
        ("POST", "search", {}, "other"),
        ("GET", "nothing", None, "other"),
        ("GET", "search", None, "other"),
    ],
)  # fmt: skip
def test_errors_have_a_code(
    client: TestClient, traced: dict[str, Any], method: str, path: str, body: Any, code: str
) -> None:
    path = path.format(own=f"traces/{traced['id']}")
    answer = client.request(method, f"/api/{path}", json=body)
    assert answer.status_code >= 400
    assert answer.json()["error"]["code"] == code


def test_an_event_of_an_error_has_a_code(client: TestClient) -> None:
    body = {"source": SOURCE, "edits": [{**_ZERO, "where": {"head": 9}}]}
    answer = client.post("/api/translate", json=body)
    data = answer.text.partition("event: error\ndata: ")[2].partition("\n")[0]
    assert json.loads(data)["error"]["code"] == "edit"
