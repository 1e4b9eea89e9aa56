"""The page on the hub says what the bundle's record knows, and nothing else."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from headway.interop.hub.card import page
from headway.saved_bundle import SavedBundle, read_bundle

SIGNATURE = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0"
BLEU = {"name": "bleu", "value": 37.654, "unit": "%", "signature": SIGNATURE}
EXACT = {"name": "exact", "value": 0.25, "signature": "share of equal lines"}  # an early record


@pytest.fixture
def saved(plain: Path) -> SavedBundle:
    return replace(read_bundle(plain), card="# My model\n\nTrained at home.\n")


def _header(saved: SavedBundle, licence: str = "") -> dict[str, Any]:
    text = page(saved, "kim/ko-en", licence, has_code=False)
    begin, header, body = text.split("---\n", 2)
    assert begin == ""
    assert body.startswith("\n# My model\n\nTrained at home.\n\n## Use\n")
    return yaml.safe_load(header)


def test_of_an_unknown_model_only_its_kind_is_said(saved: SavedBundle) -> None:
    known = {"library_name": "headway", "pipeline_tag": "translation"}
    assert _header(saved) == known
    assert _header(replace(saved, source_language="my film")) == known


def test_languages_are_codes_without_regions(saved: SavedBundle) -> None:
    header = _header(replace(saved, source_language="Korean", target_language="pt_BR"), "mit")
    assert (header["language"], header["license"]) == (["ko", "pt"], "mit")


def test_scores_keep_their_signatures(saved: SavedBundle) -> None:
    data = {"valid_source": "/home/kim/text/valid.ko", "test_source": "hf://wmt/wmt16?split=test"}
    record = {"valid": [EXACT], "test": [BLEU], "config": {"data": data}}
    (model,) = _header(replace(saved, record=record))["model-index"]
    assert model["name"] == "ko-en"
    valid, test = model["results"]
    assert valid["task"] == test["task"] == {"type": "translation"}
    # A folder is nobody's business.
    assert valid["dataset"] == {"type": "valid.ko", "name": "valid.ko", "split": "validation"}
    assert test["dataset"] == {"type": "wmt/wmt16", "name": "wmt/wmt16", "split": "test"}
    assert test["metrics"] == [
        {"type": "bleu", "name": "bleu", "value": 37.65, "args": {"signature": SIGNATURE}}
    ]
    assert valid["metrics"][0]["type"] == "exact_match"
    assert valid["metrics"][0]["value"] == 25


def test_data_sets_are_those_of_the_hub(
    saved: SavedBundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data" / "mine").mkdir(parents=True)
    names = ["hf://b/two?name=ko-en", "hf://a/one", "train.ko", "hf://data/mine", "hf://b/two"]
    corpora = [{"source": name} for name in names]
    record = {"config": {"data": {"source": "", "corpora": corpora}}}
    assert _header(replace(saved, record=record))["datasets"] == ["b/two", "a/one"]
    record = {"config": {"data": {"source": "hf://a/one", "corpora": []}}}
    assert _header(replace(saved, record=record))["datasets"] == ["a/one"]


def test_a_fine_tune_names_its_model_if_that_is_on_the_hub(saved: SavedBundle) -> None:
    record = {"started_from": {"bundle": "hf://lee/base@0a1b", "checksum": ""}}
    assert _header(replace(saved, record=record))["base_model"] == "lee/base"
    record = {"started_from": {"bundle": "runs/base/best", "checksum": ""}}
    assert "base_model" not in _header(replace(saved, record=record))


def test_the_page_shows_how_to_load_the_model(saved: SavedBundle) -> None:
    plain, own = (page(saved, "kim/ko-en", has_code=has_code) for has_code in (False, True))
    assert 'headway.load("hf://kim/ko-en")' in plain
    assert "trust_code" not in plain
    assert 'headway.load("hf://kim/ko-en", trust_code=True)' in own
    assert "Read it first." in own
