"""Files: translated whole or refused, kept for half an hour, and named without paths."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient

from headway.service.files import _BYTES, Files

Serve = Callable[..., tuple[Any, TestClient]]
KO_EN = {"source": "ko", "target": "en"}


def _send(
    client: TestClient, name: str = "a.txt", content: bytes = b"", **changed: str
) -> httpx.Response:
    files = {"file": (name, content or "가나".encode())}
    return client.post("/translate_file", data={**KO_EN, **changed}, files=files)


def test_a_file_comes_back_at_an_absolute_address_with_its_name(serve: Serve) -> None:
    served, client = serve()
    answer = _send(client, "내 글.v2.txt")
    assert answer.status_code == 200
    address = answer.json()["translatedFileUrl"]
    assert address.startswith("http://127.0.0.1:8080/download_file/")
    assert address.endswith("%EB%82%B4%20%EA%B8%80.v2.txt")
    found = client.get(address)
    assert (found.status_code, found.content.decode()) == (200, "나가")
    quoted = "%EB%82%B4%20%EA%B8%80.v2.txt"
    assert found.headers["Content-Disposition"] == f"attachment; filename*=UTF-8''{quoted}"
    assert served.started[0].asked[0][1] == {"form": "text", "file": True}


def test_a_file_with_a_part_that_is_not_translated_is_refused(client: TestClient) -> None:
    answer = _send(client, content=b"no translation")
    assert answer.status_code == 400
    assert "no translation for a part of it" in answer.json()["error"]


def test_the_language_of_a_file_is_found(client: TestClient) -> None:
    page = _send(client, "a.html", "<p>안녕하세요</p>".encode(), source="auto")
    own = client.get(page.json()["translatedFileUrl"]).content.decode()
    assert own == "<p>안녕하세요</p>"[::-1]
    word = _send(client, "a.docx", b"PK", source="auto")
    assert word.status_code == 400


@pytest.mark.parametrize(
    ("content", "problem"),
    [(b"How do you do?", "seems to be in en already"), (b"1 2 3", "not found")],
)
def test_a_file_does_not_come_back_untranslated_because_of_a_guess(
    client: TestClient, content: bytes, problem: str
) -> None:
    answer = _send(client, "a.md", content, source="auto")
    assert answer.status_code == 400
    assert problem in answer.json()["error"]
    named = _send(client, "a.md", content, source="en", target="en")  # as it was asked for
    assert client.get(named.json()["translatedFileUrl"]).content == content


@pytest.mark.parametrize(
    ("name", "changed", "sentence"),
    [
        ("a.txt", {"source": ""}, "Invalid request: missing source parameter"),
        ("a.txt", {"target": ""}, "Invalid request: missing target parameter"),
        ("a.exe", {}, "Invalid request: file format not supported"),
        ("..", {}, "Invalid request: empty file"),
        ("a.txt", {"source": "zz"}, "zz is not supported"),
        ("a.txt", {"source": "en", "target": "ko"},
         "Korean (ko) is not available as a target language from English (en)"),
    ],
)  # fmt: skip
def test_a_bad_request_is_400(
    client: TestClient, name: str, changed: dict[str, str], sentence: str
) -> None:
    answer = _send(client, name, **changed)
    assert (answer.status_code, answer.json()) == (400, {"error": sentence})


def test_a_missing_file_and_one_that_cannot_be_translated_are_400(client: TestClient) -> None:
    missing = client.post("/translate_file", data=KO_EN)
    assert missing.json() == {"error": "Invalid request: missing file parameter"}
    refused = _send(client, content=b"refused")
    assert refused.json() == {"error": "Cannot translate file: It cannot be."}
    assert {missing.status_code, refused.status_code} == {400}


def test_files_can_be_turned_off(serve: Serve) -> None:
    _, client = serve(files=False)
    answer = _send(client)
    assert (answer.status_code, answer.json()) == (
        403, {"error": "Files translation are disabled on this server."},
    )  # fmt: skip
    assert client.get("/frontend/settings").json()["supportedFilesFormat"] == []


@pytest.mark.parametrize(
    "name", ["..%2Fa.txt", "%2e%2e/%2e%2e/etc/passwd", "a%5Cb.txt", "a%00.txt"]
)
def test_a_name_that_leaves_the_place_is_refused(client: TestClient, name: str) -> None:
    assert client.get(f"/download_file/{name}").status_code in (400, 404)


def test_an_unknown_file_is_404(client: TestClient) -> None:
    assert client.get("/download_file/0.a.txt").status_code == 404


def test_files_are_forgotten_after_half_an_hour_or_beyond_the_memory() -> None:
    now = [0.0]
    files = Files(lambda: now[0])
    first = files.put("a.txt", b"a")
    now[0] = 1799.0
    second = files.put("b.txt", b"b" * (_BYTES - 1))
    assert files.get(first) == b"a"
    now[0] = 1800.0
    assert files.get(first) is None
    third = files.put("c.txt", b"cc")
    assert (files.get(second), files.get(third)) == (None, b"cc")
    assert files.get("c.txt") is None
