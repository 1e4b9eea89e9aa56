"""LibreTranslate's routes: how a request is read, the order of checks, and the answers."""

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st

KO_EN = {"source": "ko", "target": "en"}
Serve = Callable[..., tuple[Any, TestClient]]


def _ways() -> list[Callable[[TestClient, dict[str, Any]], httpx.Response]]:
    return [
        lambda client, fields: client.post("/translate", json=fields),
        lambda client, fields: client.post("/translate", data=fields),
        lambda client, fields: client.post("/translate", params=fields),
        lambda client, fields: client.post("/translate", data=fields, files={"other": b""}),
    ]


@pytest.mark.parametrize("send", _ways(), ids=["json", "form", "query", "multipart"])
def test_a_request_may_come_in_every_form(
    client: TestClient, send: Callable[[TestClient, dict[str, Any]], httpx.Response]
) -> None:
    one = send(client, {"q": "가나", **KO_EN})
    several = send(client, {"q": ["가나", "다라"], **KO_EN})

    assert (one.status_code, one.json()) == (200, {"translatedText": "나가"})
    assert several.json() == {"translatedText": ["나가", "라다"]}


def test_codes_are_read_without_regard_to_case_and_unknown_fields_are_ignored(
    client: TestClient,
) -> None:
    fields = {"q": "가나", "source": "KO", "target": "En", "apiKey": "x", "api_key": None}
    assert client.post("/translate", json=fields).json() == {"translatedText": "나가"}


FAULTS: list[tuple[str, Any, str]] = [
    ("q", "", "Invalid request: missing q parameter"),
    ("source", "", "Invalid request: missing source parameter"),
    ("target", "", "Invalid request: missing target parameter"),
    ("alternatives", "x", "Invalid request: alternatives parameter is not a number"),
    ("alternatives", 12, "Invalid request: alternatives parameter must be <= 10"),
    ("q", ["a"] * 4, "Invalid request: request (4) exceeds text limit (3)"),
    ("q", "a" * 21, "Invalid request: request (21) exceeds text limit (20)"),
    ("source", "zz", "zz is not supported"),
    ("target", "zz", "zz is not supported"),
    ("format", "xml", "xml format is not supported"),
    ("format", "md", "md format is not supported"),
    ("target", "ko", "Korean (ko) is not available as a target language from English (en)"),
]


@pytest.mark.parametrize("number", range(len(FAULTS)))
def test_the_first_fault_in_libretranslates_order_is_told(serve: Serve, number: int) -> None:
    _, client = serve(char_limit=20, batch_limit=3)
    fields: dict[str, Any] = {"q": "가나", "source": "en", "target": "ko"}
    later = [(name, value) for name, value, _ in FAULTS[number:]]
    for name, value in reversed(later):  # so that the earliest fault of a field stays
        fields[name] = value
    name, value, sentence = FAULTS[number]
    fields[name] = value

    answer = client.post("/translate", json=fields)

    assert (answer.status_code, answer.json()) == (400, {"error": sentence})


@pytest.mark.parametrize(
    "changed",
    [
        {"q": 7}, {"q": ["a", None]}, {"q": {"a": 1}}, {"source": 3}, {"source": ["ko"]},
        {"target": True}, {"format": 1}, {"alternatives": True},
        {"alternatives": 1.5}, {"alternatives": [1]}, {"api_key": 5}, {"q": []},
    ],
    ids=str,
)  # fmt: skip
def test_values_of_another_type_are_bad_requests(
    client: TestClient, changed: dict[str, Any]
) -> None:
    answer = client.post("/translate", json={"q": "가", **KO_EN, **changed})
    assert answer.status_code == 400
    assert list(answer.json()) == ["error"]


@pytest.mark.parametrize("body", [b"[]", b"{", b"", b'"q"', b"\xff", b"[" * 100_000])
def test_a_body_that_is_no_json_object_is_named(client: TestClient, body: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    answer = client.post("/translate", content=body, headers=headers)
    assert (answer.status_code, answer.json()) == (400, {"error": "Invalid JSON format"})


def test_json_with_another_content_type_is_a_form_without_q(client: TestClient) -> None:
    body = json.dumps({"q": "가", **KO_EN}).encode()
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        answer = client.post("/translate", content=body, headers={"Content-Type": kind})
        assert answer.status_code == 400, kind


def test_letters_may_be_written_without_percent_signs(client: TestClient) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}
    form = "q=저는+갑니다&source=ko&target=en".encode()
    answer = client.post("/translate", content=form, headers=headers)
    assert answer.json() == {"translatedText": "다니갑 는저"}
    wrong = client.post("/translate", content=b"q=%ff&source=ko&target=en", headers=headers)
    assert wrong.status_code == 400


