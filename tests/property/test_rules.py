"""A wide beam under a rule finds what an exhaustive search under the rule finds."""

import itertools
import math
import re
from collections.abc import Callable, Sequence

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from headway.data.tokenizer import END_ID, START_ID
from headway.decoding.build_search import search_all
from headway.decoding.options import SearchOptions
from headway.decoding.reference import ReferenceEngine
from headway.decoding.request import Request
from headway.model.transformer import Transformer

Build = Callable[..., Transformer]
Change = Callable[[Tensor, tuple[int, ...]], Tensor]
WORDS = (4, 5)
LIMIT = 4  # 31 sequences
seeds = st.integers(0, 10_000)
sources = st.lists(st.sampled_from(WORDS), max_size=3)
everything = SearchOptions(beam_size=32, n_best=32)


def model_of(build: Build, seed: int) -> Transformer:
    return build(seed, source_vocab_size=6, target_vocab_size=6, num_decoder_layers=1)


@torch.inference_mode()
def brute_force(
    model: Transformer,
    source: Sequence[int],
    allowed: Callable[[tuple[int, ...]], bool],
    change: Change = lambda logits, _: logits,
    options: SearchOptions = everything,
) -> dict[tuple[int, ...], tuple[float, float]]:
    """Return the log-probability and score of every sequence that is allowed."""
    found = {}
    for length in range(LIMIT + 1):
        for ids in itertools.product(WORDS, repeat=length):
            if not allowed(ids):
                continue
            logits = model(torch.tensor([[*source, END_ID]]), torch.tensor([[START_ID, *ids]]))[0]
            total = 0.0
            for t, piece in enumerate([*ids, END_ID]):
                total += float(change(logits[t].double(), ids[:t]).log_softmax(-1)[piece])
            size = length + 1
            penalty = ((5 + size) / 6) if options.length_form == "gnmt" else size
            found[ids] = total, total / penalty**options.length_penalty
    return found


def compare(
    build: Build,
    seed: int,
    source: Sequence[int],
    options: SearchOptions,
    allowed: Callable[[tuple[int, ...]], bool] = lambda ids: True,
    change: Change = lambda logits, _: logits,
    request: Request | None = None,
) -> None:
    model = model_of(build, seed)
    request = request or Request([*source, END_ID], LIMIT)

    (found,) = search_all(ReferenceEngine(model), options, [request])

    expected = brute_force(model, source, allowed, change, options)
    assert {h.ids for h in found} == set(expected)
    for h in found:
        assert (h.log_prob, h.score) == pytest.approx(expected[h.ids], abs=1e-4)
    assert [h.score for h in found] == sorted((h.score for h in found), reverse=True)


def has_repeat(ids: Sequence[int], n: int) -> bool:
    grams = [tuple(ids[i : i + n]) for i in range(len(ids) - n + 1)]
    return len(set(grams)) < len(grams)


@settings(max_examples=15)
@given(seed=seeds, source=sources, least=st.integers(1, 4))
def test_minimum_length(build: Build, seed: int, source: list[int], least: int) -> None:
    options = SearchOptions(32, n_best=32, min_length=least)
    compare(build, seed, source, options, lambda ids: len(ids) >= least)


@settings(max_examples=10)
@given(seed=seeds, source=sources, most=st.integers(0, 3))
def test_maximum_length(build: Build, seed: int, source: list[int], most: int) -> None:
    options = SearchOptions(32, n_best=32, max_length=most)
    compare(build, seed, source, options, lambda ids: len(ids) <= most)


@settings(max_examples=15)
@given(seed=seeds, source=sources, n=st.integers(1, 3))
def test_no_ngram_twice(build: Build, seed: int, source: list[int], n: int) -> None:
    options = SearchOptions(32, n_best=32, no_repeat_ngram=n)
    compare(build, seed, source, options, lambda ids: not has_repeat(ids, n))


