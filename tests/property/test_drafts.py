"""Guesses change neither the pieces nor the scores of a greedy search, whatever they are."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.data.draft_counts import DraftCounts, count_drafts
from headway.decoding.batch import StepwiseBatch
from headway.decoding.build_engine import build_engine
from headway.decoding.build_search import build_batch, build_search
from headway.decoding.engine import Batch
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.options import SearchOptions
from headway.decoding.request import Request
from headway.decoding.run_search import run_search
from headway.kernels import dispatch
from headway.kernels.dispatch import Precision
from headway.model.transformer import Transformer

pytestmark = pytest.mark.skipif(not dispatch.has_numba(), reason="The loop is a compiled kernel.")

SOURCE_SIZE, TARGET_SIZE = 29, 23
pieces = st.integers(4, 22)
PRECISIONS: tuple[Precision, ...] = ("float32", "bfloat16", "int8")


@st.composite
def greedy_options(draw: st.DrawFn) -> SearchOptions:
    least = draw(st.integers(0, 3))
    return SearchOptions(
        1,
        draw(st.sampled_from([0.0, 1.3])),
        max_length=draw(st.none() | st.integers(least, 9)),
        min_length=least,
        no_repeat_ngram=draw(st.integers(0, 3)),
        repetition_penalty=draw(st.sampled_from([1.0, 1.3, 0.7])),
    )


requests_strategy = st.lists(
    st.builds(
        Request,
        st.lists(pieces, max_size=6).map(lambda ids: [*ids, 3]),
        st.integers(0, 12),
        prefix=st.lists(pieces, max_size=3),
    ),
    min_size=1,
    max_size=4,
)


@pytest.fixture(autouse=True, scope="module")
def guesses_for_small_models() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("headway.decoding.packed.engine._WORTH_GUESSES", 0)
        yield


def drafts_of(texts: Sequence[Sequence[int]]) -> DraftCounts:
    """Return counts of these translations of nothing."""
    return count_drafts([([5], text) for text in texts], SOURCE_SIZE, TARGET_SIZE, least=1)


def wrong(ids: Sequence[int]) -> list[list[int]]:
    """Return texts in which another piece than in these ids follows each piece."""
    following = [*ids[1:], 7] if ids else []
    return [[piece, (after + 1) % TARGET_SIZE] for piece, after in zip(ids, following, strict=True)]


def results_of(batch: Batch, requests: list[Request], slots: int) -> dict[int, list[Hypothesis]]:
    return dict(run_search(batch, enumerate(requests), slots=slots))


@settings(max_examples=12)
@given(
    options=greedy_options(),
    requests=requests_strategy,
    seed=st.integers(0, 20),
    precision=st.sampled_from(PRECISIONS),
    slots=st.integers(1, 3),
    texts=st.lists(st.lists(pieces, max_size=6), min_size=1, max_size=9),
    kind=st.sampled_from(["any", "right", "ends early", "wrong"]),
    recurrent=st.booleans(),
)
def test_pieces_and_scores_are_those_without_guesses_in_all_bits(
    build: Callable[..., Transformer],
    options: SearchOptions,
    requests: list[Request],
    seed: int,
    precision: Precision,
    slots: int,
    texts: list[list[int]],
    kind: str,
    recurrent: bool,
) -> None:
    model = build(seed, decoder_past="ssru" if recurrent else "self_attention")
    stepwise = StepwiseBatch(
        build_engine(model, "packed", precision), build_search(options), len(requests)
    )
    expected = results_of(stepwise, requests, len(requests))
    outputs = [hypotheses[0].ids for hypotheses in expected.values()]
    counted = {
        "any": texts,
        "right": outputs,
        "ends early": [ids[:2] for ids in outputs],
        "wrong": [[4], *(text for ids in outputs for text in wrong(ids))],
    }[kind]
    engine = build_engine(model, "packed", precision, drafts=drafts_of(counted))
    loop = build_batch(engine, options, slots)
    assert not isinstance(loop, StepwiseBatch) or precision != "float32"
    assert results_of(loop, requests, slots) == expected


def test_right_guesses_are_taken_and_wrong_ones_are_not(build: Callable[..., Transformer]) -> None:
    model = build(4)
    options, request = SearchOptions(1, min_length=11), Request([5, 9, 11, 3], 11)
    plain = build_batch(build_engine(model, "packed"), options, 1)
    (expected,) = results_of(plain, [request], 1)[0]
    for texts, taken in (([expected.ids], True), (wrong(expected.ids), False)):
        drafts = drafts_of(texts)
        batch: Any = build_batch(build_engine(model, "packed", drafts=drafts), options, 1)
        (hypothesis,) = results_of(batch, [request], 1)[0]
        assert hypothesis == expected
        assert batch.state.lengths[1] > 0  # guesses were computed
        # Rows of guesses that were taken hold positions of the translation.
        assert (batch.state.owners[0, : len(expected.ids)].max() > 0) == taken


def test_guesses_where_caches_and_translations_outgrow_their_room(
    build: Callable[..., Transformer],
) -> None:
    model = build(4)
    options = SearchOptions(1, min_length=300)
    requests = [Request([5, 3], 300, prefix=[7] * 290), Request([8, 3], 301)]
    engine = build_engine(model, "packed")
    expected = results_of(build_batch(engine, options, 1), requests, 1)
    drafts = drafts_of([expected[0][0].ids, expected[1][0].ids])
    batch: Any = build_batch(build_engine(model, "packed", drafts=drafts), options, 1)

    assert batch.state.owners.shape[1] < 300
    assert results_of(batch, requests, 1) == expected


def test_a_wrong_guess_that_leads_to_nan_is_no_error(build: Callable[..., Transformer]) -> None:
    model = build(4)
    request = Request([5, 9, 11, 3], 5)
    options = SearchOptions(1, min_length=5)
    expected = results_of(build_batch(build_engine(model, "packed"), options, 1), [request], 1)
    ids = expected[0][0].ids
    unused = next(piece for piece in range(4, TARGET_SIZE) if piece not in ids)
    drafts = drafts_of([[piece, unused] for piece in ids] + [[unused]])
    engine: Any = build_engine(model, "packed", drafts=drafts)
    engine.target_embedding.table[unused] = np.nan
    batch: Any = build_batch(engine, options, 1)

    assert results_of(batch, [request], 1) == expected
    assert batch.state.lengths[1] > 0


@pytest.mark.parametrize(("slots", "rows"), [(1, 5), (2, 4), (3, 3)])
def test_one_or_two_sentences_have_rows_for_guesses(
    build: Callable[..., Transformer], slots: int, rows: int
) -> None:
    engine = build_engine(build(0), "packed", drafts=drafts_of([[5, 6, 7]]))
    batch: Any = build_batch(engine, SearchOptions(1), slots)
    assert len(batch.state.lengths) == rows


def test_a_small_decoder_does_not_guess(
    build: Callable[..., Transformer], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, drafts = build(0), drafts_of([[5, 6, 7]])
    for weights, guesses in ((2**23, False), (0, True)):
        monkeypatch.setattr("headway.decoding.packed.engine._WORTH_GUESSES", weights)
        engine: Any = build_engine(model, "packed", drafts=drafts)
        assert (engine.search_loop.drafts is not None) is guesses


@pytest.mark.parametrize("slots", [3, 64])
def test_many_sentences_and_beams_have_no_guesses(
    build: Callable[..., Transformer], slots: int
) -> None:
    engine = build_engine(build(0), "packed", drafts=drafts_of([[5, 6, 7]]))
    for options, rows in ((SearchOptions(1), slots), (SearchOptions(2), 2 * slots)):
        batch: Any = build_batch(engine, options, slots)
        assert len(batch.state.lengths) == rows