@pytest.mark.parametrize("nothing", [None, ""])
def test_alternatives_may_be_empty(client: TestClient, nothing: str | None) -> None:
    answer = client.post("/translate", json={"q": "가나", **KO_EN, "alternatives": nothing})
    assert answer.json() == {"translatedText": "나가"}


def test_a_lone_surrogate_is_refused_and_other_characters_are_text(client: TestClient) -> None:
    headers = {"Content-Type": "application/json"}
    body = b'{"q": "\\ud800", "source": "ko", "target": "en"}'
    answer = client.post("/translate", content=body, headers=headers)
    assert answer.status_code == 400
    assert "U+D800" in answer.json()["error"]
    text = "a\x00b\u2028c"
    answer = client.post("/translate", json={"q": text, **KO_EN})
    assert answer.json() == {"translatedText": text[::-1]}


def test_only_a_form_has_the_line_ends_of_a_browser(client: TestClient) -> None:
    fields = {"q": "가\r\n나", **KO_EN}
    assert client.post("/translate", data=fields).json()["translatedText"] == "나\n가"
    assert client.post("/translate", json=fields).json()["translatedText"] == "나\n\r가"


def test_text_without_letters_and_empty_items_come_back(serve: Serve) -> None:
    served, client = serve()
    answer = client.post("/translate", json={"q": ["...", "", "가나", "🙂"], **KO_EN})
    assert answer.json() == {"translatedText": ["...", "", "나가", "🙂"]}
    assert [texts for texts, _, _ in served.started[0].asked] == [["가나"]]


def test_each_item_has_a_detection_of_its_own(client: TestClient) -> None:
    fields = {"q": ["안녕하세요", "How do you do?", "!"], "source": "auto", "target": "en"}
    answer = client.post("/translate", json=fields).json()
    assert answer["translatedText"] == ["요세하녕안", "How do you do?", "!"]
    languages = [found["language"] for found in answer["detectedLanguage"]]
    assert languages == ["ko", "en", "en"]
    confidences = [found["confidence"] for found in answer["detectedLanguage"]]
    assert all(type(confidence) is int and 0 <= confidence <= 100 for confidence in confidences)
    assert confidences[2] == 0


def test_alternatives_differ_from_the_text_and_from_each_other(client: TestClient) -> None:
    one = client.post("/translate", data={"q": "가나", **KO_EN, "alternatives": "4"}).json()
    several = client.post("/translate", json={"q": ["가나"], **KO_EN, "alternatives": 1}).json()
    none = client.post("/translate", json={"q": "가나", **KO_EN, "alternatives": -3}).json()
    assert one == {"translatedText": "나가", "alternatives": ["나가!", "나가?"]}
    assert several == {"translatedText": ["나가"], "alternatives": [["나가!"]]}
    assert none == {"translatedText": "나가"}


def test_html_is_a_document_and_has_no_alternatives(serve: Serve) -> None:
    served, client = serve()
    fields = {"q": ["<b>가</b>"], **KO_EN, "format": "html", "alternatives": 2}
    answer = client.post("/translate", json=fields).json()
    assert answer == {"translatedText": [">b/<가>b<"], "alternatives": [[]]}
    assert [wish for _, wish, _ in served.started[0].asked] == [{"form": "html"}]


def test_one_item_that_cannot_be_translated_fails_the_whole_request(client: TestClient) -> None:
    answer = client.post("/translate", json={"q": ["가", "refused"], **KO_EN})
    assert answer.status_code == 400
    assert answer.json() == {"error": "Cannot translate text: It cannot be."}


def test_a_language_between_two_models_joins_them(serve: Serve) -> None:
    _, client = serve("ko-en", "en-de", pivot="en")
    answer = client.post("/translate", json={"q": "가나", "source": "ko", "target": "de"})
    assert answer.json() == {"translatedText": "가나"}  # turned round twice
    languages = client.get("/languages").json()
    assert languages == [
        {"code": "ko", "name": "Korean", "targets": ["ko", "en", "de"]},
        {"code": "en", "name": "English", "targets": ["en", "de"]},
        {"code": "de", "name": "German", "targets": ["de"]},
    ]


