"""Terms that must occur do occur, in beams of any size, and banks are counted rightly."""

import random
from typing import Any

import pytest

from headway.decoding.build_engine import build_engine
from headway.decoding.build_search import search_all
from headway.decoding.options import Sampling, SearchOptions
from headway.decoding.request import Request
from headway.decoding.terms import num_written, occurs, wanted_pieces
from headway.errors import ConfigError
from headway.model.transformer import Transformer


@pytest.mark.parametrize(
    ("terms", "ids", "written", "wanted"),
    [
        ([[5, 6]], [], 0, [5]),
        ([[5, 6]], [4, 5], 1, [6, 5]),
        ([[5, 6]], [5, 6, 4], 2, []),
        ([[5, 6]], [5, 4], 0, [5]),
        ([[5, 6], [7]], [7, 5], 2, [6, 5]),
        ([[5, 5, 6]], [5, 5, 5], 2, [6, 5]),
        # Only one of two that are begun counts: 6 would go on with the one, 7 with the other.
        ([[4, 5, 6], [5, 7]], [4, 5], 2, [6, 4, 7, 5]),
        ([[4, 5], [5, 4]], [4, 5, 4], 4, []),
    ],
)
def test_what_is_written_and_what_may_follow(
    terms: list[list[int]], ids: list[int], written: int, wanted: list[int]
) -> None:
    # Whoever extends a hypothesis knows of it already what occurs.
    for known in (ids, ids[:-1]):
        assert num_written(terms, ids, [occurs(term, known) for term in terms]) == written
    assert wanted_pieces(terms, ids) == wanted


@pytest.mark.parametrize("beam_size", [1, 2, 4])
@pytest.mark.parametrize("engine", ["packed", "reference"])
def test_every_hypothesis_has_every_term(tiny: Transformer, engine: str, beam_size: int) -> None:
    made, draw = build_engine(tiny, engine), random.Random(beam_size)  # type: ignore[arg-type]
    requests = [
        Request(
            [*draw.choices(range(4, 23), k=draw.randrange(1, 6)), 3],
            draw.randrange(3, 9),
            prefix=draw.choices(range(4, 23), k=draw.randrange(3)),
            terms=[draw.choices(range(4, 23), k=draw.randrange(1, 4)) for _ in range(n % 4)],
        )
        for n in range(16)
    ]
    options = SearchOptions(beam_size, n_best=beam_size)

    found = search_all(made, options, requests, slots=5)

    for request, hypotheses in zip(requests, found, strict=True):
        assert hypotheses
        for h in hypotheses:
            assert all(occurs(term, h.ids) for term in request.terms)
            assert h.ids[: len(request.prefix)] == tuple(request.prefix)
    without = [n for n, request in enumerate(requests) if not request.terms]
    plain = search_all(made, options, [requests[n] for n in without])
    assert [found[n][0].ids for n in without] == [f[0].ids for f in plain]


def test_a_sentence_does_not_hear_of_the_terms_of_another(scripted: Any) -> None:
    # With patience a beam of one would go on after the end of (); greedy search does not.
    table = {(7,): {3: 0.42, 4: 0.40, 5: 0.18}, (7, 4): {3: 1.0}, (8,): {5: 0.6, 3: 0.4}}
    options = SearchOptions(1, 0.6, patience=2.0)
    plain, other = Request([7, 3], 5), Request([8, 3], 5, terms=[[5]])

    (alone,) = search_all(scripted(table), options, [plain])
    beside, with_terms = search_all(scripted(table), options, [plain, other])

    assert beside == alone
    assert [h.ids for h in alone] == [()]
    assert with_terms[0].ids == (5,)


@pytest.mark.parametrize("other", [{"sampling": Sampling()}, {"groups": 2}], ids=str)
def test_terms_need_a_beam_of_one_group(tiny: Transformer, other: dict) -> None:
    options, requests = SearchOptions(**other), [Request([5, 3], 4, terms=[[5]])]

    with pytest.raises(ConfigError, match="terms that must occur, but tokens are drawn or"):
        search_all(build_engine(tiny), options, requests)
