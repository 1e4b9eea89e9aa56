"""What leaves out some of its source loses, as worked out by hand; nothing better is missed."""

import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from headway.decoding.attention import AttentionReader
from headway.decoding.beam import BeamSearch
from headway.decoding.build_engine import build_engine
from headway.decoding.build_search import build_search, search_all
from headway.decoding.coverage import coverage_penalty
from headway.decoding.greedy import GreedySearch
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.options import Sampling, SearchOptions
from headway.decoding.packed.engine import PackedEngine
from headway.decoding.packed.torch_backend import TorchBackend
from headway.decoding.request import Request
from headway.decoding.sampling import SamplingSearch
from headway.decoding.streaming import stream_search
from headway.errors import ConfigError
from headway.model.transformer import Transformer


class ScriptedAttention:
    """Cover the one source piece of a sentence as much as a table says, or else whole."""

    def __init__(self, covered: dict[tuple[int, ...], float]) -> None:
        self.covered = covered
        self.asked: list[tuple[int, ...]] = []

    def __call__(
        self, source_ids: Sequence[int], targets: Sequence[Sequence[int]], /
    ) -> list[Tensor]:
        assert len(source_ids) == 2
        self.asked += map(tuple, targets)
        return [
            torch.tensor(
                [[self.covered.get(tuple(ids), 1.0) / (len(ids) + 1)] * 2] * (len(ids) + 1)
            )
            for ids in targets
        ]


def test_the_penalty_by_hand() -> None:
    # Sums over the target: .5 + .25 + .05 = .8, .3 + .5 + .6 = 1.4 that counts as 1, .2; END's
    # own column would be .6.
    weights = torch.tensor([[0.5, 0.3, 0.1, 0.1], [0.25, 0.5, 0.05, 0.2], [0.05, 0.6, 0.05, 0.3]])
    expected = 0.2 * (math.log(0.8) + math.log(1.0) + math.log(0.2))
    assert coverage_penalty(weights, 0.2) == pytest.approx(expected, abs=1e-7)


@given(
    seed=st.integers(0, 99),
    steps=st.integers(1, 6),
    pieces=st.integers(0, 5),
    beta=st.floats(0, 3),
)
def test_laws_of_the_penalty(seed: int, steps: int, pieces: int, beta: float) -> None:
    stream = torch.Generator().manual_seed(seed)
    weights = (3 * torch.randn(steps, pieces + 1, generator=stream)).softmax(dim=1)
    value = coverage_penalty(weights, beta)

    assert value <= 0
    assert value == pytest.approx(beta * coverage_penalty(weights, 1.0))
    assert coverage_penalty(weights.flip(0), beta) == pytest.approx(value)  # any order of steps
    # More steps cover more, and in the end all is covered.
    assert coverage_penalty(torch.cat([weights, weights]), beta) >= value
    assert coverage_penalty(weights.clamp(min=1e-3).repeat(1000, 1), beta) == 0


def test_a_piece_that_nothing_looks_at_leaves_the_score_a_number() -> None:
    value = coverage_penalty(torch.tensor([[0.0, 0.0, 1.0]]), 0.5)
    assert value == pytest.approx(math.log(torch.finfo(torch.float32).tiny))


TABLE = {
    (7,): {4: 0.6, 5: 0.4},
    (7, 4): {3: 1.0},
    (7, 5): {3: 1.0},
}


@pytest.mark.parametrize(("beta", "best"), [(0.2, (4,)), (0.3, (5,))])
def test_it_turns_the_ranking_around_when_it_is_large_enough(
    scripted: Any, beta: float, best: tuple[int, ...]
) -> None:
    # log .6 - log .4 = .405; covered .2 of the source: log .2 = -1.609. The two meet at .252.
    attend = ScriptedAttention({(4,): 0.2, (5,): 1.0})
    options = SearchOptions(2, 0.0, 2, coverage_penalty=beta)

    (found,) = search_all(scripted(TABLE), options, [Request([7, 3], 9)], attend=attend)

    scores = {(4,): math.log(0.6) + beta * math.log(0.2), (5,): math.log(0.4)}
    assert found[0].ids == best
    for h in found:
        assert h.score == pytest.approx(scores[h.ids], abs=1e-6)
        assert h.log_prob == pytest.approx(math.log({4: 0.6, 5: 0.4}[h.ids[0]]), abs=1e-6)


def test_a_live_hypothesis_is_waited_for_while_it_may_cover_what_the_finished_do_not(
    scripted: Any,
) -> None:
    # After two steps () with .5 and (4,) with .2 have ended, which is enough for a beam of 2, and
    # (5, 4) lives with .2, worse than (): without coverage the search is over. () covers .1 of
    # the source, though: log .5 + .7 log .1 = -2.30, and (5, 4) with log .2 = -1.61 may be better.
    table = {
        (7,): {3: 0.5, 4: 0.3, 5: 0.2},
        (7, 4): {3: 0.7, 4: 0.3},
        (7, 5): {4: 1.0},
        (7, 5, 4): {3: 1.0},
        (7, 4, 4): {3: 1.0},
    }
    attend = ScriptedAttention({(): 0.1, (4,): 0.1, (5, 4): 1.0, (4, 4): 0.1})
    covering = SearchOptions(2, 0.0, coverage_penalty=0.7)

    ((free,),) = search_all(scripted(table), SearchOptions(2, 0.0), [Request([7, 3], 9)])
    ((best,),) = search_all(scripted(table), covering, [Request([7, 3], 9)], attend=attend)

    assert free.ids == ()
    assert best.ids == (5, 4)
    assert best.score == pytest.approx(math.log(0.2), abs=1e-6)
    assert len(attend.asked) == len(set(attend.asked))  # of each hypothesis once


