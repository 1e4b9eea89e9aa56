"""A search record is a tree that says what was decided, and no more than an unrecorded search."""

import json
import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.data.tokenizer import END_ID, START_ID
from headway.decoding.attention import AttentionReader
from headway.decoding.build_engine import build_engine
from headway.decoding.build_search import search_all
from headway.decoding.candidates import NEVER_CHOSEN
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.options import SearchOptions
from headway.decoding.request import Request
from headway.decoding.search_record import Node
from headway.decoding.search_recorder import SearchRecorder, record_search
from headway.model.transformer import Transformer

Build = Callable[..., Transformer]

VOCABULARY = 8
WORDS = range(4, VOCABULARY)
seeds = st.integers(0, 10_000)
sources = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3)


class Names:
    """A tokenizer of which only the names are asked for."""

    def __len__(self) -> int:
        return VOCABULARY

    def piece(self, piece: int) -> str:
        return f"piece {piece}"


def model_of(build: Build, seed: int) -> Transformer:
    return build(
        seed, source_vocab_size=VOCABULARY, target_vocab_size=VOCABULARY, num_decoder_layers=1
    )


def recorded(
    model: Transformer, request: Request, options: SearchOptions, count: int = 3
) -> tuple[SearchRecorder, list[Hypothesis]]:
    recorder = SearchRecorder(request, Names(), count)
    attend = AttentionReader([model]) if options.coverage_penalty else None
    return recorder, record_search(
        build_engine(model, "reference"), recorder, options, attend=attend
    )


def ids_of(recorder: SearchRecorder, number: int) -> tuple[int, ...]:
    """Return the pieces of a node, the end symbol included, by its own way to the root."""
    ids: list[int] = []
    node = recorder.nodes[number]
    while node.parent is not None:
        ids += [] if node.piece_id is None else [node.piece_id]
        node = recorder.nodes[node.parent]
    return tuple(reversed(ids))


def next_log_probs(model: Transformer, source: Sequence[int], ids: Sequence[int]) -> torch.Tensor:
    """Return what the model gives each next piece, by one pass over everything, (V,)."""
    with torch.inference_mode():
        logits = model(torch.tensor([[*source, END_ID]]), torch.tensor([[START_ID, *ids]]))
    return logits[0, -1].double().log_softmax(-1)


def plain_beam(
    model: Transformer, source: Sequence[int], limit: int, options: SearchOptions
) -> list[tuple[set[tuple[int, ...]], set[tuple[int, ...]]]]:
    """Search with lists and full passes alone; return what each step kept and what it finished."""
    size, live, ended, steps = options.beam_size, [((), 0.0)], [], []
    for step in range(limit + 1):
        extensions = []
        for ids, total in live:
            log_probs = next_log_probs(model, source, ids)
            choices = [END_ID] if step == limit else [END_ID, *WORDS]
            extensions += [((*ids, p), total + float(log_probs[p])) for p in choices]
        extensions.sort(key=lambda item: -item[1])
        finished = [item for item in extensions[:size] if item[0][-1] == END_ID]
        live = [item for item in extensions[: 2 * size] if item[0][-1] != END_ID][:size]
        ended += [options.score(total, len(ids)) for ids, total in finished]
        steps.append(({ids for ids, _ in live}, {ids for ids, _ in finished}))
        if not live:
            break
        worst = sorted(ended, reverse=True)[options.n_best - 1 : options.n_best]
        hope = options.score(live[0][1], step + 1)
        if len(ended) >= max(size, options.n_best) and hope <= worst[0]:
            break
    return steps


