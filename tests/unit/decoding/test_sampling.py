"""What is drawn follows the probabilities, is the same in every batch, and can be had again."""

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from headway.decoding.build_engine import build_engine
from headway.decoding.build_search import search_all
from headway.decoding.options import Sampling, SearchOptions
from headway.decoding.request import Request
from headway.decoding.sampling import draw, narrow
from headway.model.transformer import Transformer

FREE = Sampling()
LOGITS = torch.tensor([[0.1, 0.4, 0.2, 0.3]]).log()


def shares(sampling: Sampling) -> list[float]:
    left = narrow(LOGITS, sampling)
    return (left / left.sum()).flatten().tolist()


@pytest.mark.parametrize(
    ("sampling", "expected"),
    [
        (FREE, [0.1, 0.4, 0.2, 0.3]),
        # Square roots: .3162 .6325 .4472 .5477, together 1.9437.
        (Sampling(temperature=2.0), [0.16270, 0.32540, 0.23009, 0.28180]),
        # Squares: .01 .16 .04 .09, together .3.
        (Sampling(temperature=0.5), [1 / 30, 16 / 30, 4 / 30, 9 / 30]),
        (Sampling(top_k=2), [0, 4 / 7, 0, 3 / 7]),
        (Sampling(top_k=9), [0.1, 0.4, 0.2, 0.3]),
        (Sampling(top_p=0.6), [0, 4 / 7, 0, 3 / 7]),  # .4 alone is not enough
        (Sampling(top_p=0.01), [0, 1, 0, 0]),  # the best one always
        (Sampling(min_p=0.49), [0, 4 / 9, 2 / 9, 3 / 9]),  # at least .196
        # Three are left with .9; .5 of that is .45: the best has .4, so the second too.
        (Sampling(top_k=3, top_p=0.5), [0, 4 / 7, 0, 3 / 7]),
    ],
    ids=str,
)
def test_what_may_be_drawn_by_hand(sampling: Sampling, expected: list[float]) -> None:
    assert shares(sampling) == pytest.approx(expected, abs=1e-5)


def test_of_equal_pieces_at_the_border_only_so_many_are_left() -> None:
    left = narrow(torch.zeros(1, 6), Sampling(top_k=2))
    assert int((left > 0).sum()) == 2


@pytest.mark.parametrize(
    ("number", "piece"),
    [(0.0, 0), (0.0999, 0), (0.1001, 1), (0.4999, 1), (0.5001, 2), (0.7001, 3), (0.999999, 3)],
)
def test_a_number_falls_into_the_share_of_a_piece(number: float, piece: int) -> None:
    assert draw(LOGITS, FREE, np.array([number])).tolist() == [piece]


def test_what_has_no_probability_is_never_drawn_even_at_the_very_ends() -> None:
    logits = LOGITS.clone()
    logits[0, [0, 3]] = -math.inf

    ends = np.array([0.0, np.nextafter(1.0, 0.0)])

    assert draw(logits.repeat(2, 1), FREE, ends).tolist() == [1, 2]


def test_many_draws_have_the_models_distribution(find: Any) -> None:
    table = {
        (7,): {4: 0.5, 5: 0.3, 3: 0.2},
        (7, 4): {3: 0.6, 5: 0.4},
        (7, 5): {3: 1.0},
        (7, 4, 5): {3: 1.0},
    }
    ((*found,),) = find(table, [7], SearchOptions(n_best=4000, sampling=Sampling(seed=5)))

    share = Counter(h.ids for h in found)
    expected = {(4,): 0.3, (4, 5): 0.2, (5,): 0.3, (): 0.2}
    assert set(share) == set(expected)
    for ids, probability in expected.items():
        assert share[ids] / 4000 == pytest.approx(probability, abs=0.03)  # four deviations
    for h in found:  # the score is the model's own
        assert h.log_prob == pytest.approx(math.log(expected[h.ids]), abs=1e-5)
    assert [h.score for h in found] == sorted((h.score for h in found), reverse=True)


def test_temperature_changes_what_is_drawn_and_not_what_it_scores(find: Any) -> None:
    table = {(7,): {4: 0.6, 5: 0.4}, (7, 4): {3: 1.0}, (7, 5): {3: 1.0}}
    cold = Sampling(temperature=0.01)

    ((*found,),) = find(table, [7], SearchOptions(n_best=50, sampling=cold))

    assert {h.ids for h in found} == {(4,)}
    assert found[0].log_prob == pytest.approx(math.log(0.6), abs=1e-5)


def some(count: int) -> list[Request]:
    draws = torch.Generator().manual_seed(2)
    lengths = torch.randint(1, 9, (count,), generator=draws).tolist()
    return [
        Request([*torch.randint(4, 23, (n,), generator=draws).tolist(), 3], n + 5, place=(i,))
        for i, n in enumerate(lengths)
    ]


@pytest.mark.parametrize("n_best", [1, 3])
@pytest.mark.parametrize("engine", ["packed", "reference"])
def test_a_draw_depends_on_seed_and_place_and_not_on_the_batch(
    tiny: Transformer, engine: Any, n_best: int
) -> None:
    made, requests = build_engine(tiny, engine), some(20)
    options = SearchOptions(n_best=n_best, sampling=Sampling(seed=3, top_p=0.9))

    alone = [search_all(made, options, [request])[0] for request in requests]

    for slots, workers in ((3, 1), (64, 1), (4, 2)):
        found = search_all(made, options, requests, slots=slots, workers=workers)
        assert [[h.ids for h in f] for f in found] == [[h.ids for h in f] for f in alone]
    backwards = search_all(made, options, requests[::-1])[::-1]
    assert [[h.ids for h in f] for f in backwards] == [[h.ids for h in f] for f in alone]
    other = search_all(made, replace(options, sampling=Sampling(seed=4, top_p=0.9)), requests)
    assert [f[0].ids for f in other] != [f[0].ids for f in alone]
    same = [replace(request, source_ids=requests[0].source_ids) for request in requests]
    assert len({f[0].ids for f in search_all(made, options, same)}) > 10  # places differ


def test_a_prefix_a_limit_and_rules_hold(tiny: Transformer) -> None:
    requests = [replace(request, prefix=[7, 9], max_length=6) for request in some(10)]
    options = SearchOptions(n_best=4, sampling=FREE, min_length=4, no_repeat_ngram=1)

    found = search_all(build_engine(tiny), options, requests)

    for h in (h for f in found for h in f):
        assert h.ids[:2] == (7, 9)
        assert 4 <= len(h.ids) <= 6
        assert len(set(h.ids)) == len(h.ids)
        assert h.complete == (len(h.ids) < 6)
        assert math.isfinite(h.log_prob)
