"""The Python that the page gives away prints what the page shows, however it was searched."""

import contextlib
import io
import json
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

OTHER = "우리는 학생입니다."  # as many pieces as the sentence of the page
STATES: dict[str, dict[str, Any]] = {
    "own": {},
    "max": {"max": 3},
    "drawn": {"temp": 5, "seed": 3, "topk": 40, "topp": 0.9},
    "alpha": {"lp": 0, "beam": 2},
    "target and prefix": {"target": "I am a teacher.", "prefix": "You"},
    "prefix": {"prefix": "You are", "max": 5},
}
TRACED = ["translate", "attention", "hand", "tensors", "position", "alignment"]


def run(page: Any, model_path: Path) -> dict[str, Any]:
    """Run the code of the page with the served model; return its names."""
    program = page.locator(".python code").first.text_content()
    start = program.index('headway.load("')
    end = program.index('",', start) + 1
    program = f"{program[:start]}headway.load({str(model_path)!r}{program[end:]}"
    names: dict[str, Any] = {}
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(program, names)
    assert said.getvalue().strip()
    return names | {"program": program}


@pytest.mark.parametrize("state", STATES)
def test_the_trace_is_that_of_the_page(seen: Any, model_path: Path, state: str) -> None:
    # All screens once; of the other ways of searching two of them.
    for screen in TRACED if state in ("max", "drawn") else ["translate", "alignment"]:
        page = seen.open(screen, **STATES[state])
        names = run(page, model_path)
        pieces = page.locator('[data-key^="target-piece:"]').all_inner_texts()
        assert list(names["trace"].sentence.writes) == pieces, screen
        if state == "own":
            assert "SearchOptions" not in names["program"]
        if screen == "translate":
            best = names["trace"]["probabilities"][0].max().item()
            assert float(page.locator(".candidate").first.get_attribute("data-p")) == (
                pytest.approx(best, rel=1e-5)
            )


@pytest.mark.parametrize("state", ["drawn", "alpha", "prefix"])
def test_the_search_is_that_of_the_page(seen: Any, model_path: Path, state: str) -> None:
    page = seen.open("tree", **STATES[state])
    names = run(page, model_path)
    body = seen.paths("/api/search")[-1]
    address = urlsplit(seen.address)
    question = urllib.request.Request(
        f"http://{address.netloc}/api/search", body.encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(question) as answer:
        record = json.load(answer)["record"]
    assert json.loads(json.dumps(names["found"].as_dict()))["nodes"] == record["nodes"]


@pytest.mark.parametrize("state", ["own", "alpha", "target and prefix"])
def test_what_if_is_that_of_the_page(seen: Any, model_path: Path, state: str) -> None:
    edits = [
        {"name": "encoder.output", "kind": "replace", "src": OTHER},
        {"name": "decoder.layers.1.cross_attention.heads", "kind": "zero", "where": {"head": 1}},
    ]
    page = seen.open("what-if", edits=json.dumps(edits), **STATES[state])
    names = run(page, model_path)
    shown = [float(own) for own in page.locator("td.what-if-after").all_inner_texts()]
    labels = enumerate(names["b"].sentence.label_ids)
    own = [names["b"]["probabilities"][row, label].item() for row, label in labels]
    assert shown == pytest.approx(own, abs=6e-5)
    assert page.locator(".what-if-text").last.inner_text() == names["record"].translation.text


def test_a_lesson_runs(seen: Any, model_path: Path) -> None:
    for lesson in (1, 10):
        # A lesson keeps its own beam of 4, whatever the page searches with.
        page = seen.open("lessons", lesson=lesson, beam=2)
        names = run(page, model_path)
        worked = page.locator(".lesson-work").text_content().replace("−", "-").replace(",", "")
        if lesson == 1:
            assert str(names["trace"]["source_embedding.output"].numel()) in worked
        else:
            found = names["found"]
            assert found.options.beam_size == 4
            assert f"{found.nodes[found.ranking[1]].score:.4f}" in worked
