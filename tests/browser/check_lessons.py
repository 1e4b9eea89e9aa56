"""The ten answers are those that Python computes, and the page accepts them."""

import math
from typing import Any

import pytest

from headway.decoding.options import SearchOptions
from headway.inspection.translator import Translator


@pytest.fixture(scope="module")
def answers(translator: Translator, server: str) -> list[float]:
    """Return the answers, worked out from trace and search as the lessons say."""
    import json
    import urllib.request

    with urllib.request.urlopen(f"{server}api/model") as answer:
        source = json.load(answer)["examples"][0]
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


def test_a_solved_lesson_is_remembered(seen: Any, answers: list[float]) -> None:
    page = seen.open("lessons", src=None, lesson=1)
    page.locator("#lesson-answer").fill(str(answers[0]))
    page.keyboard.press("Enter")
    page = seen.open("lessons", src=None)
    assert page.locator(".lesson-done").count() == 1
