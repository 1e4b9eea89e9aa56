"""Scores in words: each metric has them, they get better with the score, and need no number."""

import math

import pytest

from headway.evaluation.meaning import meaning, meanings
from headway.evaluation.metrics import METRICS, score_texts


@pytest.mark.parametrize(
    ("name", "value", "part"),
    [
        ("bleu", 0.0, "hardly any sequence of words"),
        ("bleu", 1.26, "usable translations begin at about 20"),
        ("bleu", 19.99, "usable translations begin at about 20"),
        ("bleu", 41.0, "good translations"),
        ("chrf", 16.1, "usable translations begin at about 45"),
        ("chrf", 60.0, "most sentences can be understood"),
        ("exact", 0.0, "hardly any translation equals its reference"),
        ("exact", 99.0, "nearly all translations equal their reference"),
        ("ter", 130.0, "most words would have to be changed"),
        ("wer", 3.0, "close to the references"),
    ],
)
def test_a_score_has_its_words(name: str, value: float, part: str) -> None:
    assert part in meaning(name, value)


@pytest.mark.parametrize("value", [20.0, 20.01, 99.0])
def test_a_usable_score_is_not_told_where_usable_ones_begin(value: float) -> None:
    assert "begin" not in meaning("bleu", value)


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_has_words_for_every_score(name: str) -> None:
    perfect = score_texts(["a b c d e"], ["a b c d e"], [name], "13a")[0]
    worst = 0.0 if perfect.higher_is_better else 250.0

    assert len({meaning(name, value) for value in (worst, perfect.value)}) == 2
    assert meaning(name, math.nan)  # as for no translations at all


def test_a_line_has_name_value_and_words() -> None:
    first, second = meanings({"bleu": 0.4, "exact": 100.0})

    assert first.startswith("bleu 0.4: hardly any sequence of words is right; ")
    assert second == "exact 100.0: nearly all translations equal their reference exactly."
