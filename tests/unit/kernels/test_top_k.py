"""The compiled search for the best logits is a stable sort, and its sum that of all powers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

top_k = pytest.importorskip("headway.kernels.top_k")

SIZES = st.one_of(st.integers(1, 200), st.sampled_from([63, 64, 65, 128, 600, 2500]))
COUNTS = st.one_of(st.integers(1, 2), st.integers(1, 40), st.sampled_from([64, 250, 1000]))
KINDS = st.sampled_from(["random", "few values", "zeros of both signs", "-inf", "NaN", "far apart"])


def draw(kind: str, rows: int, size: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    logits = (4 * rng.standard_normal((rows, size))).astype(np.float32)
    somewhere = rng.random(logits.shape) < 0.6
    if kind == "few values":
        logits = np.round(logits / 3)
    elif kind == "zeros of both signs":
        logits = np.where(somewhere, np.float32(-0.0), np.float32(0.0))
    elif kind == "far apart":
        logits **= 19
    elif kind in ("-inf", "NaN"):
        logits[somewhere] = np.nan if kind == "NaN" else -np.inf
        logits[:, -1] = 1.0
    return logits


def find(
    logits: np.ndarray, count: int, never: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return values, ids and totals; the logits stay as they are."""
    rows = len(logits)
    values, ids = np.empty((rows, count), np.float32), np.empty((rows, count), np.int64)
    totals = np.empty(rows, np.float32)
    top_k.best_pieces(logits.copy(), never, values, ids, totals)
    return values, ids, totals


@settings(max_examples=18)
@given(KINDS, SIZES, COUNTS, st.integers(0, 3), st.integers(0, 2**32 - 1))
def test_the_best_are_those_of_a_stable_sort(
    kind: str, size: int, count: int, excluded: int, seed: int
) -> None:
    logits = draw(kind, 2, size, seed)
    never = np.random.default_rng(seed).permutation(size)[:excluded]

    values, ids, totals = find(logits, count, never)

    with np.errstate(over="ignore", divide="ignore"):
        expected = np.log(np.exp(logits.astype(np.float64) - logits.max(axis=1)[:, None]).sum(1))
    np.testing.assert_allclose(totals, expected + logits.max(axis=1), rtol=1e-6, atol=2e-6)
    assert not (values[:, 0] > totals).any()  # no probability is above 1
    logits[:, never] = -np.inf
    for row in range(2):
        numbers = np.flatnonzero(~np.isnan(logits[row]))
        order = numbers[np.argsort(-logits[row, numbers], kind="stable")][:count]
        missing = count - order.size
        np.testing.assert_array_equal(ids[row], [*order, *[0] * missing])
        np.testing.assert_array_equal(values[row], [*logits[row, order], *[-np.inf] * missing])


@given(SIZES, st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_the_bits_of_a_row_do_not_depend_on_the_others(size: int, count: int, seed: int) -> None:
    logits = draw("random", 5, size, seed)
    never = np.array([0])

    together = find(logits, count, never)

    for row in range(5):
        alone = find(logits[row : row + 1], count, never)
        for ours, theirs in zip(alone, together, strict=True):
            np.testing.assert_array_equal(ours[0], theirs[row])


@pytest.mark.parametrize("size", [5, 64, 150])
@pytest.mark.parametrize("place", [0, 2, 4])
@pytest.mark.parametrize("count", [1, 30])
def test_what_is_not_a_number_shows_in_the_sum(size: int, place: int, count: int) -> None:
    logits = draw("random", 1, size, 0)
    logits[0, place] = np.nan

    totals = find(logits, count, np.array([2]))[2]

    assert np.isnan(totals).all()


@given(
    SIZES,
    st.sampled_from([7, 32, 37]),
    st.integers(1, 9),
    st.floats(0, 4, width=32),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_logits_near_the_best_are_computed_again(
    size: int, d_model: int, most: int, margin: float, rounded: bool, seed: int
) -> None:
    logits = draw("few values" if rounded else "random", 3, size, seed)
    x, weight = draw("random", 3, d_model, seed + 1), draw("random", size, d_model, seed + 2)
    bias = draw("random", 1, size, seed + 3)[0]
    exact = x @ weight.T + bias
    expected = logits.copy()
    for row, numbers in enumerate(logits):
        near = np.float32(margin)
        while np.count_nonzero(numbers > numbers.max() - near) > most:
            near = near * np.float32(0.5) if near > np.float32(0.01) else np.float32(0.0)
        again = numbers > numbers.max() - near
        expected[row, again] = exact[row, again]

    top_k.sharpen(x, weight, bias, np.float32(margin), most, logits)

    np.testing.assert_allclose(logits, expected, rtol=1e-4, atol=1e-3)
