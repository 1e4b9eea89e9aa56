"""Searches find what an exhaustive search finds, and score it as the model does."""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import headway
from headway.data.tokenizer import END_ID, START_ID
from headway.decoding.attention import AttentionReader
from headway.decoding.batch import StepwiseBatch
from headway.decoding.beam import BeamSearch
from headway.decoding.build_search import search_all
from headway.decoding.engine import Ints
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.options import SearchOptions
from headway.decoding.reference import ReferenceEngine
from headway.decoding.request import Request
from headway.decoding.rules import rules_of
from headway.decoding.run_search import run_search
from headway.model.transformer import Transformer

Build = Callable[..., Transformer]

# Special pieces and two words: 0 padding, 1 unknown, 2 start, 3 end, 4 and 5.
VOCABULARY = 6
WORDS = (4, 5)
seeds = st.integers(0, 10_000)
sentences = st.lists(st.lists(st.sampled_from(WORDS), max_size=3), min_size=1, max_size=3)
alphas = st.sampled_from([0.0, 0.6, 1.0, 2.0])


def model_of(build: Build, seed: int) -> Transformer:
    return build(
        seed, source_vocab_size=VOCABULARY, target_vocab_size=VOCABULARY, num_decoder_layers=1
    )


def requests_of(
    sources: Sequence[Sequence[int]],
    limits: Sequence[int],
    prefixes: Sequence[Sequence[int]] | None = None,
) -> list[Request]:
    return [
        Request([*source, END_ID], limit, prefix)
        for source, limit, prefix in zip(
            sources, limits, prefixes or [()] * len(sources), strict=True
        )
    ]


def stepwise(
    engine: Any, search: Any, jobs: Iterable[tuple[int, Request]], *, slots: int, **limits: int
) -> Iterator[tuple[int, list[Hypothesis]]]:
    return run_search(StepwiseBatch(engine, search, slots), jobs, slots=slots, **limits)


def teacher_forced(model: Transformer, source: Sequence[int], ids: Sequence[int]) -> float:
    """Return the log-probability of these pieces and the end symbol, one pass over all."""
    logits = model(torch.tensor([[*source, END_ID]]), torch.tensor([[START_ID, *ids]]))
    log_probs = logits[0].double().log_softmax(-1)
    return float(sum(log_probs[t, piece] for t, piece in enumerate([*ids, END_ID])))


def brute_force(
    model: Transformer, source: Sequence[int], limit: int, alpha: float, prefix: Sequence[int]
) -> list[tuple[tuple[int, ...], float, float, bool]]:
    """Score every sequence of words up to the limit that begins with the prefix, best first."""
    found = []
    for length in range(max(limit, len(prefix)) + 1):
        for ids in itertools.product(WORDS, repeat=length):
            if length < len(prefix) or list(ids[: len(prefix)]) != list(prefix):
                continue
            total = teacher_forced(model, source, ids)
            # |Y| counts the end symbol.
            penalty = ((5 + length + 1) / 6) ** alpha
            found.append((ids, total, total / penalty, length < limit))
    return sorted(found, key=lambda item: item[2], reverse=True)


def assert_same(ours: list[Hypothesis], expected: list[tuple]) -> None:
    assert [h.ids for h in ours] == [ids for ids, *_ in expected]
    assert [h.log_prob for h in ours] == pytest.approx([e[1] for e in expected], abs=1e-4)
    assert [h.score for h in ours] == pytest.approx([e[2] for e in expected], abs=1e-4)
    assert [h.complete for h in ours] == [e[3] for e in expected]


@settings(max_examples=25)
@given(seed=seeds, sources=sentences, alpha=alphas, data=st.data())
def test_a_wide_beam_equals_brute_force(
    build: Build,
    seed: int,
    sources: list[list[int]],
    alpha: float,
    data: st.DataObject,
) -> None:
    model = model_of(build, seed)
    limits = [data.draw(st.integers(0, 3)) for _ in sources]
    # 1 + 2 + 4 + 8 sequences are possible; 16 hypotheses hold them all.
    options = SearchOptions(beam_size=16, length_penalty=alpha, n_best=16)

    with torch.inference_mode():
        found = search_all(ReferenceEngine(model), options, requests_of(sources, limits))
        expected = [
            brute_force(model, source, limit, alpha, ())
            for source, limit in zip(sources, limits, strict=True)
        ]

    for ours, theirs in zip(found, expected, strict=True):
        assert_same(ours, theirs)


