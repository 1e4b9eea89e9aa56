"""The compiled loop finds what the searches find step by step, equal in all bits."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.decoding.batch import StepwiseBatch
from headway.decoding.build_engine import build_engine
from headway.decoding.build_search import build_batch, build_search
from headway.decoding.engine import Batch
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.options import SearchOptions
from headway.decoding.packed.engine import PackedEngine
from headway.decoding.request import Request
from headway.decoding.run_search import run_search
from headway.errors import ConfigError, HeadwayError
from headway.kernels import dispatch
from headway.kernels.dispatch import Precision
from headway.model.transformer import Transformer

pytest.importorskip("numba")
from headway.decoding.packed.search_loop import CompiledBatch
from headway.kernels.search_loop import _ROWS_OF_LOGITS

pytestmark = pytest.mark.skipif(not dispatch.has_numba(), reason="The loop is a compiled kernel.")

pieces = st.integers(4, 22)
PRECISIONS: tuple[Precision, ...] = ("float32", "bfloat16", "int8")


@st.composite
def some_options(draw: st.DrawFn) -> SearchOptions:
    beam_size = draw(st.integers(1, 5))
    least = draw(st.integers(0, 3))
    return SearchOptions(
        beam_size,
        draw(st.sampled_from([0.0, 0.6, 1.3])),
        draw(st.integers(1, beam_size)),
        length_form=draw(st.sampled_from(["gnmt", "plain"])),
        max_length=draw(st.none() | st.integers(least, 7)),
        min_length=least,
        no_repeat_ngram=draw(st.integers(0, 3)),
        patience=draw(st.sampled_from([0.5, 1.0, 2.0])),
        repetition_penalty=draw(st.sampled_from([1.0, 1.3, 0.7])),
    )


requests_strategy = st.lists(
    st.builds(
        Request,
        st.lists(pieces, max_size=6).map(lambda ids: [*ids, 3]),
        st.integers(0, 9),
        prefix=st.lists(pieces, max_size=3),
    ),
    min_size=1,
    max_size=6,
)


def results_of(batch: Batch, requests: list[Request], slots: int) -> dict[int, list[Hypothesis]]:
    with torch.inference_mode():
        return dict(run_search(batch, enumerate(requests), slots=slots))


@settings(max_examples=120)
@given(
    options=some_options(),
    requests=requests_strategy,
    seed=st.integers(0, 20),
    precision=st.sampled_from(PRECISIONS),
    slots=st.integers(1, 4),
)
def test_hypotheses_and_scores_are_equal_in_all_bits(
    build: Callable[..., Transformer],
    options: SearchOptions,
    requests: list[Request],
    seed: int,
    precision: Precision,
    slots: int,
) -> None:
    past = "ssru" if seed % 2 else "self_attention"
    engine = build_engine(build(seed, decoder_past=past, zero_id=2), "packed", precision)
    loop = build_batch(engine, options, slots)
    if isinstance(loop, StepwiseBatch):  # a product is not a compiled kernel on this processor
        assert precision != "float32"
        assert not dispatch.multiplies_bfloat16()
        return

    stepwise = StepwiseBatch(engine, build_search(options), len(requests))

    assert results_of(loop, requests, slots) == results_of(stepwise, requests, len(requests))


@settings(max_examples=40)
@given(
    options=some_options(),
    searches=st.lists(requests_strategy, min_size=2, max_size=3),
    seed=st.integers(0, 20),
    slots=st.integers(1, 3),
)
def test_a_batch_that_has_ended_serves_the_next_search(
    build: Callable[..., Transformer],
    options: SearchOptions,
    searches: list[list[Request]],
    seed: int,
    slots: int,
) -> None:
    engine = build_engine(build(seed), "packed")
    served = []
    for requests in searches:
        batch = build_batch(engine, options, slots)
        assert isinstance(batch, CompiledBatch)
        found = results_of(batch, requests, slots)
        batch.end()
        served.append(batch)

        stepwise = StepwiseBatch(engine, build_search(options), 1)
        assert found == results_of(stepwise, requests, 1)

    assert build_batch(engine, replace(options, no_repeat_ngram=5), slots) not in served
    small = options.beam_size * slots <= 8
    assert len(set(map(id, served))) == (1 if small else len(searches))


def test_a_batch_is_not_kept_once_its_caches_have_grown(build: Callable[..., Transformer]) -> None:
    engine = build_engine(build(3), "packed")
    batch = build_batch(engine, SearchOptions(1), 1)

    results_of(batch, [Request([8] * 70 + [3], 5)], 1)
    batch.end()

    assert build_batch(engine, SearchOptions(1), 1) is not batch


def test_a_wide_beam_and_caches_that_grow(build: Callable[..., Transformer]) -> None:
    engine = build_engine(build(3), "packed")
    options = SearchOptions(19, 0.0, 7, max_length=150, min_length=140)
    requests = [Request([5, 9, 11, 3], 150), Request([8] * 70 + [3], 140)]
    batch: Any = build_batch(engine, options, 2)
    before = batch.state.owners.shape[1]

    loop = results_of(batch, requests, 2)

    assert isinstance(batch, CompiledBatch)
    assert before < 140 < batch.state.owners.shape[1]
    assert loop == results_of(StepwiseBatch(engine, build_search(options), 1), requests, 1)


def test_more_rows_than_have_their_logits_computed_together(
    build: Callable[..., Transformer],
) -> None:
    engine = build_engine(build(5), "packed")
    requests = [Request([5 + i % 7, 9, 3], 5, prefix=[8] * (i % 2)) for i in range(17)]
    for options in (SearchOptions(3, repetition_penalty=1.3), SearchOptions(3, min_length=2)):
        batch = build_batch(engine, options, 17)
        assert isinstance(batch, CompiledBatch)
        assert _ROWS_OF_LOGITS < 3 * 17

        loop = results_of(batch, requests, 17)

        assert loop == results_of(StepwiseBatch(engine, build_search(options), 1), requests, 1)


@pytest.mark.parametrize(
    "options",
    [
        SearchOptions(4, 1, 2, length_form="plain"),
        SearchOptions(2, 8, length_form="plain"),
        SearchOptions(2, min_length=np.int64(1), no_repeat_ngram=np.int32(2)),  # type: ignore[arg-type]
        SearchOptions(9, 0.0, 9),  # more candidates than pieces
    ],
)
def test_options_in_whole_numbers_and_more_hypotheses_than_pieces(
    build: Callable[..., Transformer], options: SearchOptions
) -> None:
    model = build(2, source_vocab_size=12, target_vocab_size=12)
    engine = build_engine(model, "packed")
    requests = [Request([5, 9, 11, 3], 9), Request([8, 3], 0)]

    loop = results_of(build_batch(engine, options, 2), requests, 2)

    assert loop == results_of(StepwiseBatch(engine, build_search(options), 1), requests, 1)


def test_translations_longer_than_the_first_room(build: Callable[..., Transformer]) -> None:
    engine = build_engine(build(4), "packed")
    requests = [Request([5, 3], 300, prefix=[7] * 290), Request([8, 3], 2, prefix=[9] * 5)]
    for options in (SearchOptions(1, min_length=300), SearchOptions(2, min_length=300)):
        batch: Any = build_batch(engine, options, 1)
        before = batch.sentences.ids.shape[2]

        loop = results_of(batch, requests, 1)

        assert before < 300 < batch.sentences.ids.shape[2]
        assert loop == results_of(StepwiseBatch(engine, build_search(options), 1), requests, 1)


def test_an_output_with_more_rows_than_embeddings_has_no_loop(
    build: Callable[..., Transformer],
) -> None:
    model = build(0)
    wide = torch.nn.Linear(model.output_projection.weight.size(1), 60)
    model.output_projection.weight = torch.nn.Parameter(wide.weight.detach())
    batch = build_batch(build_engine(model, "packed"), SearchOptions(2), 1)
    assert isinstance(batch, StepwiseBatch)


@pytest.mark.parametrize("beam_size", [1, 2])
def test_a_batch_without_sentences_returns(
    build: Callable[..., Transformer], beam_size: int
) -> None:
    engine = build_engine(build(0), "packed")
    batch = build_batch(engine, SearchOptions(beam_size), 1)
    results_of(batch, [Request([5, 3], 2)], 1)
    assert batch.advance() == []


def test_a_batch_is_used_again(build: Callable[..., Transformer]) -> None:
    engine = build_engine(build(1), "packed")
    batch = build_batch(engine, SearchOptions(3, n_best=2), 2)
    requests = [Request([5, 9, 3], 5), Request([7, 3], 9), Request([6, 6, 6, 6, 3], 3)]

    first = results_of(batch, requests, 2)

    assert results_of(batch, requests[::-1], 2) == {2 - n: best for n, best in first.items()}


@pytest.mark.parametrize("beam_size", [1, 3])
def test_nan_is_refused_as_by_the_searches(
    build: Callable[..., Transformer], beam_size: int
) -> None:
    model = build(0)
    with torch.no_grad():
        model.decoder.layers[0].feed_forward.w_1.weight[0, 0] = np.nan
    batch = build_batch(build_engine(model, "packed"), SearchOptions(beam_size), 1)
    with pytest.raises(HeadwayError, match="not a number"):
        results_of(batch, [Request([5, 3], 4)], 1)


@pytest.mark.parametrize("piece", [-1, 10**6])
def test_a_forced_piece_that_the_vocabulary_lacks_is_refused(
    build: Callable[..., Transformer], piece: int
) -> None:
    batch = build_batch(build_engine(build(0), "packed"), SearchOptions(2), 1)
    with pytest.raises(ConfigError, match="vocabulary has tokens 0 to"):
        results_of(batch, [Request([5, 3], 4, prefix=[5, piece])], 1)


def test_other_engines_and_searches_have_no_loop(build: Callable[..., Transformer]) -> None:
    model = build(0)
    packed = build_engine(model, "packed")
    assert isinstance(packed, PackedEngine)
    assert not isinstance(build_batch(packed, SearchOptions(2), 1), StepwiseBatch)
    for options in (SearchOptions(2, groups=2), SearchOptions(2, prefix_bias=0.5)):
        assert isinstance(build_batch(packed, options, 1), StepwiseBatch)
    reference = build_engine(model, "reference")
    assert isinstance(build_batch(reference, SearchOptions(2), 1), StepwiseBatch)


def test_an_interrupted_loop_goes_on_and_a_dropped_sentence_changes_no_other(
    build: Callable[..., Transformer],
) -> None:
    engine = build_engine(build(4), "packed")
    options = SearchOptions(3, min_length=4)
    requests = [Request([5 + i, 9, 3], 9) for i in range(4)]
    expected = results_of(build_batch(engine, options, 4), requests, 4)
    batch = build_batch(engine, options, 4)
    assert isinstance(batch, CompiledBatch)
    found: dict[int, list[Hypothesis]] = {}
    with torch.inference_mode():
        batch.begin([0, 1, 2], requests[:3])
        batch.interrupt()
        assert batch.advance() == []
        assert batch.sentences.steps[:3].tolist() == [1, 1, 1]  # one step each
        assert batch.drop([1]) == [1]
        assert batch.advance() == []
        batch.begin([1], requests[3:])  # in the place that became free
        batch.resume()
        while batch.sentences.at_work.any():
            found |= dict(batch.advance())
    assert found == {0: expected[0], 1: expected[3], 2: expected[2]}


@settings(max_examples=40)
@given(
    options=some_options(),
    requests=requests_strategy,
    seed=st.integers(0, 20),
    enough=st.integers(1, 7),
)
def test_the_loop_goes_on_until_enough_sentences_have_ended(
    build: Callable[..., Transformer],
    options: SearchOptions,
    requests: list[Request],
    seed: int,
    enough: int,
) -> None:
    engine = build_engine(build(seed), "packed")
    count = len(requests)
    expected = results_of(build_batch(engine, options, count), requests, count)
    batch = build_batch(engine, options, count)
    found: dict[int, list[Hypothesis]] = {}
    with torch.inference_mode():
        batch.begin(range(count), requests)
        while len(found) < count:
            left = count - len(found)
            found |= dict(batch.advance(enough))
            assert left - (count - len(found)) >= min(enough, left)
    assert found == expected


def test_the_loop_takes_no_step_after_enough_sentences_have_ended(
    build: Callable[..., Transformer],
) -> None:
    engine = build_engine(build(4), "packed")
    batch = build_batch(engine, SearchOptions(1, min_length=9), 4)
    assert isinstance(batch, CompiledBatch)
    with torch.inference_mode():
        batch.begin(range(4), [Request([5, 3], length) for length in (2, 8, 3, 5)])
        assert sorted(slot for slot, _ in batch.advance(3)) == [0, 2, 3]
    assert batch.sentences.steps[1] == 6  # five pieces and the end of the third one
