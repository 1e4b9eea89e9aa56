"""Under a list of pieces each sentence is translated as if its list were the vocabulary."""

import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.data.tokenizer import END_ID, START_ID
from headway.decoding.attention import AttentionReader
from headway.decoding.build_engine import build_engine
from headway.decoding.build_search import build_batch, build_search, search_all
from headway.decoding.coverage import coverage_penalty
from headway.decoding.engine import Engine
from headway.decoding.ensemble import EnsembleEngine
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.options import Sampling, SearchOptions
from headway.decoding.packed.engine import PackedEngine
from headway.decoding.packed.torch_backend import TorchBackend
from headway.decoding.reference import ReferenceEngine
from headway.decoding.request import Request
from headway.decoding.streaming import stream_search
from headway.decoding.workers import search_with_workers
from headway.kernels import dispatch
from headway.model.transformer import Transformer

Build = Callable[..., Transformer]
VOCABULARY = 23
EVERYTHING = np.arange(VOCABULARY)

SEARCHES = {
    "greedy": SearchOptions(1),
    "beam": SearchOptions(4, n_best=4),
    "groups": SearchOptions(4, n_best=3, groups=2),
    "sampling": SearchOptions(n_best=3, sampling=Sampling(seed=2)),
    "narrowed": SearchOptions(n_best=2, sampling=Sampling(seed=2, top_k=5, top_p=0.9, min_p=0.01)),
    "rules": SearchOptions(
        3, n_best=2, min_length=3, no_repeat_ngram=2, repetition_penalty=1.3, prefix_bias=0.6
    ),
}
each_search = pytest.mark.parametrize("options", SEARCHES.values(), ids=SEARCHES)


def engines(model: Transformer) -> dict[str, Engine[Any]]:
    cpu = torch.device("cpu")
    return {
        "packed": build_engine(model),
        "plain": PackedEngine(model, TorchBackend(cpu)),
        "reference": ReferenceEngine(model),
        "ensemble": EnsembleEngine([build_engine(model), ReferenceEngine(model)]),
    }


def some_requests(seed: int, count: int) -> list[Request]:
    draw = random.Random(seed)
    return [
        Request(
            [*(draw.randrange(4, VOCABULARY) for _ in range(draw.randrange(9))), END_ID],
            draw.randrange(3, 9),
            prefix=[draw.randrange(4, VOCABULARY) for _ in range(draw.randrange(2))],
            place=(number,),
        )
        for number in range(count)
    ]


def restricted(requests: list[Request], seed: int) -> list[Request]:
    """Give each sentence a list of its own, from no piece to most."""
    draw = random.Random(seed)
    return [
        request.restricted(
            np.array(sorted(draw.sample(range(4, VOCABULARY), draw.randrange(15))), dtype=np.int64)
        )
        for request in requests
    ]


def assert_same(ours: list[list[Hypothesis]], theirs: list[list[Hypothesis]]) -> None:
    for mine, other in zip(ours, theirs, strict=True):
        assert [h.ids for h in mine] == [h.ids for h in other]
        assert [h.complete for h in mine] == [h.complete for h in other]
        assert [h.score for h in mine] == pytest.approx([h.score for h in other], abs=1e-4)


@each_search
@pytest.mark.parametrize("engine", ["packed", "plain", "reference", "ensemble"])
def test_a_list_of_everything_changes_nothing(
    tiny: Transformer, options: SearchOptions, engine: str
) -> None:
    made, requests = engines(tiny)[engine], some_requests(1, 12)

    found = search_all(made, options, [r.restricted(EVERYTHING) for r in requests], slots=5)

    assert_same(found, search_all(made, options, requests, slots=5))


@pytest.mark.parametrize("precision", ["bfloat16", "int8"])
def test_a_list_of_everything_changes_little_where_the_projection_was_rounded(
    build: Build, precision: Any
) -> None:
    made, requests = build_engine(build(d_model=128), precision=precision), some_requests(1, 30)

    found = search_all(made, SearchOptions(1), [r.restricted(EVERYTHING) for r in requests])

    without = search_all(made, SearchOptions(1), requests)
    same = sum(f[0].ids == w[0].ids for f, w in zip(found, without, strict=True))
    assert same >= 0.8 * len(requests)


@each_search
@settings(max_examples=8)
@given(seed=st.integers(0, 999))
def test_nothing_but_the_list_is_written_and_scores_are_of_the_list_alone(
    build: Build, options: SearchOptions, seed: int
) -> None:
    model = build(seed)
    requests = restricted(some_requests(seed, 6), seed)

    found = search_all(build_engine(model), options, requests, slots=2)

    changed = options.repetition_penalty != 1
    for request, hypotheses in zip(requests, found, strict=True):
        assert request.allowed is not None
        for h in hypotheses:
            assert set(h.ids) <= set(request.allowed.tolist()) - {0, 1, 2}
            if len(h.ids) >= len(request.prefix) and not changed and options.prefix_bias == 1:
                assert list(h.ids[: len(request.prefix)]) == list(request.prefix)
            if not changed and (h.complete or len(h.ids) >= request.max_length):
                assert h.log_prob == pytest.approx(log_prob(model, request, h.ids), abs=1e-3)