@settings(max_examples=25)
@given(seed=seeds, sources=sentences, alpha=alphas, data=st.data())
def test_a_wide_beam_with_forced_prefixes_equals_brute_force(
    build: Build,
    seed: int,
    sources: list[list[int]],
    alpha: float,
    data: st.DataObject,
) -> None:
    model = model_of(build, seed)
    limits = [data.draw(st.integers(0, 3)) for _ in sources]
    words = st.lists(st.sampled_from(WORDS), max_size=4)  # also longer than the limit
    prefixes = [data.draw(words) for _ in sources]
    options = SearchOptions(beam_size=16, length_penalty=alpha, n_best=16)
    requests = requests_of(sources, limits, prefixes)

    with torch.inference_mode():
        found = search_all(ReferenceEngine(model), options, requests)
        expected = [
            brute_force(model, source, limit, alpha, prefix)
            for source, limit, prefix in zip(sources, limits, prefixes, strict=True)
        ]

    for ours, theirs in zip(found, expected, strict=True):
        assert_same(ours, theirs)


def covered(model: Transformer, source: list[int], ids: Sequence[int]) -> float:
    """Sum log(min(attention to each piece, 1)) over the source, from a trace of the sentence."""
    with headway.trace(model) as seen:
        model(torch.tensor([[*source, END_ID]]), torch.tensor([[START_ID, *ids]]))
    name = seen.names("decoder.layers.*.cross_attention.weights")[-1]
    sums = seen[name][0].mean(dim=0).sum(dim=0)  # (S,)
    return sum(math.log(min(float(s), 1.0)) for s in sums[:-1])


@settings(max_examples=25)
@given(
    seed=seeds, sources=sentences, alpha=alphas, beta=st.sampled_from([0.2, 2.0]), data=st.data()
)
def test_a_wide_beam_with_a_coverage_penalty_equals_brute_force(
    build: Build,
    seed: int,
    sources: list[list[int]],
    alpha: float,
    beta: float,
    data: st.DataObject,
) -> None:
    model = model_of(build, seed)
    limits = [data.draw(st.integers(0, 3)) for _ in sources]
    n_best = data.draw(st.integers(1, 16))
    options = SearchOptions(16, alpha, n_best, coverage_penalty=beta)
    requests = requests_of(sources, limits)
    attend = AttentionReader([model])

    with torch.inference_mode():
        found = search_all(ReferenceEngine(model), options, requests, attend=attend)
        for source, limit, ours in zip(sources, limits, found, strict=True):
            theirs = [
                (ids, total, score + beta * covered(model, source, ids), complete)
                for ids, total, score, complete in brute_force(model, source, limit, alpha, ())
            ]
            theirs.sort(key=lambda item: item[2], reverse=True)
            assert_same(ours, theirs[:n_best])


@settings(max_examples=40)
@given(
    seed=seeds,
    sources=sentences,
    beam_size=st.integers(1, 4),
    beta=st.sampled_from([0.2, 2.0]),
    data=st.data(),
)
def test_a_narrow_beam_ranks_all_that_it_finished_and_stops_when_no_live_one_could_be_returned(
    build: Build,
    seed: int,
    sources: list[list[int]],
    beam_size: int,
    beta: float,
    data: st.DataObject,
) -> None:
    model = model_of(build, seed)
    n_best = data.draw(st.integers(1, beam_size))
    options = SearchOptions(beam_size, 0.6, n_best, coverage_penalty=beta)
    for source in sources:
        search = _Watched(options, attend=AttentionReader([model]))
        with torch.inference_mode():
            requests = enumerate(requests_of([source], [6]))
            ((_, found),) = stepwise(ReferenceEngine(model), search, requests, slots=1)
            by_hand = sorted(
                (
                    log_prob / ((6 + len(ids)) / 6) ** 0.6 + beta * covered(model, source, ids)
                    for ids, log_prob in search.ended
                ),
                reverse=True,
            )

        assert [h.score for h in found] == pytest.approx(by_hand[:n_best], abs=1e-4)
        # The best live one, as if it were to cover all.
        assert search.lived[-1] <= by_hand[:n_best][-1] + 1e-4


