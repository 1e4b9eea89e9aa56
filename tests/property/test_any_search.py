"""Whatever is asked for together, every promise holds at once, alone and in a batch."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.data.tokenizer import START_ID
from headway.decoding.attention import AttentionReader
from headway.decoding.build_engine import build_engine
from headway.decoding.build_search import build_search, search_all
from headway.decoding.coverage import coverage_penalty
from headway.decoding.options import Sampling, SearchOptions
from headway.decoding.request import Request
from headway.decoding.rules import Past
from headway.decoding.streaming import stream_search
from headway.decoding.terms import has_all_terms
from headway.model.transformer import Transformer

pieces = st.integers(4, 22)


@st.composite
def some_options(draw: st.DrawFn) -> SearchOptions:
    kind = draw(st.sampled_from(["beam", "beam", "groups", "sampling"]))
    groups = draw(st.integers(2, 3)) if kind == "groups" else 1
    beam_size = groups * draw(st.integers(1, 3))
    least = draw(st.integers(0, 3))
    sampling = None
    if kind == "sampling":
        sampling = Sampling(
            min_p=draw(st.sampled_from([0.0, 0.1])),
            seed=draw(st.integers(0, 5)),
            temperature=draw(st.sampled_from([0.5, 1.0, 2.0])),
            top_k=draw(st.integers(0, 4)),
            top_p=draw(st.sampled_from([0.5, 1.0])),
        )
    return SearchOptions(
        beam_size,
        draw(st.sampled_from([0.0, 0.6])),
        draw(st.integers(1, beam_size)),
        attention_layer=draw(st.none() | st.integers(0, 1)),
        coverage_penalty=draw(st.sampled_from([0.0, 0.4])),
        diversity=draw(st.sampled_from([0.0, 1.0])),
        groups=groups,
        length_form=draw(st.sampled_from(["gnmt", "plain"])),
        max_length=draw(st.none() | st.integers(least, 7)),
        min_length=least,
        no_repeat_ngram=draw(st.integers(0, 3)),
        patience=draw(st.sampled_from([0.5, 1.0, 2.0])),
        prefix_bias=draw(st.sampled_from([0.5, 1.0])),
        repetition_penalty=draw(st.sampled_from([1.0, 1.3])),
        sampling=sampling,
    )


@st.composite
def some_requests(draw: st.DrawFn) -> list[Request]:
    number = draw(st.integers(1, 5))
    return [
        Request(
            [*draw(st.lists(pieces, max_size=5)), 3],
            draw(st.integers(0, 8)),
            prefix=draw(st.lists(pieces, max_size=2)),
            place=(place,),
            terms=draw(st.lists(st.lists(pieces, min_size=1, max_size=2), max_size=2)),
            continuing=draw(st.frozensets(pieces, max_size=3)),
        )
        for place in range(number)
    ]


def log_prob(model: Transformer, request: Request, ids: Sequence[int]) -> float:
    target = torch.tensor([[START_ID, *ids]])
    with torch.inference_mode():
        logits = model(torch.tensor([list(request.source_ids)]), target)[0].log_softmax(-1)
    return float(logits.gather(1, torch.tensor([*ids, 3])[:, None]).sum())


@pytest.mark.parametrize("engine", ["packed", "reference"])
@settings(max_examples=60)
@given(options=some_options(), requests=some_requests(), seed=st.integers(0, 50))
def test_all_that_was_promised_holds(
    build: Callable[..., Transformer],
    engine: Any,
    options: SearchOptions,
    requests: list[Request],
    seed: int,
) -> None:
    model = build(seed)
    made = build_engine(model, engine)
    if options.sampling or options.groups > 1:
        requests = [Request(r.source_ids, r.max_length, r.prefix, place=r.place) for r in requests]

    attend = AttentionReader([model], options.attention_layer)

    found = search_all(made, options, requests, attend=attend, slots=2)

    for request, hypotheses in zip(requests, found, strict=True):
        assert 1 <= len(hypotheses) <= options.n_best
        assert [h.score for h in hypotheses] == sorted((h.score for h in hypotheses), reverse=True)
        for h in hypotheses:
            _check(model, options, request.under(options), h)
            (weights,) = attend(request.source_ids, [h.ids])
            covered = coverage_penalty(weights, options.coverage_penalty)
            own = options.score(h.log_prob, len(h.ids) + 1)
            assert h.score == pytest.approx(own + covered, abs=1e-4)
        (alone,) = search_all(made, options, [request], attend=attend)
        assert [h.ids for h in alone] == [h.ids for h in hypotheses]
        search = build_search(options, attend=attend, terms=bool(request.terms))
        *steps, last = stream_search(made, search, request)
        assert last == hypotheses[0].ids
        assert all(step == last[: len(step)] for step in steps)


def _check(model: Transformer, options: SearchOptions, request: Request, h: Any) -> None:
    assert list(h.ids[: len(request.prefix)]) == list(request.prefix)
    assert len(h.ids) <= max(request.max_length, len(request.prefix))
    assert not set(h.ids) & {0, 1, 2, 3}
    if h.complete:  # the end was chosen freely
        assert len(h.ids) >= options.min_length
        assert has_all_terms(Past(request, h.ids))
        if options.repetition_penalty == 1 and options.prefix_bias == 1:
            assert h.log_prob == pytest.approx(log_prob(model, request, h.ids), abs=1e-4)
    if n := options.no_repeat_ngram:
        grams = [h.ids[i : i + n] for i in range(len(h.ids) - n + 1)]
        # What lies in a prefix was forced.
        for place in range(max(len(request.prefix) - n + 1, 0), len(grams)):
            assert grams[place] not in grams[:place]
