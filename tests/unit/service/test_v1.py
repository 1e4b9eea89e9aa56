"""Headway's own routes: items that are answered or refused alone, fields, and events."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st

Serve = Callable[..., tuple[Any, TestClient]]
KO_EN = {"source": "ko", "target": "en"}


def test_each_text_has_an_item_and_a_bad_one_fails_alone(client: TestClient) -> None:
    body = {"texts": ["가나", "refused", "cut", "..."], **KO_EN}
    answer = client.post("/v1/translate", json=body)
    assert answer.status_code == 200
    told = answer.json()
    assert told["model"] is None  # the last text needed none
    first, second, third, fourth = told["translations"]
    assert (first["text"], first["flags"], first["num_parts"]) == ("나가", [], 2)
    assert second == {
        "error": {"message": "It cannot be.", "remedy": "Change it.", "code": "refused"}
    }
    assert third["flags"] == ["split", "cut"]
    assert fourth == {"text": "...", "flags": ["copied"]}


def test_the_wish_has_what_differs_from_the_defaults(serve: Serve) -> None:
    served, client = serve()
    body = {
        "texts": ["가", "나"], "model": "ko-en", "n_best": 2, "beam": 5, "terms": ["a"],
        "banned": ["b"], "glossary": {"가": "x"}, "alignments": True, "split": "none",
        "prefix": "The",
    }  # fmt: skip
    html = {"texts": ["<b>가</b>"], **KO_EN, "format": "html", "keep": ["가"]}
    answer = client.post("/v1/translate", json=body)
    assert answer.status_code == 200
    assert answer.json()["model"] == {"name": "ko-en", "checksum": "c" * 64}
    assert served.started[0].asked[0][1] == {
        "n_best": 2, "beam_size": 5, "terms": ["a"], "banned": ["b"], "glossary": {"가": "x"},
        "alignments": True, "split_sentences": False,
    }  # fmt: skip
    client.post("/v1/translate", json={"texts": ["가"], **KO_EN})
    client.post("/v1/translate", json=html)
    assert [wish for _, wish, _ in served.started[0].asked[1:]] == [
        {}, {"form": "html", "keep": ["가"]},
    ]  # fmt: skip


def test_auto_detects_each_text(client: TestClient) -> None:
    body = {"texts": ["안녕하세요", "How do you do?"], "source": "auto", "target": "en"}
    items = client.post("/v1/translate", json=body).json()["translations"]
    assert [item["detected"]["language"] for item in items] == ["ko", "en"]
    assert (items[0]["text"], items[1]["flags"]) == ("요세하녕안", ["copied"])


def test_auto_into_a_language_that_no_model_writes_is_refused(client: TestClient) -> None:
    body = {"texts": ["Hello my friend"], "source": "auto", "target": "ko"}
    answer = client.post("/v1/translate", json=body)
    assert answer.status_code == 400
    assert "not available as a target" in answer.json()["error"]["message"]


BAD: list[tuple[dict[str, Any], int]] = [
    ({"texts": []}, 422),
    ({"texts": "가"}, 422),
    ({"texts": ["가"], "unknown": 1}, 422),
    ({"texts": ["가"], "n_best": 0}, 422),
    ({"texts": ["가"], "beam": 33}, 422),
    ({"texts": ["가"], "format": "xml"}, 422),
    ({"texts": ["가"], "format": "srt"}, 422),
    ({"texts": ["가", "나"], "prefix": ["a"]}, 422),
    ({"texts": ["가"], "timeout_s": 0}, 422),
    ({"texts": ["가"], "format": "html", "terms": ["a"]}, 422),
    ({"texts": ["가"], "keep": ["a"]}, 422),
    ({"texts": ["가"], "source": None}, 422),
    ({"texts": ["가"], "model": "ko-en"}, 422),
    ({"texts": ["가"], "source": None, "target": None, "model": "other"}, 404),
    ({"texts": ["가"], "source": "zz"}, 400),
    ({"texts": ["가" * 21]}, 400),
    ({"texts": ["가"] * 4}, 400),
    ({"texts": ["가"], "terms": ["a" * 250, "b" * 251]}, 422),
    ({"texts": ["가", "나"], "terms": ["a" * 250], "prefix": ["", "b" * 251]}, 422),
    ({"texts": ["가"] * 3, "terms": ["a" * 200], "beam": 2}, 400),
]


@pytest.mark.parametrize(("changed", "status"), BAD, ids=[str(changed) for changed, _ in BAD])
def test_a_bad_request_has_a_sentence_a_remedy_and_a_code(
    serve: Serve, changed: dict[str, Any], status: int
) -> None:
    _, client = serve(char_limit=20, batch_limit=3, queue=1000)
    answer = client.post("/v1/translate", json={**KO_EN, **changed})
    assert answer.status_code == status
    assert set(answer.json()["error"]) == {"message", "remedy", "code"}


def test_two_models_in_a_row_keep_a_refused_item_apart(serve: Serve) -> None:
    _, client = serve("ko-en", "en-de", pivot="en")
    body = {"texts": ["가나", "refused", "다라"], "source": "ko", "target": "de"}
    items = client.post("/v1/translate", json=body).json()["translations"]
    assert [item.get("text") for item in items] == ["가나", None, "다라"]
    assert items[1]["error"]["code"] == "refused"
    refused = client.post("/v1/translate", json={**body, "glossary": {"a": "b"}})
    assert refused.status_code == 422


def test_more_texts_than_the_default_limit_are_refused(client: TestClient) -> None:
    for count, status in ((1000, 200), (1001, 400)):
        answer = client.post("/v1/translate", json={"texts": ["가"] * count, **KO_EN})
        assert answer.status_code == status


def test_both_models_in_a_row_keep_texts_and_the_division_into_sentences(serve: Serve) -> None:
    served, client = serve("ko-en", "en-de", pivot="en")
    body = {"texts": ["가나"], "source": "ko", "target": "de", "split": "none", "beam": 3}
    client.post("/v1/translate", json={**body, "format": "text", "keep": ["가"]})
    first, second = (wish for process in served.started for _, wish, _ in process.asked)
    assert first == {"form": "text", "keep": ["가"], "split_sentences": False}
    assert second == {**first, "beam_size": 3}


def test_a_missing_key_is_401_and_a_wrong_one_403(serve: Serve, tmp_path: Path) -> None:
    keys = tmp_path / "keys.txt"
    keys.write_text("k-1 Ada\n")
    _, client = serve(api_keys=keys, require_key=True)
    body = {"texts": ["가"], **KO_EN}
    assert client.post("/v1/translate", json=body).status_code == 401
    assert client.post("/v1/translate", json={**body, "api_key": "no"}).status_code == 403
    headers = {"Authorization": "Bearer k-1"}
    assert client.post("/v1/translate", json=body, headers=headers).status_code == 200
    assert client.get("/metrics").status_code == 400
    assert client.get("/metrics", headers=headers).status_code == 200
    assert client.get("/v1/models").status_code == 401
    assert client.get("/v1/models", headers={"Authorization": "Bearer no"}).status_code == 403
    assert client.get("/v1/models", headers=headers).status_code == 200


def test_events_come_for_each_text_and_at_the_end(serve: Serve) -> None:
    served, client = serve()
    headers = {"Accept": "text/event-stream"}
    body = {"texts": ["가나", "다"], **KO_EN}
    events = _events(client.post("/v1/translate", json=body, headers=headers).text)
    assert [kind for kind, _ in events] == ["text", "item", "text", "item", "end"]
    for kind in ("text", "item"):
        told = {content["item"]: content["text"] for own, content in events if own == kind}
        assert told == {0: "나가", 1: "다"}
    served.started[0].hold = True
    late = client.post("/v1/translate", json={**body, "timeout_s": 0.05}, headers=headers)
    ((kind, content),) = _events(late.text)
    assert kind == "error"
    assert "0.05 seconds" in content["error"]["message"]


def test_parts_have_the_place_of_their_text_behind_two_models(serve: Serve) -> None:
    served, client = serve("ko-en", "en-de", pivot="en")
    body = {"texts": ["refused", "..", "가나"], "source": "ko", "target": "de"}
    headers = {"Accept": "text/event-stream"}
    events = _events(client.post("/v1/translate", json=body, headers=headers).text)
    assert [content for kind, content in events if kind == "text"] == [{"item": 2, "text": "가나"}]
    assert [process.asked[0][1] for process in served.started] == [{}, {"parts": True}]


def _events(text: str) -> list[tuple[str, Any]]:
    blocks = [block.split("\n") for block in text.split("\n\n") if block]
    return [
        (kind.removeprefix("event: "), json.loads(data.removeprefix("data: ")))
        for kind, data in blocks
    ]


def test_models_are_described(client: TestClient) -> None:
    (model,) = client.get("/v1/models").json()["models"]
    assert model["name"] == "ko-en"
    assert (model["source"], model["target"], model["ready"]) == ("ko", "en", True)
    assert model["checksum"] == "c" * 64


def test_unknown_routes_and_methods_have_the_same_shape(client: TestClient) -> None:
    assert set(client.get("/v1/translate").json()["error"]) == {"message", "remedy", "code"}
    assert set(client.get("/v1/none").json()["error"]) == {"message", "remedy", "code"}


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)
_FIELDS = st.dictionaries(
    st.sampled_from([
        "texts", "source", "target", "model", "format", "n_best", "beam", "prefix", "terms",
        "banned", "glossary", "alignments", "split", "timeout_s", "api_key",
    ]),
    _VALUES,
    max_size=4,
)  # fmt: skip


@settings(max_examples=200)
@given(_FIELDS, st.lists(st.text(max_size=5), max_size=3), st.sampled_from(["ko", "auto", "en"]))
def test_no_request_is_answered_by_500(
    hypothesis_client: TestClient, fields: dict[str, Any], texts: list[str], source: str
) -> None:
    body = json.dumps({"texts": texts, "source": source, "target": "en"} | fields).encode()
    headers = {"Content-Type": "application/json"}
    answer = hypothesis_client.post("/v1/translate", content=body, headers=headers)
    assert answer.status_code in (200, 400, 404, 422)


def test_measurements_name_routes_statuses_and_models_alone(serve: Serve) -> None:
    _, client = serve()
    client.post("/translate", json={"q": "secret", **KO_EN, "api_key": "secret"})
    client.post("/translate", json={})
    client.get("/secret")
    client.post("/translate", content=b"", headers={"Host": "secret"})
    text = client.get("/metrics").text
    for line in (
        'headway_requests_total{route="/translate",status="200"} 1.0',
        'headway_requests_total{route="/translate",status="400"} 1.0',
        'headway_requests_total{route="other",status="404"} 1.0',
        'headway_requests_total{route="other",status="421"} 1.0',
        'headway_texts_total{model="ko-en"} 1.0',
        'headway_target_tokens_total{model="ko-en"} 6.0',
        'headway_sentences_at_work{model="ko-en"} 5.0',
        'headway_ready{model="ko-en"} 1.0',
    ):
        assert line in text.splitlines()
    assert "secret" not in text
