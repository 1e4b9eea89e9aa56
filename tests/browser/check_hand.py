"""By hand: the step before the query, the published example "I am good", mathematics as MathML."""

from typing import Any

import pytest
import torch

from headway.inspection.translator import Translator

PRODUCTS = torch.tensor([[110.0, 90, 80], [70, 99, 70], [90, 70, 100]])
VALUES = torch.tensor([[67.85, 91.2, 0.13], [13.13, 63.1, 0.025], [12.12, 96.1, 43.4]])


@pytest.mark.parametrize(("view", "name"), [
    ("encoder", "encoder.layers.1.self_attention"),
    ("decoder", "decoder.layers.1.self_attention"),
    ("cross", "decoder.layers.1.cross_attention"),
])  # fmt: skip
def test_the_query_is_the_input_times_w_q(
    seen: Any, translator: Translator, view: str, name: str
) -> None:
    trace = translator.trace("저는 학생입니다.")
    page = seen.open("hand", view=view, l=1, h=2, q=3, k=1, show="all")
    step = page.locator(".hand-input")
    shown = step.locator(".strip-digits").all_inner_texts()
    x = eval(step.locator("code.tensor-name").first.inner_text(), {"trace": trace})
    assert [float(text.replace("−", "-")) for text in shown] == pytest.approx(
        x.tolist(), abs=5.1e-5
    )
    projection = translator.bundle.model.get_submodule(name).w_q
    query = trace[f"{name}.q"][2, 3]
    own = projection(x)[2 * len(query) :][: len(query)]
    assert own.tolist() == pytest.approx(query.tolist(), abs=1e-5)
    value = step.locator(".sum strong").inner_text()
    assert float(value.replace("−", "-")) == pytest.approx(query[0].item(), abs=5.1e-5)


@pytest.mark.parametrize("language", ["en", "ko"])
def test_i_am_good_is_worked_out_and_its_wrong_weights_are_marked(seen: Any, language: str) -> None:
    weights = (PRODUCTS / 8).softmax(-1)
    page = seen.open("hand", tab="good", lang=language)
    right, published = page.locator(".beside > .panel").all()
    shown = right.locator("td:not(.row-sum)").all_inner_texts()
    numbers = [float(text.replace("−", "-")) for text in shown if text]
    expected = [*weights.flatten().tolist(), *(weights @ VALUES).flatten().tolist()]
    assert numbers == pytest.approx(expected, abs=5.1e-3)
    assert numbers[:9] == pytest.approx(expected[:9], abs=5.1e-5)
    # .0213, .2187 and .0180 are printed as .03, .21 and .03.
    assert published.locator(".marked").all_inner_texts() == [".03", ".21", ".03"]


def test_the_python_of_i_am_good_prints_the_same_weights(
    seen: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    page = seen.open("hand", tab="good")
    exec(page.locator(".python code").text_content(), {})
    printed = capsys.readouterr().out
    assert "0.9045, 0.0742, 0.0213" in printed
    assert "62.5" in printed or "62.6" in printed


@pytest.mark.parametrize(("screen", "state"), [
    ("hand", {"tab": "words"}), ("lessons", {"lesson": 4}), ("position", {}), ("tree", {}),
])  # fmt: skip
def test_mathematics_is_mathml(seen: Any, screen: str, state: dict[str, Any]) -> None:
    page = seen.open(screen, **state)
    assert page.locator("main math").count() > 0
    text = page.locator("body").inner_text()
    assert not {"`", "\ue000", "\ue001"} & set(text)


def test_a_root_has_its_bar_over_what_is_under_it(seen: Any) -> None:
    page = seen.open("hand", tab="words")
    root = page.locator("msqrt").first
    assert root.text_content() == "dk"
    outer, inner = root.bounding_box(), root.locator("msub").bounding_box()
    assert outer["x"] < inner["x"]
    assert outer["y"] <= inner["y"] + 1
    assert outer["x"] + outer["width"] >= inner["x"] + inner["width"] - 1
