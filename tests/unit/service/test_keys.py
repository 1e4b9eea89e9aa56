"""API keys: how they are given, the statuses, and a file that changes."""

import hmac
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from headway.errors import DataError
from headway.service.keys import Keys

Serve = Callable[..., tuple[Any, TestClient]]
GOOD = {"q": "가나", "source": "ko", "target": "en"}


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    path = tmp_path / "keys.txt"
    path.write_text("k-1 Ada Lovelace\n\nk-2 Bob\n", encoding="utf-8")
    return path


def test_a_key_comes_in_a_field_or_a_header(serve: Serve, keys: Path) -> None:
    _, client = serve(api_keys=keys, require_key=True)
    by_header = client.post("/translate", json=GOOD, headers={"Authorization": "Bearer k-2"})
    answers = [
        client.post("/translate", json={**GOOD, "api_key": "k-1"}),
        client.post("/translate", params={**GOOD, "api_key": "k-1"}),
        by_header,
        client.post("/detect", data={"q": "a", "api_key": "k-2"}),
    ]
    assert [answer.status_code for answer in answers] == [200] * 4


def test_a_missing_key_is_400_and_a_wrong_one_403(serve: Serve, keys: Path) -> None:
    _, client = serve(api_keys=keys, require_key=True)
    for absent in ({}, {"api_key": None}, {"api_key": ""}):
        answer = client.post("/translate", json={**GOOD, **absent})
        assert (answer.status_code, answer.json()) == (
            400, {"error": "Please contact the server operator to get an API key"},
        )  # fmt: skip
    answer = client.post("/translate", json={**GOOD, "api_key": "k-3"})
    assert (answer.status_code, answer.json()) == (403, {"error": "Invalid API key"})
    assert client.get("/frontend/settings").json()["keyRequired"] is True


def test_what_clients_ask_before_they_have_a_key_needs_none(serve: Serve, keys: Path) -> None:
    # LibreTranslate answers these to everyone, and its clients ask them without a key.
    _, client = serve(api_keys=keys, require_key=True)
    public = ("/languages", "/frontend/settings", "/health", "/health/live", "/spec")
    assert [client.get(path).status_code for path in public] == [200] * len(public)


def test_without_require_key_only_a_wrong_key_is_refused(serve: Serve, keys: Path) -> None:
    _, client = serve(api_keys=keys)
    assert client.post("/translate", json=GOOD).status_code == 200
    assert client.post("/translate", json={**GOOD, "api_key": "no"}).status_code == 403


def test_a_server_without_keys_ignores_them(client: TestClient) -> None:
    assert client.post("/translate", json={**GOOD, "api_key": "any"}).status_code == 200


def test_every_key_is_compared_in_constant_time(
    keys: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[bytes] = []

    def count(known: bytes, given: bytes) -> bool:
        compared.append(known)
        return known == given

    monkeypatch.setattr(hmac, "compare_digest", count)
    assert Keys(keys).owner("k-1") == "Ada Lovelace"
    assert Keys(keys).owner("") is None
    assert compared == [b"k-1", b"k-2"] * 2


def test_a_changed_file_is_read_again_and_a_damaged_one_is_told(
    keys: Path, caplog: pytest.LogCaptureFixture
) -> None:
    known = Keys(keys)
    keys.write_text("k-9 Cleo\n", encoding="utf-8")
    os.utime(keys, ns=(1, 1))
    assert (known.owner("k-1"), known.owner("k-9")) == (None, "Cleo")
    keys.write_text("no-name\n", encoding="utf-8")
    os.utime(keys, ns=(2, 2))
    assert known.owner("k-9") == known.owner("k-9") == "Cleo"
    keys.unlink()
    assert known.owner("k-9") == known.owner("k-9") == "Cleo"
    assert len(caplog.messages) == 2  # once for each change
    assert "line 1 has no name" in caplog.messages[0]
    keys.write_text("k-1 Ada\n", encoding="utf-8")
    assert known.owner("k-9") is None


def test_a_comment_is_no_key(keys: Path) -> None:
    keys.write_text("# of May\n#k-7 Ada\nk-8 Ben\n", encoding="utf-8")
    known = Keys(keys)
    assert [known.owner(key) for key in ("#", "#k-7", "k-8")] == [None, None, "Ben"]


def test_a_line_without_a_name_is_said(tmp_path: Path) -> None:
    path = tmp_path / "keys.txt"
    path.write_text("k-1 Ada\nk-2\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 2 has no name"):
        Keys(path)


def test_a_key_of_two_owners_is_said(tmp_path: Path) -> None:
    path = tmp_path / "keys.txt"
    path.write_text("k-1 Ada\nk-2 Ben\n\nk-1 Cem\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 4 has the key of an earlier line"):
        Keys(path)


def test_the_rate_counts_the_texts_of_each_client(serve: Serve, keys: Path) -> None:
    from headway.service.rate import Rate

    _, client = serve(api_keys=keys, rate=Rate(3, 60))
    batch = {**GOOD, "q": ["가", "나", "다"]}
    assert client.post("/translate", json=batch).status_code == 200
    slow = client.post("/translate", json=GOOD)
    assert (slow.status_code, slow.json()) == (429, {"error": "Slowdown: 3 per 1 minute"})
    assert 1 <= int(slow.headers["Retry-After"]) <= 20
    assert client.post("/translate", json={**batch, "api_key": "k-1"}).status_code == 200
    assert client.get("/frontend/settings").status_code == 200