@settings(max_examples=40)
@given(
    seed=seeds,
    source=sources,
    beam=st.integers(2, 4),
    alpha=st.sampled_from([0.0, 0.6, 1.0]),
    limit=st.integers(0, 5),
)
def test_a_record_agrees_with_a_plain_beam(
    build: Build, seed: int, source: list[int], beam: int, alpha: float, limit: int
) -> None:
    model, options = model_of(build, seed), SearchOptions(beam, alpha)

    recorder, _ = recorded(model, Request([*source, END_ID], limit), options)

    def at(step: int, fate: str) -> set[tuple[int, ...]]:
        nodes = [n for n in recorder.nodes[1:] if n.step == step and n.fate == fate]
        return {ids_of(recorder, node.number) for node in nodes}

    ours = [(at(s, "kept"), at(s, "finished")) for s in range(1, len(recorder.steps) + 1)]
    assert ours == plain_beam(model, source, limit, options)


options_of_any_kind = st.builds(
    SearchOptions,
    st.integers(1, 4),
    st.sampled_from([0.0, 0.6]),
    st.just(1),
    coverage_penalty=st.sampled_from([0.0, 0.3]),
    min_length=st.integers(0, 2),
    no_repeat_ngram=st.sampled_from([0, 1, 2]),
    prefix_bias=st.sampled_from([1.0, 0.7]),
    repetition_penalty=st.sampled_from([1.0, 1.5]),
)


def request_of(
    source: list[int],
    limit: int,
    prefix: list[int],
    terms: list[list[int]],
    allowed: list[int] | None,
) -> Request:
    request = Request([*source, END_ID], limit, prefix, terms=terms)
    return request if allowed is None else request.restricted(np.array(allowed))


words = st.sampled_from(WORDS)
requests = st.builds(
    request_of,
    sources,
    st.integers(0, 5),
    st.lists(words, max_size=2),
    st.lists(st.lists(words, min_size=1, max_size=2), max_size=1),
    st.none() | st.lists(words, min_size=1, max_size=2),
)


@settings(max_examples=80)
@given(seed=seeds, request=requests, options=options_of_any_kind, count=st.integers(1, 5))
def test_the_laws_of_a_record(
    build: Build, seed: int, request: Request, options: SearchOptions, count: int
) -> None:
    model = model_of(build, seed)

    recorder, found = recorded(model, request, options, count)

    # Nothing is decided otherwise, to the last bit.
    attend = AttentionReader([model])
    engine = build_engine(model, "reference")
    assert search_all(engine, options, [request], attend=attend) == [found]
    nodes = recorder.nodes
    for node in nodes[1:]:
        assert node.parent is not None
        parent = nodes[node.parent]
        assert parent.fate == "kept"
        assert node.step == parent.step + 1
        assert node.total == parent.total + node.log_prob
    check_steps(recorder, options)
    # The ranking holds all that finished, and begins with what was found.
    finished = [node.number for node in nodes if node.fate == "finished"]
    assert sorted(recorder.ranking) == finished
    scores = [nodes[number].score for number in recorder.ranking]
    assert scores == sorted(scores, reverse=True)
    for number, hypothesis in zip(recorder.ranking, found, strict=False):
        ids = ids_of(recorder, number)
        ids = ids[:-1] if ids[-1:] == (END_ID,) else ids
        leaf = nodes[number]
        assert (ids, leaf.total, leaf.score, leaf.complete) == hypothesis


def check_steps(recorder: SearchRecorder, options: SearchOptions) -> None:
    for number, step in enumerate(recorder.steps):
        expanded = {expansion.node for expansion in step}
        kept = {n.number for n in recorder.nodes if n.step == number and n.fate == "kept"}
        assert expanded == kept
        assert 1 <= len(kept) <= options.beam_size
        ranks = []
        for expansion in step:
            candidates = expansion.candidates
            shares = [candidate.probability for candidate in candidates]
            assert shares == sorted(shares, reverse=True)
            assert sum(shares) + expansion.other_probability == pytest.approx(1, abs=1e-9)
            assert expansion.other_pieces + len(candidates) == recorder.vocabulary
            assert expansion.other_pieces >= 0
            ranks += [c.rank for c in candidates if c.rank is not None]
            total = recorder.nodes[expansion.node].total
            for candidate in candidates:
                forbidden = candidate.fate == "forbidden"
                assert (candidate.log_prob is None) == (candidate.total is None) == forbidden
                assert (candidate.node is not None) == (candidate.fate in ("kept", "finished"))
                assert candidate.total is None or candidate.total == total + candidate.log_prob
                if candidate.node is not None:
                    agrees(recorder.nodes[candidate.node], candidate.piece_id, expansion.node)
        assert sorted(ranks) == list(range(1, len(ranks) + 1))
    # Of the last step there may be no node, where nothing may follow and others have finished.
    last = max(node.step for node in recorder.nodes)
    assert len(recorder.steps) - last in (0, 1)


