"""A head off: the page's numbers are Python's, and without the edit all is as before."""

import json
from typing import Any

import pytest

from headway.inspection.edit import zero
from headway.inspection.translator import Translator

SENTENCE = "저는 학생입니다."
NAME = "decoder.layers.1.cross_attention.heads"
EDITS = json.dumps([{"name": NAME, "kind": "zero", "where": {"head": 1}}])


def _probabilities(trace: Any) -> list[float]:
    labels = trace.sentence.label_ids
    return [trace["probabilities"][row, label].item() for row, label in enumerate(labels)]


def _column(page: Any, name: str) -> list[float]:
    return [float(text) for text in page.locator(f"td.what-if-{name}").all_inner_texts()]


def test_a_head_off_changes_what_it_changes_in_python(seen: Any, translator: Translator) -> None:
    before = translator.trace(SENTENCE)
    after = translator.trace(SENTENCE, edit={NAME: zero(head=1)})
    page = seen.open("what-if", edits=EDITS)
    assert _column(page, "before") == pytest.approx(_probabilities(before), abs=5.1e-5)
    assert _column(page, "after") == pytest.approx(_probabilities(after), abs=5.1e-5)
    assert _probabilities(before) != pytest.approx(_probabilities(after), abs=1e-4)


@pytest.mark.parametrize("example", ["hidden", "attention"])
def test_an_example_to_begin_with_changes_the_translation(seen: Any, example: str) -> None:
    page = seen.open("what-if")
    page.locator(f'[data-key="example:{example}"]').click()
    seen.wait()
    a, b = page.locator(".what-if-text").all_inner_texts()
    assert a != b


def test_removing_the_chip_restores_everything(seen: Any) -> None:
    page = seen.open("what-if")
    plain = page.inner_text("main")
    strips = page.inner_text(".strips")
    seen.open("what-if", edits=EDITS)
    assert page.inner_text("main") != plain
    assert page.inner_text(".strips") == strips  # A is above, whatever B does
    page.locator("button.what-if-chip").click()
    seen.wait()
    assert seen.state().get("edits", "") == ""
    assert page.inner_text("main") == plain
    assert page.inner_text(".strips") == strips


def test_every_head_off_in_turn(seen: Any, server: str, translator: Translator) -> None:
    page = seen.open("what-if", show="sweep", t=3)
    before = translator.trace(SENTENCE)
    table = page.locator("figure.matrix").filter(
        has=page.locator('[data-key="what-if:sweep:cross"]')
    )
    table.locator("summary").click()
    table.locator("tbody tr").first.wait_for()
    shown = table.locator("tbody tr").evaluate_all(
        "(all) => all.map((row) => [...row.querySelectorAll('td')].map((own) => own.textContent))"
    )
    assert before.sentence is not None
    label = before.sentence.label_ids[3]
    for layer in range(2):
        for head in range(4):
            edit = {f"decoder.layers.{layer}.cross_attention.heads": zero(head=head)}
            after = translator.trace(SENTENCE, edit=edit)
            change = (after["log_probs"][3, label] - before["log_probs"][3, label]).item()
            said = float(shown[layer][head].replace("−", "-"))
            assert said == pytest.approx(change, abs=6e-4)