def test_the_pass_is_made_only_when_a_sentence_would_be_done_without_it(scripted: Any) -> None:
    # The good hypothesis ends last; until then others end that nobody needs to know more about.
    table = {
        (7,): {4: 0.98, 3: 0.02},
        (7, 4): {4: 0.98, 3: 0.02},
        (7, 4, 4): {4: 0.98, 3: 0.02},
        (7, 4, 4, 4): {3: 1.0},
    }
    attend = ScriptedAttention({})
    passes = []

    def counting(source_ids: Sequence[int], targets: Sequence[Sequence[int]], /) -> list[Tensor]:
        passes.append(len(targets))
        return attend(source_ids, targets)

    options = SearchOptions(2, 0.0, coverage_penalty=0.2)
    ((best,),) = search_all(scripted(table), options, [Request([7, 3], 9)], attend=counting)

    assert best.ids == (4, 4, 4)
    assert len(passes) == 1  # three had ended, enough for a beam of 2, before the last one did


def test_a_stream_says_nothing_that_coverage_may_take_back(scripted: Any) -> None:
    # (4,) with .42 and (5,) with .3 end at the second step, when all that live begin with 4. Only
    # at the end it is known that (4,) covers a tenth.
    table = {
        (7,): {4: 0.7, 5: 0.3},
        (7, 4): {3: 0.6, 4: 0.39, 5: 0.01},
        (7, 5): {3: 1.0},
    }
    attend = ScriptedAttention({(4,): 0.1, (4, 4): 0.1, (4, 5): 0.1})
    options = SearchOptions(2, 0.0, patience=2.0, coverage_penalty=1.0)
    search = build_search(options, attend=attend)

    *bits, last = stream_search(scripted(table), search, Request([7, 3], 9))

    assert last == (5,)
    assert bits == [(), ()]


@pytest.mark.parametrize(
    "options",
    [SearchOptions(1), SearchOptions(3), SearchOptions(4, groups=2),
     SearchOptions(sampling=Sampling())],
    ids=str,
)  # fmt: skip
def test_without_a_penalty_nobody_is_asked(tiny: Transformer, options: SearchOptions) -> None:
    def never(source_ids: Sequence[int], targets: Sequence[Sequence[int]], /) -> list[Tensor]:
        raise AssertionError

    requests = [Request([5, 8, 3], 6)]
    expected = search_all(build_engine(tiny), options, requests)
    assert search_all(build_engine(tiny), options, requests, attend=never) == expected


@pytest.mark.parametrize(
    "options",
    [
        SearchOptions(1, coverage_penalty=0.4),
        SearchOptions(3, n_best=3, coverage_penalty=0.4),
        SearchOptions(6, n_best=3, groups=2, coverage_penalty=0.4),
        SearchOptions(n_best=3, sampling=Sampling(seed=4), coverage_penalty=0.4),
    ],
    ids=str,
)
def test_all_engines_agree_alone_and_in_a_batch(tiny: Transformer, options: SearchOptions) -> None:
    attend = AttentionReader([tiny], 0)
    requests = [
        Request([*(4 + (n * k) % 19 for k in range(1, n % 5 + 2)), 3], 7, place=(n,))
        for n in range(14)
    ]
    packed = build_engine(tiny)
    expected = [search_all(packed, options, [r], attend=attend)[0] for r in requests]
    plain = PackedEngine(tiny, TorchBackend(torch.device("cpu"), "float32"))
    for engine in (packed, plain, build_engine(tiny, "reference")):
        for slots, workers in ((None, 1), (3, 2)):
            found = search_all(
                engine, options, requests, attend=attend, slots=slots, workers=workers
            )
            for ours, theirs in zip(found, expected, strict=True):
                _assert_same(ours, theirs)


def _assert_same(ours: Sequence[Hypothesis], theirs: Sequence[Hypothesis]) -> None:
    assert [h.ids for h in ours] == [h.ids for h in theirs]
    assert [h.score for h in ours] == pytest.approx([h.score for h in theirs], abs=1e-4)


def test_in_int8_the_coverage_of_what_was_found_is_the_modules_own(tiny: Transformer) -> None:
    attend = AttentionReader([tiny])
    options = SearchOptions(4, n_best=4, coverage_penalty=0.4)
    engine = build_engine(tiny, precision="int8")
    request = Request([5, 8, 12, 3], 6)

    (found,) = search_all(engine, options, [request], attend=attend)

    for h in found:
        (weights,) = attend(request.source_ids, [h.ids])
        covered = options.score(h.log_prob, len(h.ids) + 1) + coverage_penalty(weights, 0.4)
        assert h.score == pytest.approx(covered, abs=1e-6)


def test_a_search_that_is_told_no_attention_refuses_the_penalty() -> None:
    for options in (
        SearchOptions(1, coverage_penalty=0.2),
        SearchOptions(2, coverage_penalty=0.2),
        SearchOptions(2, groups=2, coverage_penalty=0.2),
        SearchOptions(sampling=Sampling(), coverage_penalty=0.2),
    ):
        for terms in (False, not options.sampling and options.groups == 1):
            with pytest.raises(
                ConfigError, match=r"coverage_penalty is 0.2, but the search has no attention"
            ):
                build_search(options, terms=terms)
    for search in (GreedySearch, BeamSearch):
        with pytest.raises(ConfigError, match="Give the search `attend`"):
            search(SearchOptions(1, coverage_penalty=0.2))
    with pytest.raises(ConfigError, match="Give the search `attend`"):
        SamplingSearch(SearchOptions(coverage_penalty=0.2), Sampling())