def log_prob(model: Transformer, request: Request, ids: tuple[int, ...]) -> float:
    """Add up what the model says of the pieces of the list, normalized over the list."""
    with torch.inference_mode():
        logits = model(torch.tensor([list(request.source_ids)]), torch.tensor([[START_ID, *ids]]))
    own = logits[0][:, torch.from_numpy(request.allowed)].log_softmax(-1)
    places = torch.from_numpy(request.places([*ids, END_ID]))
    return float(own.gather(1, places[:, None]).sum())


@each_search
@settings(max_examples=4)
@given(seed=st.integers(0, 999))
def test_alone_in_any_batch_in_any_order_on_any_engine_a_sentence_gets_the_same(
    build: Build, options: SearchOptions, seed: int
) -> None:
    requests = restricted(some_requests(seed, 14), seed)
    expected = None
    for name, engine in engines(build(seed % 9)).items():
        # An ensemble's logits are log-probabilities, of which a penalty makes something else.
        if expected is None or (name == "ensemble" and options.repetition_penalty != 1):
            expected = [search_all(engine, options, [request])[0] for request in requests]
        for slots in (3, 64):
            assert_same(search_all(engine, options, requests, slots=slots), expected)
            assert_same(shuffled(engine, options, requests, slots), expected)


def shuffled(engine: Engine[Any], options: SearchOptions, requests: list[Request], slots: int):
    """Search in some order with refill, not longest first; give back the order of the requests."""
    order = list(enumerate(requests))
    random.Random(slots).shuffle(order)
    make = partial(build_batch, engine, options, lists=True)
    found = search_with_workers(make, order, workers=1, slots=slots, max_tokens=10**6)
    return [hypotheses for _, hypotheses in sorted(found, key=lambda result: result[0])]


@pytest.mark.parametrize("beam_size", [1, 3])
def test_integers_give_the_very_same_bits_in_every_batch(build: Build, beam_size: int) -> None:
    compiled = pytest.importorskip("headway.decoding.packed.numba_backend")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dispatch, "INT8_WEIGHTS", 0)
        engine = PackedEngine(build(), compiled.NumbaBackend("int8"))
    requests, options = restricted(some_requests(4, 20), 4), SearchOptions(beam_size)

    alone = [search_all(engine, options, [request])[0] for request in requests]

    for slots in (7, 64):
        assert shuffled(engine, options, requests, slots) == alone


@settings(max_examples=6)
@given(seed=st.integers(0, 99), size=st.integers(1, 4))
def test_a_wide_beam_finds_the_best_of_all_that_the_list_can_write(
    build: Build, seed: int, size: int
) -> None:
    """Brute force: every sequence of these pieces up to the limit."""
    model, draw, limit = build(seed), random.Random(seed), 3
    own = np.array(sorted(draw.sample(range(4, VOCABULARY), size)))
    request = Request([5, 7, 11, END_ID], limit).restricted(own)
    texts = [ids for length in range(limit + 1) for ids in product(own.tolist(), repeat=length)]
    options = SearchOptions((size + 1) ** limit, 0.6)
    best = max(texts, key=lambda ids: options.score(log_prob(model, request, ids), len(ids) + 1))

    for engine in engines(model).values():
        ((found,),) = search_all(engine, options, [request])
        assert found.ids == best


def test_terms_and_prefixes_are_written_though_the_list_has_them_not(tiny: Transformer) -> None:
    poor = np.array([9, 10])
    request = Request([5, 7, END_ID], 9, prefix=[20], terms=[[21, 17], [6]]).restricted(poor)

    for engine in engines(tiny).values():
        for h in search_all(engine, SearchOptions(6, n_best=3), [request])[0]:
            assert h.ids[0] == 20
            assert (21, 17) in pairwise(h.ids)
            assert 6 in h.ids
            assert set(h.ids) <= {9, 10, 20, 21, 17, 6}


@each_search
def test_a_stream_is_the_translation(tiny: Transformer, options: SearchOptions) -> None:
    options = replace(options, length_penalty=1.0)
    for request in restricted(some_requests(3, 9), 3):
        engine = build_engine(tiny)
        bits = list(stream_search(engine, build_search(options), request))
        assert bits[-1] == search_all(engine, options, [request])[0][0].ids
        for earlier, later in pairwise(bits):
            assert later[: len(earlier)] == earlier


@pytest.mark.parametrize(
    "options",
    [
        SearchOptions(1, coverage_penalty=0.4),
        SearchOptions(3, n_best=3, coverage_penalty=0.4),
        SearchOptions(n_best=3, sampling=Sampling(seed=4), coverage_penalty=0.4),
    ],
)
@torch.inference_mode()
def test_coverage_is_that_of_the_pieces_written(tiny: Transformer, options: SearchOptions) -> None:
    attend = AttentionReader([tiny])
    requests = restricted(some_requests(5, 9), 6)

    found = search_all(build_engine(tiny), options, requests, attend=attend)

    for request, hypotheses in zip(requests, found, strict=True):
        for one in hypotheses:
            (weights,) = attend(request.source_ids, [one.ids])
            plain = options.score(one.log_prob, len(one.ids) + 1)
            assert one.score == pytest.approx(plain + coverage_penalty(weights, 0.4), abs=1e-4)


def test_some_with_a_list_and_some_without_is_a_mistake(tiny: Transformer) -> None:
    requests = some_requests(1, 2)
    mixed = [requests[0], requests[1].restricted(EVERYTHING)]
    with pytest.raises(AssertionError, match="or none has"):
        search_all(build_engine(tiny), SearchOptions(1), mixed, slots=2)