def agrees(node: Node, piece_id: int, parent: int) -> None:
    assert node.piece_id == piece_id
    assert node.parent == parent
    assert node.piece == f"piece {piece_id}"


@settings(max_examples=25)
@given(seed=seeds, source=sources, beam=st.integers(1, 3))
def test_probabilities_are_the_models_over_the_whole_vocabulary(
    build: Build, seed: int, source: list[int], beam: int
) -> None:
    model, options = model_of(build, seed), SearchOptions(beam, 0.6, min_length=2)

    recorder, _ = recorded(model, Request([*source, END_ID], 4), options, count=VOCABULARY)

    for step in recorder.steps:
        for expansion in step:
            expected = next_log_probs(model, source, ids_of(recorder, expansion.node))
            assert {c.piece_id for c in expansion.candidates} == set(range(VOCABULARY))
            assert expansion.other_probability == 0
            for candidate in expansion.candidates:
                share = float(expected[candidate.piece_id].exp())
                assert candidate.probability == pytest.approx(share, abs=1e-5)
                if candidate.log_prob is not None:
                    logarithm = math.log(candidate.probability)
                    assert candidate.log_prob == pytest.approx(logarithm, abs=1e-5)


def test_what_may_not_be_chosen_is_forbidden(build: Build) -> None:
    model = model_of(build, 5)
    request = Request([4, 5, END_ID], 3, prefix=[6])

    recorder, _ = recorded(model, request, SearchOptions(2, min_length=2), count=VOCABULARY)

    def forbidden(step: int) -> set[int]:
        candidates = recorder.steps[step][0].candidates
        return {c.piece_id for c in candidates if c.fate == "forbidden"}

    assert forbidden(0) == set(range(VOCABULARY)) - {6}
    assert forbidden(1) == {*NEVER_CHOSEN, END_ID}
    assert forbidden(2) == {*NEVER_CHOSEN}
    assert forbidden(3) == set(range(VOCABULARY)) - {END_ID}


def test_a_record_with_a_shortlist_numbers_pieces_as_ever(build: Build) -> None:
    request = Request([4, 5, END_ID], 3).restricted(np.array([5, 7]))

    recorder, _ = recorded(model_of(build, 5), request, SearchOptions(2), count=VOCABULARY)

    assert recorder.vocabulary == 6
    for step in recorder.steps:
        for expansion in step:
            assert {c.piece_id for c in expansion.candidates} == {0, 1, 2, 3, 5, 7}
    assert {node.piece_id for node in recorder.nodes[1:]} <= {END_ID, 5, 7}


def test_nothing_to_go_on_with_leaves_a_leaf_without_a_piece(build: Build) -> None:
    # Two words may not occur twice, and the end is forbidden before three.
    request = Request([4, END_ID], 5).restricted(np.array([5, 7]))
    for beam in (1, 2):
        options = SearchOptions(beam, min_length=3, no_repeat_ngram=1)

        recorder, ((ids, *_, complete),) = recorded(model_of(build, 5), request, options)

        leaf = recorder.nodes[recorder.ranking[0]]
        assert (leaf.piece, leaf.piece_id, leaf.log_prob) == (None, None, 0.0)
        assert (leaf.complete, complete) == (False, False)
        assert ids_of(recorder, leaf.number) == ids
        assert sorted(ids) == [5, 7]
        json.dumps([str(recorder.steps)], allow_nan=False)
