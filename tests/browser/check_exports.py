"""What the page gives away: pictures, numbers, and itself."""

import json
import math
import struct
import urllib.request
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import headway
from headway.inspection.statistics import statistics_of
from headway.inspection.translator import Translator

SENTENCE = "저는 학생입니다."
_STATISTICS = """async (numbers) => {
  const { statisticsOf } = await import("app/tensor-parts.js");
  const { Tensor } = await import("app/trace.js");
  return statisticsOf(new Tensor("x", [numbers.length], ["x"], Float32Array.from(numbers)));
}"""


@pytest.fixture
def links(seen: Any) -> dict[str, str]:
    """Return the addresses behind the menu of the attention screen."""
    page = seen.open("attention", view="cross", l=1)
    page.locator("details.export > summary").click()
    found = page.locator("details.export a").evaluate_all(
        "(all) => all.map((own) => [own.dataset.key, own.href])"
    )
    return {key.removeprefix("export:"): address for key, address in found}


def test_the_menu_has_all_forms(links: dict[str, str]) -> None:
    assert set(links) == {"html", "json", "safetensors", "svg", "png"}


def test_json_is_the_trace(links: dict[str, str], translator: Translator, tmp_path: Path) -> None:
    for form in ("json", "safetensors"):
        path = tmp_path / f"trace.{form}"
        path.write_bytes(_get(links[form]))
        loaded = headway.Trace.load(path, translator.bundle.model)
        assert loaded.equals(translator.trace(SENTENCE))
    json.loads((tmp_path / "trace.json").read_text("utf-8"), parse_constant=_never)


def test_svg_has_the_pieces(links: dict[str, str], translator: Translator) -> None:
    root = ET.fromstring(_get(links["svg"]))
    assert root.tag.endswith("svg")
    text = _get(links["svg"]).decode()
    sentence = translator.trace(SENTENCE).sentence
    assert sentence is not None
    for piece in (*sentence.source_pieces, *sentence.writes):
        assert piece.strip("▁").replace("<", "&lt;").replace(">", "&gt;") in text


def test_png_has_a_size(links: dict[str, str]) -> None:
    data = _get(links["png"])
    assert data.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", data[16:24])
    assert 400 <= width <= 6000
    assert 400 <= height <= 6000


def test_html_opens_where_it_was_saved(
    links: dict[str, str], see: Callable[..., Any], tmp_path: Path
) -> None:
    path = tmp_path / "page.html"
    path.write_bytes(_get(links["html"]))
    seen = see(path.as_uri())
    seen.page.goto(path.as_uri())
    seen.wait()
    state = seen.state()
    assert (state["screen"], state["src"], state["view"], state["l"]) == (
        "attention", SENTENCE, "cross", "1",
    )  # fmt: skip
    assert seen.page.locator("main h1").inner_text() == "Attention"
    assert path.stat().st_size < 4_000_000


def test_a_file_answers_what_takes_the_model(
    links: dict[str, str], see: Callable[..., Any], seen: Any, tmp_path: Path
) -> None:
    path = tmp_path / "page.html"
    path.write_bytes(_get(links["html"]))
    file = see(path.as_uri())
    read = "(own) => own.value ?? own.innerText"
    for screen, state, part in (
        ("tensors", {"tab": "layers"}, "table.lens"),
        (
            "tensors",
            {"name": "decoder.layers.0.cross_attention.masked_scores"},
            ".tensor-statistics",
        ),
        ("alignment", {}, ".alignment-pharaoh"),
        ("alignment", {"l": 0, "h": 1, "show": "reads"}, ".alignment-desk"),
        ("alignment", {"method": "gradient_x_input"}, ".attribution-sum"),
        ("alignment", {"method": "integrated_gradients", "t": 2}, ".attribution-desk"),
        ("alignment", {"method": "occlusion"}, ".attribution-desk"),
    ):
        words = [
            window.open(screen, **state).locator(part).evaluate(read) for window in (seen, file)
        ]
        assert words[0], (screen, state)
        assert words[0] == words[1], (screen, state)
    assert seen.open("alignment").locator("#alignment-gold").count() == 1
    # An alignment by hand cannot be known beforehand.
    assert file.open("alignment").locator("#alignment-gold").count() == 0


def test_statistics_are_those_of_the_program(seen: Any) -> None:
    page = seen.open("tensors")
    inf = math.inf
    for numbers in ([inf, -inf, math.nan, inf], [], [0.0, 3.0, -4.0, inf], [2.0]):
        told = page.evaluate(_STATISTICS, numbers)
        own = statistics_of(torch.tensor(numbers, dtype=torch.float32)).as_dict()
        assert told.pop("not_finite") == own.pop("not_finite")
        assert told.pop("shape") == own.pop("shape")
        assert told == pytest.approx(own)


def test_a_click_downloads_it(seen: Any, tmp_path: Path) -> None:
    page = seen.open("attention")
    page.locator("details.export > summary").click()
    with page.expect_download() as download:
        page.locator('[data-key="export:html"]').click()
    assert download.value.suggested_filename.endswith(".html")


def test_the_python_on_the_page_runs(seen: Any, model_path: Path) -> None:
    for screen in ("translate", "attention", "hand", "tree", "what-if", "tensors", "position",
                   "alignment"):  # fmt: skip
        page = seen.open(screen)
        code = page.locator(".python code")
        if code.count() == 0:
            continue
        program = code.first.text_content()
        assert "import headway" in program, screen
        name = page.locator(".model-name").inner_text()
        for own in (f'"{name}"', f'"runs/{name}"', '"MODEL"', '"runs/demo"'):
            program = program.replace(own, repr(str(model_path)))
        exec(program, {})


def _get(address: str) -> bytes:
    with urllib.request.urlopen(address) as answer:
        return answer.read()


def _never(constant: str) -> None:
    raise AssertionError(f"JSON has no {constant}.")
