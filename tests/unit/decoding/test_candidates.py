"""Candidates are the best of log_softmax and topk, plain and compiled, or the only choice."""

import math

import numpy as np
import pytest
import torch

from headway.data.tokenizer import END_ID
from headway.decoding.beam import best_places
from headway.decoding.candidates import NEVER_CHOSEN, Rivals, best_pieces, candidates


@pytest.fixture(params=["plain", "compiled"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "compiled":
        pytest.importorskip("numba")
    compiled = request.param == "compiled"
    monkeypatch.setattr("headway.kernels.dispatch.has_numba", lambda: compiled)
    return request.param


@pytest.mark.parametrize("shape", [(1, 5), (3, 64), (7, 65), (2, 256), (5, 1000)], ids=str)
@pytest.mark.parametrize("count", [1, 2, 5])
def test_they_are_those_of_log_softmax_and_topk(
    way: str, shape: tuple[int, int], count: int
) -> None:
    logits = torch.randn(shape) * 5
    expected, order = logits.log_softmax(-1).topk(count, dim=1)

    values, ids, totals = best_pieces(logits.clone(), count)

    np.testing.assert_array_equal(ids, order)
    np.testing.assert_allclose(values - totals[:, None], expected, atol=1e-5)


def test_pieces_that_are_never_chosen_count_in_the_sum(way: str) -> None:
    logits = torch.randn(4, 70)
    expected = logits.log_softmax(-1)
    expected[:, [0, 2, 66]] = -math.inf

    values, ids, totals = best_pieces(logits.clone(), 67, (0, 2, 66))

    assert not np.isin(ids, [0, 2, 66]).any()
    np.testing.assert_allclose(values - totals[:, None], expected.topk(67, dim=1)[0], atol=1e-5)


def test_equal_logits_are_all_found_once(way: str) -> None:
    logits = torch.zeros(3, 130)
    logits[1, [5, 70, 129]] = 2.0

    values, ids, _ = best_pieces(logits.clone(), 4)

    assert all(len(set(row)) == 4 for row in ids)
    assert set(ids[1, :3]) == {5, 70, 129}
    np.testing.assert_array_equal(values, [[0] * 4, [2, 2, 2, 0], [0] * 4])


def test_what_is_not_a_number_hides_nothing_else_of_its_lane() -> None:
    find = pytest.importorskip("headway.kernels.top_k").best_pieces
    logits = torch.randn(1, 600)
    logits[0, [5, 300, 599]] = torch.tensor([9.0, 8.0, 7.0])
    logits[0, [5 + 256, 5 + 512, 300 - 256, 598]] = math.nan
    values, ids = np.empty((1, 3), np.float32), np.empty((1, 3), np.int64)
    totals = np.empty(1, np.float32)

    find(logits.numpy(), np.empty(0, np.int64), values, ids, totals)

    np.testing.assert_array_equal(ids, [[5, 300, 599]])
    np.testing.assert_array_equal(values, [[9.0, 8.0, 7.0]])
    assert np.isnan(totals).all()


def test_half_precision_is_scored_in_float32(way: str) -> None:
    logits = torch.randn(2, 7).bfloat16()

    values, ids, totals = best_pieces(logits.clone(), 3)

    assert values.dtype == totals.dtype == np.float32
    expected = logits.float().log_softmax(-1).gather(1, torch.from_numpy(ids))
    np.testing.assert_allclose(values - totals[:, None], expected, atol=1e-6)


def test_a_row_does_not_depend_on_the_others(way: str) -> None:
    logits = torch.randn(6, 200)
    together = best_pieces(logits.clone(), 3)

    for row in range(6):
        alone = best_pieces(logits[row : row + 1].clone(), 3)
        for ours, theirs in zip(alone, together, strict=True):
            np.testing.assert_allclose(ours[0], theirs[row], rtol=0, atol=1e-6)


def test_large_logits_do_not_overflow(way: str) -> None:
    logits = torch.tensor([[1e4, 1e4 - 1, -1e4, 0.0]])

    values, _, totals = best_pieces(logits.clone(), 2)

    np.testing.assert_allclose(values - totals[:, None], [[-0.313262, -1.313262]], atol=1e-3)


def test_a_free_row_has_the_models_log_probabilities_except_for_what_is_no_output() -> None:
    logits = torch.randn(2, 7)
    expected = logits.log_softmax(-1)

    log_probs, pieces = candidates(logits.clone(), 4, [None, None])

    # Not normalized anew: a score is what the model itself says.
    for row in range(2):
        assert sorted(pieces[row]) == [3, 4, 5, 6]
        np.testing.assert_allclose(log_probs[row], expected[row, pieces[row]], atol=1e-6)
        assert (np.diff(log_probs[row]) <= 0).all()


def test_what_is_no_output_is_never_worth_choosing() -> None:
    logits = torch.zeros(1, 7)
    logits[:, NEVER_CHOSEN] = 50.0

    log_probs, pieces = candidates(logits, 7, [None])

    # More places than pieces: what stands in the last ones has no probability.
    assert set(pieces[0, :4]) == {3, 4, 5, 6}
    assert (log_probs[0, 4:] == -math.inf).all()


def test_a_row_with_one_choice_has_it_with_its_own_probability() -> None:
    logits = torch.randn(3, 7)
    expected = logits.log_softmax(-1)

    log_probs, pieces = candidates(logits.clone(), 2, [6, END_ID, None])

    assert pieces[:2, 0].tolist() == [6, END_ID]
    assert log_probs[0, 0] == pytest.approx(float(expected[0, 6]), abs=1e-6)
    assert log_probs[1, 0] == pytest.approx(float(expected[1, END_ID]), abs=1e-6)
    assert (log_probs[:2, 1] == -math.inf).all()
    assert (log_probs[2] > -math.inf).all()


@pytest.mark.parametrize("spread", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("kind", ["free", "rounded", "forced", "few possible"])
def test_rivals_have_the_same_best_extensions_as_all_candidates(
    way: str, kind: str, spread: float
) -> None:
    rng = np.random.default_rng(5)
    sentences = np.array([0] * 70 + [1] * 3 + [2] * 60)  # the second has few hypotheses
    before = -spread * rng.exponential(size=len(sentences))
    logits = torch.from_numpy(3 * rng.standard_normal((len(sentences), 300)).astype(np.float32))
    if kind == "rounded" and way == "compiled":  # torch.topk sorts equal logits in any order
        logits, before = logits.round(), before.round()
    elif kind == "few possible":
        logits[:110, 5:] = -math.inf
    only: list[int | None] = [None] * len(sentences)
    if kind == "forced":
        only[2], only[71] = 9, END_ID
    columns = []

    def best(rivals: Rivals | None) -> list[tuple[list[int], list[int], list[float]]]:
        log_probs, pieces = candidates(logits.clone(), 128, only, rivals=rivals)
        columns.append(pieces.shape[1])
        totals = log_probs + before[:, None]
        results = []
        for sentence in range(3):
            rows = (sentences == sentence).nonzero()[0]
            numbers, ids = totals[rows].ravel(), pieces[rows].ravel()
            places = best_places(numbers[None], 128)[0]
            places = places[numbers[places] > -math.inf]
            parents = rows[places // pieces.shape[1]]
            results.append((parents.tolist(), ids[places].tolist(), numbers[places].tolist()))
        return results

    assert best(Rivals(sentences, before)) == best(None)
    assert columns[1] == 128


def test_rivals_of_one_kind_need_few_columns() -> None:
    logits = torch.randn(100, 300, generator=torch.Generator().manual_seed(0))

    log_probs, _ = candidates(
        logits, 200, [None] * 100, rivals=Rivals(np.zeros(100, dtype=np.int64), np.zeros(100))
    )

    assert log_probs.shape == (100, 32)
