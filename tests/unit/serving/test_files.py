"""Downloads and exports hold the very numbers."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from fastapi.testclient import TestClient

from headway.inspection.trace import Trace
from headway.inspection.translator import Translator
from headway.serving import files
from headway.serving.app import create_app
from headway.serving.models import Served

SOURCE = "나는 너를 본다 ."
OWN = "http://127.0.0.1:8080"
SCORES = "decoder.layers.0.self_attention.masked_scores"


def test_tensors_are_downloaded(
    client: TestClient, traced: dict[str, Any], translator: Translator
) -> None:
    own = translator.trace(SOURCE)[SCORES].at(head=1)
    answers = {
        form: client.get(f"/api/traces/{traced['id']}/download/{SCORES}.{form}?head=1")
        for form in ("npy", "csv", "json")
    }
    assert np.array_equal(np.load(io.BytesIO(answers["npy"].content)), own.numpy())
    rows = list(csv.reader(io.StringIO(answers["csv"].text)))
    assert rows[0] == ["query", "key", "value"]
    assert len(rows) == 1 + own.numel()
    assert all(float(v) == float(own[int(q), int(k)]) for q, k, v in rows[1:])
    told = json.loads(answers["json"].content)
    assert (told["name"], told["shape"]) == (SCORES, list(own.shape))
    assert len(told["not_finite"]["-inf"]) == sum(value is None for value in told["values"]) > 0
    assert told["axes"][0]["labels"] == list(own.axes[0].labels())
    assert SCORES in answers["csv"].headers["content-disposition"]


@pytest.mark.parametrize("form", ["json", "safetensors", "npz"])
def test_whole_traces_are_exported(
    client: TestClient,
    traced: dict[str, Any],
    translator: Translator,
    tmp_path: Path,
    form: str,
) -> None:
    answer = client.get(f"/api/traces/{traced['id']}/export.{form}")
    (tmp_path / f"trace.{form}").write_bytes(answer.content)
    loaded = Trace.load(tmp_path / f"trace.{form}", translator.bundle.model)
    assert loaded.equals(translator.trace(SOURCE))


@pytest.mark.parametrize(("form", "start"), [("svg", b"<?xml"), ("png", b"\x89PNG")])
def test_attention_is_drawn(
    client: TestClient, traced: dict[str, Any], form: str, start: bytes
) -> None:
    pytest.importorskip("matplotlib")
    path = f"/api/traces/{traced['id']}/export.{form}"
    name = "encoder.layers.0.self_attention.weights"
    answer = client.get(path, params={"name": name})
    assert answer.content.startswith(start)
    assert client.get(path, params={"name": "logits"}).status_code == 400


def test_positions_are_those_of_the_model(client: TestClient, translator: Translator) -> None:
    answer = client.get("/api/position", params={"length": 7})
    table = translator.bundle.model.source_embedding.positions(7)
    assert answer.headers["x-shape"] == "7,14"
    assert answer.headers["x-axes"] == "pos,d_model"
    numbers = np.frombuffer(answer.content, "<f4").reshape(7, 14)
    assert torch.equal(torch.from_numpy(numbers.copy()), table)


def test_learned_positions_are_those_of_the_encoder(learned: Served) -> None:
    with TestClient(create_app([learned]), base_url=OWN) as own:
        numbers = np.frombuffer(own.get("/api/position?length=32").content, "<f4").reshape(32, 14)
    model = learned.translator.bundle.model
    table = torch.from_numpy(numbers.copy())
    assert torch.equal(table, model.source_embedding.positions(32))
    assert not torch.equal(table, model.target_embedding.positions(32))


def test_what_is_large_is_not_written_as_text(
    client: TestClient, traced: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "TEXT_BYTES", traced["nbytes"] - 1)
    path = f"/api/traces/{traced['id']}"
    answer = client.get(f"{path}/export.json")
    assert answer.status_code == 413
    assert "safetensors or npz" in answer.json()["error"]["remedy"]
    for what in ("export.npz", "export.safetensors", f"download/{SCORES}.csv"):
        assert client.get(f"{path}/{what}").status_code == 200
    monkeypatch.setattr(files, "TEXT_BYTES", 1)
    for form, status in (("csv", 413), ("json", 413), ("npy", 200)):
        assert client.get(f"{path}/download/{SCORES}.{form}").status_code == status


def test_a_csv_of_many_parts_has_each_line_once(
    client: TestClient, traced: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"/api/traces/{traced['id']}/download/{SCORES}.csv"
    whole = client.get(path).text
    monkeypatch.setattr(files, "_LINES", 7)
    assert client.get(path).text == whole


def test_a_dollar_sign_in_a_sentence_is_drawn(client: TestClient) -> None:
    pytest.importorskip("matplotlib")
    source = "나는 $x_$ 너를 $ 본다 ."
    told = client.post("/api/trace", json={"source": source, "target": "I $x_$ ."}).json()
    answer = client.get(f"/api/traces/{told['id']}/export.svg")
    assert (answer.status_code, answer.content[:5]) == (200, b"<?xml")


@pytest.mark.parametrize(
    "what", ["download/logits.pickle", "download/logits", "download/.npy", "download/no.npy",
             "export.pickle", "download/logits.npy?head=0"]
)  # fmt: skip
def test_other_files_are_refused(client: TestClient, traced: dict[str, Any], what: str) -> None:
    answer = client.get(f"/api/traces/{traced['id']}/{what}")
    assert 400 <= answer.status_code < 500
    assert answer.json()["error"]["message"]


@pytest.mark.parametrize("length", ["0", "-1", "9999", "x"])
def test_other_lengths_are_refused(client: TestClient, length: str) -> None:
    assert client.get("/api/position", params={"length": length}).status_code == 422
