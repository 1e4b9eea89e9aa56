"""Beam search finds what greedy search misses, ranks by penalized score and stops in time."""

import math
from typing import Any

import numpy as np
import pytest
import torch

from headway.decoding.beam import BeamSearch, best_places
from headway.decoding.build_search import search_all
from headway.decoding.options import SearchOptions
from headway.decoding.request import Request

# The best first word leads nowhere good: greedy gets .6 * .4 = .24, the beam .4 * .9 = .36.
TRAP = {
    (7,): {4: 0.6, 5: 0.4},
    (7, 4): {3: 0.4, 4: 0.3, 5: 0.3},
    (7, 5): {3: 0.9, 4: 0.1},
    (7, 4, 4): {3: 1.0},
    (7, 4, 5): {3: 1.0},
}


def test_a_beam_finds_what_greedy_search_misses(find: Any) -> None:
    options = SearchOptions(beam_size=2, length_penalty=0.0, n_best=2)

    ((best, second),) = find(TRAP, [7], options)

    assert (best.ids, second.ids) == ((5,), (4,))
    assert best.log_prob == pytest.approx(math.log(0.36), abs=1e-6)
    assert best.score == best.log_prob
    assert second.log_prob == pytest.approx(math.log(0.24), abs=1e-6)


def test_the_length_penalty_can_turn_the_ranking_around(find: Any) -> None:
    table = {(7,): {4: 0.5, 3: 0.5}, (7, 4): {4: 0.9, 3: 0.1}, (7, 4, 4): {3: 1.0}}
    ranked = []
    for alpha in (0.0, 1.0):
        options = SearchOptions(beam_size=2, length_penalty=alpha, n_best=2)
        ((best, _),) = find(table, [7], options)
        ranked.append(best)

    # log .5 = -.693 against log .45 = -.799; divided by 6 / 6 and 8 / 6: -.693 and -.599.
    assert [h.ids for h in ranked] == [(), (4, 4)]
    assert ranked[1].score == pytest.approx(math.log(0.45) / (8 / 6), abs=1e-6)


def test_search_goes_on_while_a_live_hypothesis_is_better_than_what_has_finished(
    find: Any,
) -> None:
    # A sharp model: two bad hypotheses end at once, before the good one has reached its end.
    table = {
        (8,): {4: 0.98, 3: 0.01, 5: 0.01},
        (8, 4): {4: 0.98, 3: 0.01, 5: 0.01},
        (8, 4, 4): {3: 1.0},
    }
    options = SearchOptions(beam_size=2, length_penalty=0.0)

    ((best,),) = find(table, [8], options)

    assert best.ids == (4, 4)
    assert best.log_prob == pytest.approx(math.log(0.98 * 0.98), abs=1e-6)


def test_search_goes_on_while_a_live_hypothesis_can_be_among_those_asked_for(
    find: Any,
) -> None:
    table = {
        (8,): {3: 0.5, 4: 0.49, 5: 0.01},
        (8, 4): {4: 0.9, 3: 0.1},
        (8, 4, 4): {3: 1.0},
        (8, 5): {3: 1.0},
    }
    options = SearchOptions(beam_size=2, length_penalty=0.0, n_best=2)

    (found,) = find(table, [8], options)

    # After two steps .5 and .049 have finished; .441 is alive.
    assert [h.ids for h in found] == [(), (4, 4)]


def test_a_live_hypothesis_is_judged_with_the_penalty_of_its_length(find: Any) -> None:
    # Piece 2 is the start symbol: probability that no hypothesis can have.
    table = {
        (8,): {4: 0.88, 3: 0.1, 5: 0.02},
        (8, 4): {4: 0.17, 3: 0.12, 2: 0.71},
        (8, 4, 4): {3: 1.0},
    }
    options = SearchOptions(beam_size=2, length_penalty=2.0)

    ((best,),) = find(table, [8], options)

    # Finished after two steps: log .1 = -2.30 and log .1056 / (7 / 6)^2 = -1.65. Alive:
    # log .1496 = -1.90, which is the better one as -1.90 / (7 / 6)^2 = -1.40.
    assert best.ids == (4, 4)
    assert best.score == pytest.approx(math.log(0.88 * 0.17) / (8 / 6) ** 2, abs=1e-6)


