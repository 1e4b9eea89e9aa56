"""Rows are queries and columns are keys: with numbers that would show if they were swapped."""

import re
import struct
from typing import Any

from headway.inspection.translator import Translator

SENTENCE = "저는 학생입니다."
_ASKED = re.compile(r"/tensors/decoder\.layers\.(\*|%2A|\d+)\.cross_attention\.weights")


def test_a_planted_matrix_is_shown_as_it_is(seen: Any, translator: Translator) -> None:
    sentence = translator.trace(SENTENCE).sentence
    assert sentence is not None
    rows, columns = len(sentence.writes), len(sentence.source_pieces)
    assert rows != columns
    planted = [
        [(row * columns + column + 1) / (rows * columns + 1) for column in range(columns)]
        for row in range(rows)
    ]
    flat = [value for row in planted for value in row]

    def answer(route: Any) -> None:
        stacked = not _ASKED.search(route.request.url)[1].isdigit()  # type: ignore[index]
        copies, shape = (8, "2,4") if stacked else (4, "4")
        route.fulfill(
            status=200,
            headers={
                "Content-Type": "application/octet-stream",
                "X-Shape": f"{shape},{rows},{columns}",
                "X-Axes": f"{'layer,' if stacked else ''}head,query,key",
                "X-Type": "float32",
            },
            body=struct.pack(f"<{len(flat)}f", *flat) * copies,
        )

    seen.page.route(_ASKED, answer)
    page = seen.open("attention", view="cross", l=0, h=0)
    canvas = page.locator('canvas[data-key="big-matrix"]')
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    cell = box["height"] / rows
    assert box["width"] / columns == cell
    for row in range(rows):
        for column in range(columns):
            canvas.hover(position={"x": (column + 0.5) * cell, "y": (row + 0.5) * cell})
            lines = page.locator(".tooltip > div").all_inner_texts()
            assert lines[0] == f"{planted[row][column]:.4f}"
            labels = f"{sentence.reads[row]} → {sentence.writes[row]}"
            assert lines[1] == f"{labels}  ·  {sentence.source_pieces[column]}"
    _check_labels(page, sentence)
    _check_table(page, planted)


def _check_labels(page: Any, sentence: Any) -> None:
    figure = page.locator("figure.matrix").filter(has=page.locator('[data-key="big-matrix"]'))
    labels = figure.locator(".matrix-rows > span").all_inner_texts()
    pairs = zip(sentence.reads, sentence.writes, strict=True)
    assert labels == [f"{read} → {written}" for read, written in pairs]
    tops = figure.locator(".matrix-columns > span > span").all_inner_texts()
    assert tops == list(sentence.source_pieces)
    assert "query" in figure.locator(".matrix-axis-rows").inner_text()
    assert "key" in figure.locator(".matrix-axis-columns").inner_text()


def _check_table(page: Any, planted: list[list[float]]) -> None:
    """The same numbers in the table for who reads rather than looks."""
    figure = page.locator("figure.matrix").filter(has=page.locator('[data-key="big-matrix"]'))
    figure.locator("summary").click()
    figure.locator("tbody tr").first.wait_for()
    rows = figure.locator("tbody tr").evaluate_all(
        "(all) => all.map((row) => [...row.querySelectorAll('td')].map((own) => own.textContent))"
    )
    assert rows == [[f"{value:.4f}" for value in row] for row in planted]