class _Watched(BeamSearch):
    """A beam search that tells what it finished and how good what lived was at each step."""

    def __init__(self, options: SearchOptions, attend: AttentionReader) -> None:
        super().__init__(options, attend=attend)
        self.ended: list[tuple[tuple[int, ...], float]] = []
        self.lived: list[float] = []

    def _add_finished(self, row: int, copy: int, log_prob: float, *, complete: bool = True) -> None:
        super()._add_finished(row, copy, log_prob, complete=complete)
        ids = tuple(self.ids[row, copy, : self.steps[row]].tolist())
        self.ended.append((ids, log_prob))

    def _can_improve(self, row: int, best: float) -> bool:
        self.lived.append(best / ((5 + int(self.steps[row])) / 6) ** 0.6)
        return super()._can_improve(row, best)


@settings(max_examples=60)
@given(seed=seeds, sources=sentences, data=st.data())
def test_what_is_dropped_for_want_of_hope_changes_nothing(
    build: Build, seed: int, sources: list[list[int]], data: st.DataObject
) -> None:
    engine = ReferenceEngine(model_of(build, seed))
    beam_size = data.draw(st.integers(1, 5))
    options = SearchOptions(
        beam_size,
        length_penalty=0.0,
        n_best=data.draw(st.integers(1, beam_size)),
        patience=data.draw(st.sampled_from([0.5, 1.0, 2.0])),
        min_length=data.draw(st.integers(0, 3)),
        repetition_penalty=data.draw(st.sampled_from([1.0, 1.5])),
        no_repeat_ngram=data.draw(st.sampled_from([0, 2])),
        prefix_bias=data.draw(st.sampled_from([1.0, 0.5])),
    )
    limits = [data.draw(st.integers(0, 8)) for _ in sources]
    prefixes = [data.draw(st.lists(st.sampled_from(WORDS), max_size=2)) for _ in sources]
    requests = requests_of(sources, limits, prefixes)
    search, whole = (kind(options, rules_of(options)) for kind in (BeamSearch, _Whole))

    with torch.inference_mode():
        ours, theirs = (
            dict(stepwise(engine, each, enumerate(requests), slots=2)) for each in (search, whole)
        )

    for index, expected in theirs.items():
        assert [h.ids for h in ours[index]] == [h.ids for h in expected]
        assert [h.complete for h in ours[index]] == [h.complete for h in expected]
        scores = [h.log_prob for h in expected]
        assert [h.log_prob for h in ours[index]] == pytest.approx(scores, abs=1e-5)


class _Whole(BeamSearch):
    """A beam search that lets hypotheses without hope live on."""

    ranks_by_score = False


def test_hypotheses_without_hope_are_not_computed(build: Build) -> None:
    requests = requests_of([[4, 5, 4], [5], [4, 4]], [8, 8, 8])
    rows = {_CountedBeam: 0, _CountedWhole: 0}

    with torch.inference_mode():
        for seed in range(10):
            engine = ReferenceEngine(model_of(build, seed))
            for kind in rows:
                search = kind(SearchOptions(4, length_penalty=0.0))
                list(stepwise(engine, search, enumerate(requests), slots=2))
                rows[kind] += search.count

    assert rows[_CountedBeam] < 0.8 * rows[_CountedWhole]


class _CountedBeam(BeamSearch):
    """A beam search that counts the rows which it asks for."""

    count = 0

    def rows(self) -> tuple[Ints, Ints]:
        rows = super().rows()
        self.count += len(rows[0])
        return rows


class _CountedWhole(_CountedBeam, _Whole):
    """The same of one that drops nothing."""


