"""What the server tells about its models."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.unit.hub_emulator import Hub, Repository

from headway.bundle import save_bundle
from headway.inspection.catalog import catalog
from headway.inspection.model_kind import variant_of
from headway.inspection.translator import Translator
from headway.model.accounting import count_parameters
from headway.serving.models import Served, load_models


def test_the_first_model_is_the_default(client: TestClient) -> None:
    assert client.get("/api/models").json() == {
        "models": [{"name": "small", "default": True}, {"name": "pre", "default": False}]
    }
    assert client.get("/api/model").json()["name"] == "small"


def test_a_model_is_described(client: TestClient, pre_norm: Served) -> None:
    told = client.get("/api/model", params={"model": "pre"}).json()
    bundle = pre_norm.translator.bundle
    assert told["checksum"] == "b" * 64
    assert told["parameters"] == count_parameters(bundle.model)
    assert told["config"] == bundle.config.model_dump()
    assert told["sizes"] == {
        "d_model": 14, "d_ff": 19, "d_k": 5, "d_v": 4, "num_heads": 3, "num_encoder_layers": 1,
        "num_decoder_layers": 2, "source_vocab_size": bundle.config.source_vocab_size,
        "target_vocab_size": bundle.config.target_vocab_size,
    }  # fmt: skip
    assert (told["norm_position"], told["positional_encoding"]) == ("pre", "interleaved")
    assert told["first_position"] == 0
    assert told["limits"] == {"characters": 2000, "pieces": 24, "beam": 8}
    assert told["examples"] == ["나는 너를 본다 ."]
    assert [row["name"] for row in told["attention"] if row["kind"] == "cross"] == [
        "decoder.layers.0.cross_attention", "decoder.layers.1.cross_attention",
    ]  # fmt: skip
    assert {(row["of"], row["heads"]) for row in told["attention"] if row["kind"] == "encoder"} == {
        (1, 3)
    }


def examples_of(served: Served, record: dict[str, Any]) -> list[str]:
    return Served("own", Translator(replace(served.translator.bundle, record=record)), "").examples


def test_a_model_of_ones_own_offers_sentences_of_its_record(served: Served) -> None:
    recorded = ["sentence 1", "sentence 2"]
    assert examples_of(served, {"examples": recorded}) == recorded
    recipe = {"recipe": {"examples": ["chosen"]}}
    assert examples_of(served, {"examples": recorded, "config": recipe}) == ["chosen"]
    recipe = {"recipe": {"examples": []}}
    assert examples_of(served, {"examples": recorded, "config": recipe}) == recorded


@pytest.mark.parametrize("name", ["one.txt", "one.tsv", "pipe"])
def test_no_file_that_a_record_names_is_opened(served: Served, tmp_path: Path, name: str) -> None:
    for file in ("one.txt", "one.tsv"):
        (tmp_path / file).write_text("secret\tsecret\n")
    os.mkfifo(tmp_path / "pipe")  # to open it would wait for ever
    data = {"directory": "/", "valid_source": str(tmp_path / name)}
    data |= {} if name.endswith("tsv") else {"valid_target": str(tmp_path / "one.txt")}
    assert examples_of(served, {"config": {"data": data}}) == []


@pytest.mark.parametrize("value", [None, "text", 3, {"a": "b"}, [3, None, "", "x" * 2001]])
def test_examples_that_are_no_sentences_are_left_out(served: Served, value: Any) -> None:
    assert examples_of(served, {"examples": value, "config": {"recipe": value}}) == []
    assert examples_of(served, {"config": {"recipe": {"examples": value}}}) == []


def test_the_catalog_is_that_of_the_model(client: TestClient, pre_norm: Served) -> None:
    rows = client.get("/api/model", params={"model": "pre"}).json()["catalog"]
    known = catalog(variant_of(pre_norm.translator.bundle.model))
    assert [row["pattern"] for row in rows] == list(known)
    for row in rows:
        own = known[row["pattern"]]
        assert row["axes"] == [axis.name for axis in own.axes]
        assert (row["shape"], row["equation"], row["latex"]) == (own.shape, own.equation, own.latex)
        assert (row["english"], row["korean"], row["derived"]) == (
            own.english, own.korean, own.derived,
        )  # fmt: skip
        assert row["mathml"].startswith("<math")


def test_bundles_have_the_names_of_their_folders(tmp_path: Path, served: Served) -> None:
    bundle = served.translator.bundle
    for folder in ("one", "run/best", "other/one"):
        save_bundle(tmp_path / folder, bundle)
    paths = [tmp_path / "one", tmp_path / "run", tmp_path / "other" / "one"]
    found = load_models(paths, "cpu")
    assert [one.name for one in found] == ["one", "run", "one-2"]
    assert len({one.checksum for one in found}) == 1
    assert [one.description["given"] for one in found] == [path.as_posix() for path in paths]


def test_a_bundle_on_the_hub_has_the_name_of_its_repository(
    hub: Hub, tmp_path: Path, served: Served
) -> None:
    save_bundle(tmp_path / "one", served.translator.bundle)
    hub.repositories["kim/ko-en"] = repository = Repository()
    repository.commit("main", {p.name: p.read_bytes() for p in (tmp_path / "one").iterdir()})
    (found,) = load_models([Path("hf://kim/ko-en")], "cpu")
    assert (found.name, found.description["given"]) == ("ko-en", "hf://kim/ko-en")
    assert found.checksum == load_models([tmp_path / "one"], "cpu")[0].checksum


def test_formulas_have_no_backslash(client) -> None:
    catalog = client.get("/api/model").json()["catalog"]
    assert any("masked_scores" in row["mathml"] for row in catalog)
    assert not any("\\" in row["mathml"] for row in catalog)