def test_languages_are_read_by_get_with_a_body_too(client: TestClient) -> None:
    answer = client.request("GET", "/languages", data={"api_key": "x"})
    assert [language["code"] for language in answer.json()] == ["ko", "en"]


def test_detect_lists_the_served_languages_best_first(client: TestClient) -> None:
    assert client.post("/detect", data={"q": "안녕"}).json()[0]["language"] == "ko"
    assert client.post("/detect", json={"q": "..."}).json() == [{"confidence": 0, "language": "en"}]
    assert client.post("/detect", data={}).json() == {
        "error": "Invalid request: missing q parameter"
    }


def test_settings_have_all_keys_that_clients_read(client: TestClient) -> None:
    told = client.get("/frontend/settings").json()
    assert set(told) == {
        "apiKeys", "charLimit", "filesTranslation", "frontendTimeout", "keyRequired", "language",
        "suggestions", "supportedFilesFormat",
    }  # fmt: skip
    assert told["language"]["target"] == {"code": "en", "name": "English"}


def test_suggestions_are_disabled(client: TestClient) -> None:
    answer = client.post("/suggest", data={"q": "a"})
    assert answer.status_code == 403
    assert "disabled" in answer.json()["error"]


def test_wrong_methods_and_routes_are_named(client: TestClient) -> None:
    assert client.get("/translate").status_code == 405
    assert client.post("/languages").status_code == 405
    assert client.get("/nothing").json() == {"error": "There is no /nothing."}


def test_the_description_names_the_fields(client: TestClient) -> None:
    paths = client.get("/spec").json()["paths"]
    content = paths["/translate"]["post"]["requestBody"]["content"]
    assert set(content["application/json"]["schema"]["required"]) == {"q", "source", "target"}
    assert {"/detect", "/languages", "/health", "/frontend/settings"} <= set(paths)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)
_NAMES = st.sampled_from(
    ["q", "source", "target", "format", "alternatives", "api_key", "apiKey", "s"]
)
_CODES = st.sampled_from(["ko", "en", "auto", "zz", ""])


@settings(max_examples=300)
@given(
    fields=st.dictionaries(_NAMES, _VALUES),
    source=_CODES | st.none(),
    target=_CODES | st.none(),
    route=st.sampled_from(["/translate", "/detect", "/suggest", "/translate_file"]),
    way=st.sampled_from(["json", "form", "query"]),
)
def test_no_request_is_answered_by_500(
    hypothesis_client: TestClient,
    fields: dict[str, Any],
    source: str | None,
    target: str | None,
    route: str,
    way: str,
) -> None:
    fields |= {} if source is None else {"source": source}
    fields |= {} if target is None else {"target": target}
    if way == "json":
        headers = {"Content-Type": "application/json"}
        body = json.dumps(fields).encode()
        answer = hypothesis_client.post(route, content=body, headers=headers)
    else:
        plain = {name: str(value).encode("utf-8", "replace") for name, value in fields.items()}
        named = {"data": plain} if way == "form" else {"params": plain}
        answer = hypothesis_client.post(route, **named)
    assert answer.status_code in (200, 400, 403)
    assert answer.status_code == 200 or list(answer.json()) == ["error"]


@settings(max_examples=200)
@given(
    body=st.binary(max_size=200),
    kind=st.sampled_from([
        "application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
        "multipart/form-data", "text/plain", "application/json; charset=utf-16", "", "x/" * 40,
        "multipart/form-data; boundary=x; charset=nonsense",
    ]),
)  # fmt: skip
def test_no_bytes_are_answered_by_500(
    hypothesis_client: TestClient, body: bytes, kind: str
) -> None:
    headers = {"Content-Type": kind}
    answer = hypothesis_client.post("/translate", content=body, headers=headers)
    assert answer.status_code == 400


def test_a_full_queue_refuses_before_work_begins_and_text_without_words_passes(
    serve: Serve,
) -> None:
    served, client = serve()
    served.service.models["ko-en"].backlog.add(200_000)
    request = {"q": ["가나", "다"], "source": "ko", "target": "en"}
    full = client.post("/translate", json=request)
    assert (full.status_code, full.json()) == (429, {"error": "Slowdown: the queue is full"})
    assert "Retry-After" in full.headers
    assert client.post("/translate", json={**request, "source": "auto"}).status_code == 429
    assert client.post("/translate", json={**request, "target": "xx"}).status_code == 400
    assert client.post("/translate", json={**request, "q": "…"}).json() == {"translatedText": "…"}
    assert not served.started[0].asked
