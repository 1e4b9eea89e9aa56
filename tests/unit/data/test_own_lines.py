"""Lines fit their own lines better than others, or by chance only."""

import numpy as np
import pytest

from headway.data.own_lines import (
    BY_CHANCE,
    MOST,
    are_different,
    evenly,
    fit,
    is_clearly_less,
    length_correlation,
    share_known,
    shared_words,
)

from .made_languages import translations

REFERENCES = [pair.target for pair in translations(40)]
OTHERS = [pair.target for pair in translations(40, seed=5)]


def test_own_lines_fit_and_others_do_not() -> None:
    halves = [text[: len(text) // 2] for text in REFERENCES]
    assert fit(shared_words(halves, REFERENCES)) > 2 * BY_CHANCE
    assert abs(fit(shared_words(OTHERS, REFERENCES))) < BY_CHANCE
    assert fit(shared_words(halves[1:] + halves[:1], REFERENCES)) < BY_CHANCE


def test_what_agrees_with_all_lines_shows_nothing() -> None:
    rng = np.random.default_rng(0)
    agreement = rng.normal(size=(30, 30))
    rows, columns = rng.normal(size=(30, 1)), rng.normal(size=30)

    assert fit(agreement + 9 * rows + 9 * columns) == pytest.approx(fit(agreement))
    assert fit(np.zeros((30, 30)) + rows + columns) == 0.0
    assert fit(agreement + 2 * np.eye(30)) > BY_CHANCE


def test_known_runs_and_labels() -> None:
    assert share_known(["a b"], ["b c a"]) == 1.0
    assert share_known(["a b", "c d"], ["a", "d"]) == 0.5
    assert share_known([""], ["a"]) == 0.0
    assert are_different(["a", "b", "a"])
    assert not are_different(["a", "b", "a", "b"])


def test_lengths() -> None:
    texts = ["a" * count for count in (1, 5, 9, 20)]
    assert length_correlation(texts, texts) == pytest.approx(1.0)
    assert length_correlation(texts, ["a"] * 4) == 0.0
    assert is_clearly_less(0.2, 30, 0.8, 30)
    assert not is_clearly_less(0.45, 30, 0.6, 30)  # by chance
    assert not is_clearly_less(0.55, 300, 0.9, 300)  # enough
    assert not is_clearly_less(-0.2, 300, 0.45, 300)  # lengths that show nothing


def test_places_are_spread_evenly() -> None:
    assert evenly(5) == [0, 1, 2, 3, 4]
    assert len(evenly(10 * MOST)) == MOST
    assert evenly(9, 3) == [0, 4, 8]
    assert evenly(0) == []
