"""Short text is judged by training text: only text that is wrong throughout is unrelated."""

import pytest

from headway.data.corpus import Pair
from headway.data.word_links import are_of_other_sources

from .made_languages import translations

TRAIN = translations(1500)
SHORT = translations(60, seed=7)


def moved(pairs: list[Pair], lines: int) -> list[Pair]:
    targets = [pair.target for pair in pairs]
    return [
        Pair(pair.source, target)
        for pair, target in zip(pairs, targets[lines:] + targets[:lines], strict=True)
    ]


@pytest.mark.parametrize("lines", [30, 60])
def test_targets_of_other_sources_are_noticed(lines: int) -> None:
    assert not are_of_other_sources(SHORT[:lines], TRAIN)
    assert are_of_other_sources(moved(SHORT[:lines], 7), TRAIN)


def test_what_shows_nothing_is_not_judged() -> None:
    wrong = moved(SHORT, 7)
    assert not are_of_other_sources(wrong[:29], TRAIN)  # too few
    assert not are_of_other_sources(wrong, moved(TRAIN, 7))  # training text is wrong, too
    assert not are_of_other_sources(wrong, TRAIN[:20])
    assert not are_of_other_sources(wrong, [])
    labels = [Pair(pair.source, "a" if n % 2 else "b" * 20) for n, pair in enumerate(SHORT)]
    assert not are_of_other_sources(labels, TRAIN)


def test_one_in_three_wrong_is_no_text_of_other_sources() -> None:
    assert not are_of_other_sources([*SHORT[:40], *moved(SHORT[40:], 3)], TRAIN)