@settings(max_examples=15)
@given(seed=seeds, source=sources, penalty=st.sampled_from([0.5, 1.2, 3.0]))
def test_repetition_penalty(build: Build, seed: int, source: list[int], penalty: float) -> None:
    def penalize(logits: Tensor, past: tuple[int, ...]) -> Tensor:
        logits = logits.clone()
        for piece in set(past):
            logits[piece] *= 1 / penalty if logits[piece] > 0 else penalty
        return logits

    options = SearchOptions(32, n_best=32, repetition_penalty=penalty)
    compare(build, seed, source, options, change=penalize)


@settings(max_examples=15)
@given(
    seed=seeds,
    source=sources,
    bias=st.sampled_from([0.1, 0.5, 0.99]),
    prefix=st.lists(st.sampled_from(WORDS), min_size=1, max_size=3),
)
def test_a_favoured_prefix(
    build: Build, seed: int, source: list[int], bias: float, prefix: list[int]
) -> None:
    def mix(logits: Tensor, past: tuple[int, ...]) -> Tensor:
        step = len(past)
        if step >= len(prefix) or list(past) != prefix[:step]:
            return logits
        probabilities = logits.softmax(-1) * (1 - bias)
        probabilities[prefix[step]] += bias
        return probabilities.log()

    options = SearchOptions(32, n_best=32, prefix_bias=bias)
    request = Request([*source, END_ID], LIMIT, prefix)
    compare(build, seed, source, options, change=mix, request=request)


@settings(max_examples=10)
@given(seed=seeds, source=sources, alpha=st.sampled_from([0.0, 0.7, 1.0, 2.0]))
def test_plain_length_normalization(
    build: Build, seed: int, source: list[int], alpha: float
) -> None:
    compare(build, seed, source, SearchOptions(32, alpha, 32, length_form="plain"))


@settings(max_examples=15)
@given(seed=seeds, source=sources, n=st.integers(1, 2), least=st.integers(0, 2))
def test_rules_hold_together_and_in_greedy_search(
    build: Build, seed: int, source: list[int], n: int, least: int
) -> None:
    model = model_of(build, seed)
    options = SearchOptions(1, no_repeat_ngram=n, min_length=least)

    ((found,),) = search_all(ReferenceEngine(model), options, [Request([*source, END_ID], LIMIT)])

    ids: list[int] = []
    total = 0.0
    with torch.inference_mode():
        while not ids or ids[-1] != END_ID:
            past = torch.tensor([[START_ID, *ids]])
            log_probs = model(torch.tensor([[*source, END_ID]]), past)[0, -1].log_softmax(-1)
            choices = [p for p in WORDS if not has_repeat([*ids, p], n)]
            choices += [END_ID] if len(ids) >= least else []
            choices = [END_ID] if len(ids) == LIMIT else choices
            ids.append(max(choices, key=lambda piece: float(log_probs[piece])))
            total += float(log_probs[ids[-1]])
    assert found.ids == tuple(ids[:-1])
    assert found.log_prob == pytest.approx(total, abs=1e-4)


@settings(max_examples=20)
@given(
    seed=seeds,
    source=sources,
    terms=st.lists(
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=2), min_size=1, max_size=2
    ),
    continuing=st.frozensets(st.sampled_from(WORDS), max_size=len(WORDS) - 1),
)
def test_terms_that_must_occur(
    build: Build, seed: int, source: list[int], terms: list[list[int]], continuing: frozenset[int]
) -> None:
    def has_all(ids: tuple[int, ...]) -> bool:
        text = "".join(map(str, ids))
        after = f"(?![{''.join(map(str, continuing))}])" if continuing else ""
        return all(re.search("".join(map(str, term)) + after, text) for term in terms)

    request = Request([*source, END_ID], LIMIT, terms=terms, continuing=continuing)
    compare(build, seed, source, everything, has_all, request=request)


@pytest.mark.parametrize("beam_size", [1, 3])
def test_where_nothing_may_follow_a_hypothesis_stays_as_it_is(build: Build, beam_size: int) -> None:
    # Two words, none twice, at least three pieces: after two words there is nothing left.
    options = SearchOptions(beam_size, min_length=3, no_repeat_ngram=1)

    ((found,),) = search_all(
        ReferenceEngine(model_of(build, 1)), options, [Request([4, END_ID], 9)]
    )

    assert sorted(found.ids) == [4, 5]
    assert not found.complete
    assert math.isfinite(found.score)
