"""Calibration: as often within reach as it says, monotone, never sure, and the same every time."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.data.corpus import Pair
from headway.decoding.confidence import Confidence
from headway.decoding.translation import ScoredText, Translation
from headway.evaluation import confidence as measuring
from headway.evaluation.confidence import (
    calibration_error,
    fitted,
    measured_confidence,
    shuffled_letters,
)


def translation(mean: float, count: int, text: str = "x", **facts: Any) -> Translation:
    pieces = ("x",) * (count - 1)
    scored = ScoredText(text, mean, mean * count, pieces)
    return Translation(text, mean, pieces, (scored,), **facts)


def drawn(true: Confidence, number: int, seed: int) -> tuple[list[Translation], list[bool]]:
    rng = np.random.default_rng(seed)
    means, counts = -rng.exponential(0.6, number), rng.integers(2, 40, number)
    facts = [
        (translation(float(mean), int(count)), true.value(float(mean * count), int(count)))
        for mean, count in zip(means, counts, strict=True)
    ]
    return [t for t, _ in facts], [bool(rng.random() < chance) for _, chance in facts]


def confidences(found: Confidence, translations: Sequence[Translation]) -> list[float]:
    return [found.value(t.hypotheses[0].log_prob, len(t.pieces) + 1) for t in translations]


def test_a_calibration_is_found_again_from_what_it_describes() -> None:
    true = Confidence(2.0, 5.0, -0.4)
    found = fitted(*drawn(true, 20_000, seed=1))
    assert (found.bias, found.score, found.length) == pytest.approx((2.0, 5.0, -0.4), abs=0.25)
    fresh, within = drawn(true, 1000, seed=2)
    assert calibration_error(confidences(found, fresh), within) < 0.05
    assert fitted(*drawn(true, 500, seed=3)) == fitted(*drawn(true, 500, seed=3))


@given(
    st.lists(
        st.tuples(st.floats(-20, 0), st.integers(1, 300), st.booleans()), min_size=1, max_size=40
    )
)
def test_more_probable_is_never_less_sure_and_nothing_is_certain(
    facts: list[tuple[float, int, bool]],
) -> None:
    translations = [translation(mean, count) for mean, count, _ in facts]
    found = fitted(translations, [within for _, _, within in facts])
    assert found.score >= 0
    assert all(0 <= value <= 1 for value in confidences(found, translations))
    for mean, count, _ in facts:
        assert found.value(mean * count, count) <= found.value(mean * count / 2, count)


def test_what_is_always_right_is_never_certain() -> None:
    translations, _ = drawn(Confidence(0, 1, 0), 200, seed=1)
    assert max(confidences(fitted(translations, [True] * 200), translations)) < 1
    assert min(confidences(fitted(translations, [False] * 200), translations)) > 0


def test_the_error_is_the_mean_distance_of_the_bins() -> None:
    # Two bins: 0.2 said and a half seen, of two; 1.0 said and seen, of one.
    assert calibration_error([0.1, 0.19, 1.0], [True, False, True]) == pytest.approx(
        2 / 3 * abs(0.29 / 2 - 0.5)
    )
    assert calibration_error([0.5] * 4, [True, True, False, False]) == 0


@given(st.lists(st.text("abc 가나 \u2003", max_size=9), max_size=5))
def test_shuffling_moves_letters_and_no_space(texts: list[str]) -> None:
    shuffled = shuffled_letters(texts)
    assert sorted("".join(shuffled)) == sorted("".join(texts))
    for before, after in zip(texts, shuffled, strict=True):
        spaces = [(i, c) for i, c in enumerate(before) if c.isspace()]
        assert [(i, c) for i, c in enumerate(after) if c.isspace()] == spaces
    assert shuffled == shuffled_letters(texts)


def test_tags_stay_where_they_are() -> None:
    text = " <2ko>  <high> abcdefgh"
    (tagged,) = shuffled_letters([text], ["<2ko>", "<high>"])
    assert tagged.startswith(" <2ko>  <high> ")
    assert tagged != text


def test_text_in_parts_and_blank_text_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    translator: Any = SimpleNamespace(
        bundle=SimpleNamespace(tags=[]),
        translate=lambda texts, **_: [translation(-3.0, 5) for _ in texts],
    )
    pairs = [Pair("a b", "x y z"), Pair("c", "q"), Pair("", ""), Pair("d. e.", "x")]
    translations = [
        translation(-0.1, 4, "x y z"), translation(-0.2, 2), translation(0.0, 1, ""),
        translation(-0.1, 9, num_parts=2),
    ]  # fmt: skip
    assert measured_confidence(translator, pairs, translations) is None
    monkeypatch.setattr(measuring, "FEWEST", 2)
    found = measured_confidence(translator, pairs, translations)
    assert found is not None
    assert (found["sentences"], found["nonsense"], found["within_reach"]) == (2, 2, 0.5)
    calibration = Confidence(found["bias"], found["score"], found["length"])
    good, bad = calibration.value(-0.4, 4), calibration.value(-15.0, 5)
    assert good > 0.5 > bad
