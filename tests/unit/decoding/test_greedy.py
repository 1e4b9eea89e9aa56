"""Greedy search takes the best piece at each step, sentence by sentence."""

import math
from typing import Any

import pytest

from headway.decoding.options import SearchOptions

GREEDY = SearchOptions(beam_size=1)

# 3 ends a sentence; 4 and 5 are words; sources 7 and 8 are different sentences.
TABLE = {
    (7,): {4: 0.6, 5: 0.4},
    (7, 4): {3: 0.7, 5: 0.3},
    (8,): {5: 0.9, 3: 0.1},
    (8, 5): {4: 0.8, 3: 0.2},
    (8, 5, 4): {4: 0.5, 3: 0.3, 5: 0.2},
}


def test_each_sentence_ends_on_its_own_and_scores_are_products(find: Any) -> None:
    (first,), (second,) = find(TABLE, [7, 8], GREEDY)

    assert first.ids == (4,)
    assert first.log_prob == pytest.approx(math.log(0.6 * 0.7), abs=1e-6)
    assert first.score == pytest.approx(math.log(0.42) / (7 / 6) ** 0.6, abs=1e-6)
    assert second.ids == (5, 4, 4)
    assert second.log_prob == pytest.approx(math.log(0.9 * 0.8 * 0.5), abs=1e-6)
    assert first.complete
    assert second.complete


def test_at_the_limit_the_end_is_forced_counted_and_flagged(find: Any) -> None:
    (cut,), (whole,) = find(TABLE, [8, 7], GREEDY, limits=[2, 9])

    assert (cut.ids, cut.complete) == ((5, 4), False)
    assert cut.log_prob == pytest.approx(math.log(0.9 * 0.8 * 0.3), abs=1e-6)
    assert (whole.ids, whole.complete) == ((4,), True)


def test_a_forced_prefix_keeps_the_probability_that_the_model_gives_it(find: Any) -> None:
    ((hypothesis,),) = find(TABLE, [7], GREEDY, prefixes=[[5]])

    assert hypothesis.ids == (5,)
    assert hypothesis.log_prob == pytest.approx(math.log(0.4), abs=1e-6)
