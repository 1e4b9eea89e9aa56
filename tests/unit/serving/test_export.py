"""A page of a trace from Python: on a disk, and in a notebook."""

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import headway
from headway.errors import ConfigError, ServingError
from headway.inspection.edit import zero
from headway.inspection.translator import Translator
from headway.serving.export import show, write_page

SOURCE = "나는 너를 본다 ."


def _answers(html: str) -> dict[str, Any]:
    found = re.search(r'id="answers">(.*?)</script>', html, flags=re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_a_page_opens_at_its_state(translator: Translator, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    write_page(translator, translator.trace(SOURCE), path, state="#/tree?beam=2")
    answers = _answers(path.read_text("utf-8"))
    assert answers["address"].startswith("#/tree?beam=2&src=")
    assert answers["left_out"] == []
    assert answers["trace"]["manifest"]["sentence"]["source"] == SOURCE


def test_what_is_too_large_is_left_out_and_named(translator: Translator, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    trace = translator.trace(SOURCE)
    write_page(translator, trace, path, max_bytes=20_000)
    answers = _answers(path.read_text("utf-8"))
    tensors = answers["tensors"]
    assert answers["limit"] == 20_000
    assert "decoder.layers.1.cross_attention.weights" in tensors
    assert set(answers["left_out"]).isdisjoint(tensors)
    assert answers["left_out"]
    assert set(trace) <= set(answers["left_out"]) | set(tensors)


def test_a_trace_without_everything_still_makes_a_page(
    translator: Translator, tmp_path: Path
) -> None:
    path = tmp_path / "page.html"
    write_page(translator, translator.trace(SOURCE, record=("*weights", "logits")), path)
    tensors = _answers(path.read_text("utf-8"))["tensors"]
    assert "encoder.layers.0.self_attention.weights" in tensors


def test_a_notebook_gets_text_picture_and_page(translator: Translator) -> None:
    trace = translator.trace(SOURCE)
    shown = show(translator, trace, height=700)
    bundle = shown._repr_mimebundle_()
    assert bundle["text/plain"] == repr(trace) == repr(shown)
    assert "<svg" in bundle["image/svg+xml"]
    assert "height: 700px" in bundle["text/html"]
    (page,) = re.findall(r'srcdoc="([^"]*)"', bundle["text/html"])
    assert unescape(page).startswith("<!doctype html>")


def test_a_trace_of_a_module_has_no_page(translator: Translator, tmp_path: Path) -> None:
    model = translator.bundle.model
    import torch

    with headway.trace(model) as seen:
        model(torch.ones(1, 2, dtype=torch.long), torch.ones(1, 2, dtype=torch.long))
    with pytest.raises(ConfigError, match="not a sentence"):
        write_page(translator, seen, tmp_path / "page.html")


def test_a_place_that_cannot_be_written_is_said(translator: Translator, tmp_path: Path) -> None:
    with pytest.raises(ServingError, match="cannot be written"):
        write_page(translator, translator.trace(SOURCE), tmp_path / "no" / "page.html")


def test_a_target_of_ones_own_is_said_to_be_given(translator: Translator, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    found = translator.trace(SOURCE)
    write_page(translator, found, path)
    assert "target=" not in _answers(path.read_text("utf-8"))["address"]
    assert found.sentence is not None
    other = " ".join(["you", *found.sentence.target.split()])
    write_page(translator, translator.trace(SOURCE, other), path)
    assert "target=you" in _answers(path.read_text("utf-8"))["address"]


def test_a_page_shows_no_edited_trace(translator: Translator, tmp_path: Path) -> None:
    edited = translator.trace(SOURCE, edit={"decoder.layers.0.cross_attention.heads": zero()})
    with pytest.raises(ConfigError, match="edits"):
        write_page(translator, edited, tmp_path / "page.html")
    with pytest.raises(ConfigError, match="edits"):
        show(translator, edited)


def test_another_kind_of_file_is_refused(translator: Translator, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not the name of a page"):
        write_page(translator, translator.trace(SOURCE), tmp_path / "page.pdf")
    assert list(tmp_path.iterdir()) == []


def test_the_python_of_a_page_loads_what_was_named(translator: Translator, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    write_page(translator, translator.trace(SOURCE), path, model="runs/ko-en")
    assert _answers(path.read_text("utf-8"))["model"]["given"] == "runs/ko-en"
