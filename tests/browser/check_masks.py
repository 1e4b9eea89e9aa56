"""What nobody may look at is hatched and called so; nowhere is there a NaN."""

import json
import urllib.request
from typing import Any

SCREENS = ["translate", "attention", "hand", "tree", "what-if", "tensors", "alignment"]
SENTENCE = "저는 학생입니다."
_COLORS = """(canvas, [row, column, rows, columns]) => {
  const [width, height] = [canvas.width / columns, canvas.height / rows];
  const data = canvas.getContext("2d").getImageData(
    column * width + 3, row * height + 3, width - 8, height - 8).data;
  const found = new Set();
  for (let at = 0; at < data.length; at += 4) found.add(data.slice(at, at + 4).join());
  return found.size;
}"""


def test_masked_cells_are_hatched_and_the_others_are_not(seen: Any) -> None:
    page = seen.open("attention", view="decoder", l=1, h=0, q=5, k=0)
    canvas = page.locator('canvas[data-key="big-matrix"]')
    for row, column in [(0, 1), (2, 5), (4, 5)]:
        assert canvas.evaluate(_COLORS, [row, column, 6, 6]) > 1
    for row, column in [(0, 0), (3, 2), (5, 4)]:
        assert canvas.evaluate(_COLORS, [row, column, 6, 6]) == 1


def test_masked_cells_are_called_so(seen: Any) -> None:
    page = seen.open("attention", view="decoder", l=1, h=0)
    figure = page.locator("figure.matrix").filter(has=page.locator('[data-key="big-matrix"]'))
    figure.locator("summary").click()
    cells = figure.locator("tbody tr").first.locator("td")
    cells.first.wait_for()
    assert cells.all_inner_texts() == ["1.0000", *["mask"] * 5]
    box = figure.locator("canvas").bounding_box()
    figure.locator("canvas").hover(position={"x": box["width"] - 8, "y": 8})
    assert "mask" in page.locator(".tooltip").inner_text()


def test_a_masked_score_is_minus_infinity_and_not_missing(seen: Any) -> None:
    page = seen.open("hand", view="decoder", l=0, h=0, q=1, k=4)
    text = page.inner_text("main")
    assert "−∞" in text
    assert "mask" in text
    page = seen.open("tensors", name="decoder.layers.0.self_attention.masked_scores")
    assert "−∞" in page.inner_text("main") or "-inf" in page.inner_text("main")


def test_there_is_no_nan_anywhere(seen: Any) -> None:
    for screen in SCREENS:
        page = seen.open(screen, view="decoder")
        html = page.evaluate("document.querySelector('#app').outerHTML")
        assert "NaN" not in html, screen
        assert "Infinity" not in html, screen


def test_json_has_neither_nan_nor_infinity(server: str) -> None:
    body = json.dumps({"source": SENTENCE}).encode()
    for path in ("api/trace", "api/search"):
        request = urllib.request.Request(
            f"{server}{path}", body, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request) as answer:
            json.loads(answer.read(), parse_constant=_never)


def _never(constant: str) -> None:
    raise AssertionError(f"JSON has no {constant}.")