@pytest.mark.parametrize(("live", "best"), [(0.401, (4,)), (0.399, ())])
def test_what_is_hardly_better_than_the_finished_one_has_hope_and_what_is_worse_has_none(
    scripted: Any, live: float, best: tuple[int, ...]
) -> None:
    table = {(7,): {3: 0.4, 4: live, 5: 0.599 - live}, (7, 4): {3: 0.999, 5: 0.001}}
    engine = scripted(table)

    ((found,),) = search_all(engine, SearchOptions(3, 0.0), [Request([7, 3], 9)])

    assert found.ids == best
    # The start; then the live one alone, if it has hope, of all that are worse nobody.
    assert [len(rows) for rows in engine.rows] == ([1, 1] if best else [1])


def test_search_stops_when_enough_have_finished_and_no_live_one_is_better(scripted: Any) -> None:
    engine = scripted(TRAP, 6)

    search_all(engine, SearchOptions(beam_size=2), [Request([7, 3], 9)])

    assert engine.steps == 2


def test_sentences_end_apart_and_keep_their_order(find: Any) -> None:
    table = TRAP | {
        (8,): {5: 1.0},
        (8, 5): {5: 0.9, 3: 0.1},
        (8, 5, 5): {4: 1.0},
        (8, 5, 5, 4): {3: 1.0},
    }
    options = SearchOptions(beam_size=2, length_penalty=0.0)

    found = find(table, [8, 7, 8], options, limits=[9, 9, 1])

    assert [hypotheses[0].ids for hypotheses in found] == [(5, 5, 4), (5,), (5,)]
    assert [hypotheses[0].complete for hypotheses in found] == [True, True, False]


def test_impossible_extensions_never_become_hypotheses(find: Any) -> None:
    # One word is possible at first, so three of the four rows have no past of their own.
    table = {(8,): {5: 1.0}, (8, 5): {3: 0.6, 4: 0.4}}
    options = SearchOptions(beam_size=4, length_penalty=0.0, n_best=4)

    (found,) = find(table, [8], options, limits=4)

    likely = [h for h in found if h.log_prob > -1e6]
    assert [h.ids for h in likely] == [(5,), (5, 4)]
    assert len({h.ids for h in found}) == len(found)


def test_patience_waits_for_more_hypotheses_to_end(find: Any) -> None:
    # Two end early; a long one would overtake them with its length, but not at its present one.
    table = {
        (8,): {3: 0.4, 4: 0.3, 5: 0.3},
        (8, 4): {3: 0.5, 4: 0.5},
        (8, 5): {3: 0.5, 5: 0.5},
        (8, 4, 4): {4: 1.0},
        (8, 5, 5): {3: 1.0},
        (8, 4, 4, 4): {4: 1.0},
        (8, 4, 4, 4, 4): {3: 1.0},
    }
    ranked = []
    for patience in (1.0, 2.0):
        options = SearchOptions(beam_size=2, length_penalty=2.0, patience=patience)
        ((best,),) = find(table, [8], options)
        ranked.append(best.ids)

    # After two steps .4 and .15 have ended, and log .4 = -.92 is better than what is alive,
    # log .15 / (7 / 6)^2 = -1.39. Three steps on that one has log .15 / (10 / 6)^2 = -.68.
    assert ranked == [(), (4, 4, 4, 4)]


@pytest.mark.parametrize("spread", ["random", "few values", "mostly -inf", "only -inf"])
@pytest.mark.parametrize("shape", [(3, 40), (2, 5000), (1, 64 * 128 + 5)])
@pytest.mark.parametrize("count", [8, 128, 4500, 9000])
def test_the_best_of_many_extensions_are_those_of_a_full_stable_sort(
    spread: str, shape: tuple[int, int], count: int
) -> None:
    rng = np.random.default_rng(count)
    totals = -rng.exponential(size=shape)
    if spread == "few values":
        totals = np.round(3 * totals)
    elif spread != "random":
        totals[rng.random(shape) < (0.95 if spread == "mostly -inf" else 2)] = -math.inf

    places = best_places(totals.copy(), count)

    expected = (-totals).argsort(axis=1, kind="stable")[:, :count]
    np.testing.assert_array_equal(places, expected)


def test_a_wide_beam_takes_the_hypotheses_that_it_takes_among_all_candidates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def hypotheses() -> list[Any]:
        search = BeamSearch(SearchOptions(beam_size=64))
        search.begin([0, 1], [Request([5, 3], 9), Request([6, 3], 9)])
        generator = torch.Generator().manual_seed(0)
        states = []
        for _ in range(4):
            rows, _ = search.rows()
            search.advance(2 * torch.randn(len(rows), 200, generator=generator))
            states.append(
                (search.rows()[0].tolist(), search.log_probs.tolist(), search.ids.tolist())
            )
        return states

    few = hypotheses()
    monkeypatch.setattr("headway.decoding.candidates._FIRST", 200)

    assert few == hypotheses()
