"""All that is found comes back in order, of one worker or several."""

from typing import Any

import pytest
import torch

from headway.decoding.beam import BeamSearch
from headway.decoding.build_engine import build_engine
from headway.decoding.build_search import build_search, search_all
from headway.decoding.greedy import GreedySearch
from headway.decoding.options import SearchOptions
from headway.decoding.request import Request
from headway.errors import ConfigError
from headway.model.transformer import Transformer


def some(count: int) -> list[Request]:
    draw = torch.Generator().manual_seed(5)
    lengths = torch.randint(1, 12, (count,), generator=draw).tolist()
    return [
        Request([*torch.randint(4, 23, (n,), generator=draw).tolist(), 3], n + 6) for n in lengths
    ]


def test_the_options_say_which_search() -> None:
    assert isinstance(build_search(SearchOptions(1)), GreedySearch)
    assert isinstance(build_search(SearchOptions(2)), BeamSearch)


@pytest.mark.parametrize("beam_size", [1, 3])
@pytest.mark.parametrize("engine", ["packed", "reference"])
def test_several_workers_find_what_one_finds(
    tiny: Transformer, engine: str, beam_size: int
) -> None:
    requests, made = some(40), build_engine(tiny, engine)  # type: ignore[arg-type]
    options = SearchOptions(beam_size, n_best=beam_size)

    alone = search_all(made, options, requests)

    for workers in (2, 3):
        found = search_all(made, options, requests, slots=6, workers=workers)
        assert [[h.ids for h in f] for f in found] == [[h.ids for h in f] for f in alone]
        scores = [h.score for f in found for h in f]
        assert scores == pytest.approx([h.score for f in alone for h in f], abs=1e-4)


def test_an_error_in_a_worker_reaches_the_caller(tiny: Transformer) -> None:
    bad = [*some(20), Request([99_999, 3], 4)]
    engine = build_engine(tiny, "reference")

    with pytest.raises(ConfigError, match="99999"):
        search_all(engine, SearchOptions(1), bad, workers=2)


@pytest.mark.parametrize(("enough", "wanted", "most"), [(None, 99, 9), (6, 99, 3), (99, 4, 2)])
def test_no_more_are_at_work_than_the_engine_calls_enough(
    scripted: Any, enough: int | None, wanted: int, most: int
) -> None:
    engine = scripted({})  # every sentence ends at once
    engine.at_ease = enough

    search_all(engine, SearchOptions(1), [Request([5, 3], 4)] * 9, max_tokens=wanted)

    assert max(map(len, engine.rows)) == most
    assert sum(map(len, engine.rows)) == 9


def test_a_budget_smaller_than_any_sentence_still_translates_all(tiny: Transformer) -> None:
    requests, engine = some(9), build_engine(tiny)

    found = search_all(engine, SearchOptions(2), requests, max_tokens=1)

    expected = search_all(engine, SearchOptions(2), requests)
    assert [f[0].ids for f in found] == [f[0].ids for f in expected]
