"""The ten answers are those that Python computes, and the page accepts them."""

import json
import math
import urllib.request
from typing import Any

import pytest

from headway.decoding.options import SearchOptions
from headway.inspection.translator import Translator

OTHER = "제 형은 어제 사과 세 개를 먹었습니다."


@pytest.fixture(scope="module")
def source(server: str) -> str:
    """Return the sentence of the lessons: the first example of the model."""
    with urllib.request.urlopen(f"{server}api/model") as answer:
        return json.load(answer)["examples"][0]


@pytest.fixture(scope="module")
def answers(translator: Translator, source: str) -> list[float]:
    """Return the answers, worked out from trace and search as the lessons say."""
    options = SearchOptions(4, translator.options.length_penalty)
    trace = translator.trace(source, options=options)
    record = translator.search(source, options=options)
    sentence, config = trace.sentence, translator.bundle.config
    assert sentence is not None
    length = len(sentence.source_pieces)
    scaled = trace["source_embedding.scaled"][0]
    first = trace["encoder.layers.0.self_attention.weights"][0, 0]
    own = trace["decoder.layers.0.self_attention.weights"][:, 1, 1]
    heads = trace["encoder.layers.0.self_attention.heads"][1, 0]
    keys = trace["decoder.layers.*.cross_attention.k"]
    cross = trace["decoder.layers.*.cross_attention.weights"][-1].mean(0)[2]
    probabilities = [trace["probabilities"][t, sentence.label_ids[t]].item() for t in (1, 2)]
    second = record.nodes[record.ranking[1]]
    return [
        length * config.d_model,
        scaled[scaled.abs().argmax()].item() / math.sqrt(config.d_model),
        trace["source_embedding.output"][2, 1].item(),
        first.max().item(),
        own[(own - 0.5).abs().argmin()].item(),
        heads[heads.abs().argmax()].item(),
        2 * keys.numel(),
        math.prod(probabilities),
        cross.max().item(),
        second.total / ((5 + second.step) / 6) ** translator.options.length_penalty,
    ]


@pytest.mark.parametrize("lesson", range(1, 11))
def test_the_answer_is_accepted_and_another_is_not(
    seen: Any, answers: list[float], lesson: int
) -> None:
    page = seen.open("lessons", src=None, lesson=lesson)
    field, said = page.locator("#lesson-answer"), page.locator(".lesson-said")
    right = answers[lesson - 1]
    for typed, kind in ((right + 0.02, "wrong"), (right, "right"), (right - 0.02, "wrong")):
        field.fill(f"{typed:.4f}")
        page.keyboard.press("Enter")
        assert kind in said.get_attribute("class"), typed
        assert said.inner_text().strip()


@pytest.mark.parametrize("lesson", [1, 4, 5, 9, 10])
def test_a_lesson_shows_what_it_talks_about(seen: Any, lesson: int) -> None:
    page = seen.open("lessons", src=None, lesson=lesson)
    page.locator('[data-key="show-me"]').click()
    seen.wait()
    assert seen.state()["screen"] != "lessons"
    assert page.locator(".refusal").count() == 0
    assert page.locator(".strips .piece").count() > 4


@pytest.mark.parametrize("screen", ["lessons", "attention"])
def test_a_lesson_and_the_header_have_one_sentence(seen: Any, source: str, screen: str) -> None:
    assert source != OTHER
    page = seen.open(screen, src=OTHER, lesson=5, q=3, k=1)
    assert page.input_value("input.source") == source
    assert seen.state()["src"] == source
    assert page.locator("#lesson-question").count() == 1
    page.fill("input.source", OTHER)
    page.press("input.source", "Enter")
    seen.wait()
    assert page.input_value("input.source") == OTHER
    assert page.locator("#lesson-question").count() == 0
    state = seen.state()
    assert ("lesson" not in state, state["src"]) == (True, OTHER)


def test_a_solved_lesson_is_remembered(seen: Any, answers: list[float]) -> None:
    page = seen.open("lessons", src=None, lesson=1)
    page.locator("#lesson-answer").fill(str(answers[0]))
    page.keyboard.press("Enter")
    page = seen.open("lessons", src=None)
    assert page.locator(".lesson-done").count() == 1
