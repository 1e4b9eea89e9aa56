"""Terms that must occur do occur, in beams of any size, and banks are counted rightly."""

import random
from typing import Any

import pytest

from headway.decoding.build_engine import build_engine
from headway.decoding.build_search import search_all
from headway.decoding.options import Sampling, SearchOptions
from headway.decoding.request import Request
from headway.decoding.rules import Past
from headway.decoding.terms import first_occurrences, has_all_terms, num_written, wanted_pieces
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
        ([[4, 5], [5, 4]], [4, 5, 4], 3, []),  # the 5 is counted once
        ([[5], [5, 6]], [5], 1, [6, 5]),
    ],
)
def test_what_is_written_and_what_may_follow(
    terms: list[list[int]], ids: list[int], written: int, wanted: list[int]
) -> None:
    request = Request([3], 9, terms=terms)
    for known in (ids, ids[:-1]):  # the last piece may be counted already
        assert num_written(Past(request, ids), first_occurrences(Past(request, known))) == written
    assert wanted_pieces(Past(request, ids)) == wanted


@pytest.mark.parametrize(
    ("ids", "written", "wanted"),
    [
        ([5, 6], 2, [3]),  # the end, because any other piece may continue the word
        ([5, 6, 4], 2, []),
        ([5, 6, 8], 0, [5]),
        ([5, 6, 4, 8], 2, []),
        ([5, 6, 8, 5], 1, [6, 5]),
        ([5, 6, 8, 5, 6], 2, [3]),
        ([5, 6, 4, 5, 6, 8], 2, []),
    ],
)
def test_a_term_that_a_piece_continues_does_not_occur(
    ids: list[int], written: int, wanted: list[int]
) -> None:
    request = Request([3], 9, terms=[[5, 6]], continuing=frozenset({8, 9}))
    before = first_occurrences(Past(request, ids[:-1]))

    assert num_written(Past(request, ids), before) == written
    assert has_all_terms(Past(request, ids)) is (written == 2)
    assert wanted_pieces(Past(request, ids)) == wanted


@pytest.mark.parametrize("begins_words", [False, True])
@pytest.mark.parametrize("beam_size", [1, 2, 4])
@pytest.mark.parametrize("engine", ["packed", "reference"])
def test_every_hypothesis_has_every_term(
    tiny: Transformer, engine: str, beam_size: int, begins_words: bool
) -> None:
    # Terms begin with a piece from 4 to 8; with begins_words the others continue words.
    made, draw = build_engine(tiny, engine), random.Random(beam_size)  # type: ignore[arg-type]
    requests = [
        Request(
            [*draw.choices(range(4, 23), k=draw.randrange(1, 6)), 3],
            draw.randrange(3, 9),
            prefix=draw.choices(range(4, 23), k=draw.randrange(3)),
            terms=[
                [draw.randrange(4, 9), *draw.choices(range(4, 23), k=draw.randrange(3))]
                for _ in range(n % 4)
            ],
            continuing=frozenset(range(9, 23) if begins_words else ()),
        )
        for n in range(16)
    ]
    options = SearchOptions(beam_size, n_best=beam_size)

    found = search_all(made, options, requests, slots=5)

    for request, hypotheses in zip(requests, found, strict=True):
        assert hypotheses
        for h in hypotheses:
            assert has_all_terms(Past(request, h.ids))
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

    with pytest.raises(ConfigError, match="Terms that must occur cannot be combined with"):
        search_all(build_engine(tiny), options, requests)