@settings(max_examples=40)
@given(seed=seeds, sources=sentences, alpha=alphas, data=st.data())
def test_a_beam_of_one_is_greedy_search(
    build: Build,
    seed: int,
    sources: list[list[int]],
    alpha: float,
    data: st.DataObject,
) -> None:
    engine = ReferenceEngine(model_of(build, seed))
    limits = [data.draw(st.integers(0, 6)) for _ in sources]
    prefixes = [data.draw(st.lists(st.sampled_from(WORDS), max_size=2)) for _ in sources]
    options = SearchOptions(beam_size=1, length_penalty=alpha)
    requests = requests_of(sources, limits, data.draw(st.sampled_from([None, prefixes])))

    with torch.inference_mode():
        beam = dict(stepwise(engine, BeamSearch(options), enumerate(requests), slots=2))
    greedy = search_all(engine, options, requests)

    for index, (theirs,) in enumerate(greedy):
        (ours,) = beam[index]
        assert (ours.ids, ours.complete) == (theirs.ids, theirs.complete)
        assert (ours.log_prob, ours.score) == pytest.approx((theirs.log_prob, theirs.score))


@settings(max_examples=25)
@given(seed=seeds, sources=sentences)
def test_greedy_takes_the_most_probable_piece_at_every_step(
    build: Build, seed: int, sources: list[list[int]]
) -> None:
    model = model_of(build, seed)

    with torch.inference_mode():
        requests = requests_of(sources, [5] * len(sources))
        found = search_all(ReferenceEngine(model), SearchOptions(beam_size=1), requests)
        for source, (hypothesis,) in zip(sources, found, strict=True):
            ids: list[int] = []
            while len(ids) < 5:
                logits = model(torch.tensor([[*source, END_ID]]), torch.tensor([[START_ID, *ids]]))
                choices = logits[0, -1, [END_ID, *WORDS]]
                if choices.argmax() == 0:
                    break
                ids.append(WORDS[int(choices.argmax()) - 1])
            assert list(hypothesis.ids) == ids
            assert hypothesis.complete == (len(ids) < 5)


@settings(max_examples=40)
@given(
    seed=seeds,
    sources=sentences,
    alpha=alphas,
    beam_size=st.integers(1, 6),
    data=st.data(),
)
def test_hypotheses_are_sorted_distinct_and_scored_as_the_model_scores_them(
    build: Build,
    seed: int,
    sources: list[list[int]],
    alpha: float,
    beam_size: int,
    data: st.DataObject,
) -> None:
    model = model_of(build, seed)
    limits = [data.draw(st.integers(1, 5)) for _ in sources]
    n_best = data.draw(st.integers(1, beam_size))
    options = SearchOptions(beam_size, alpha, n_best)

    with torch.inference_mode():
        found = search_all(ReferenceEngine(model), options, requests_of(sources, limits))
        for source, limit, hypotheses in zip(sources, limits, found, strict=True):
            scores = [h.score for h in hypotheses]
            assert 1 <= len(hypotheses) <= n_best
            assert scores == sorted(scores, reverse=True)
            assert len({h.ids for h in hypotheses}) == len(hypotheses)
            for h in hypotheses:
                assert set(h.ids) <= set(WORDS)
                assert len(h.ids) <= limit
                expected = teacher_forced(model, source, h.ids)
                assert h.log_prob == pytest.approx(expected, abs=1e-4)
                penalty = ((6 + len(h.ids)) / 6) ** alpha
                assert h.score == pytest.approx(h.log_prob / penalty, abs=1e-9)
                assert math.isfinite(h.score)


@settings(max_examples=20)
@given(seed=seeds, source=st.lists(st.sampled_from(WORDS), max_size=3))
def test_a_wider_beam_never_misses_what_an_exhaustive_one_ranks_first(
    build: Build, seed: int, source: list[int]
) -> None:
    engine = ReferenceEngine(model_of(build, seed))

    best = [
        search_all(engine, SearchOptions(beam_size=k), requests_of([source], [3]))[0][0].score
        for k in (1, 16)
    ]

    assert best[1] >= best[0] - 1e-5
