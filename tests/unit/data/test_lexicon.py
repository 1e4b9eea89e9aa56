"""IBM Model 1: worked out by hand, and the laws of expectation-maximization."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.data import lexicon as module
from headway.data.lexicon import Lexicon, learn_lexicon
from headway.errors import DataError

SOURCES, TARGETS = 5, 4
some_pairs = st.lists(
    st.tuples(
        st.lists(st.integers(0, SOURCES - 1), max_size=4),
        st.lists(st.integers(0, TARGETS - 1), max_size=3),
    ),
    min_size=1,
    max_size=6,
).filter(lambda pairs: any(target for _, target in pairs))


def table(lexicon: Lexicon) -> dict[tuple[int, int], float]:
    places = zip(lexicon.sources.tolist(), lexicon.targets.tolist(), strict=True)
    return dict(zip(places, lexicon.probabilities.tolist(), strict=True))


def test_two_pairs_by_hand() -> None:
    """The house, the book: after one iteration `the` has a half of Haus' and Buch's linked thirds.

    Sources 0 the, 1 house, 2 book, 3 NULL; targets 0 das, 1 Haus, 2 Buch. At first each target
    piece is linked to the three of its source by a third each. So `the` and NULL count das 2/3,
    Haus 1/3, Buch 1/3, in all 4/3; `house` das 1/3, Haus 1/3.
    """
    pairs = [([0, 1], [0, 1]), ([0, 2], [0, 2])]

    once = table(learn_lexicon(pairs, 3, 3, iterations=1))

    for common in (0, 3):
        assert [once[common, t] for t in range(3)] == pytest.approx([1 / 2, 1 / 4, 1 / 4])
    assert [once[1, 0], once[1, 1]] == pytest.approx([1 / 2, 1 / 2])
    assert (1, 2) not in once
    # Now das comes of the, house, NULL by a half each: a third; Haus by 1/4, 1/2, 1/4.
    twice = table(learn_lexicon(pairs, 3, 3, iterations=2))
    assert [twice[1, 0], twice[1, 1]] == pytest.approx([(1 / 3) / (5 / 6), (1 / 2) / (5 / 6)])
    assert twice[0, 0] == pytest.approx((2 / 3) / (2 / 3 + 1 / 4 + 1 / 4))
    assert table(learn_lexicon(pairs, 3, 3, iterations=99))[1, 1] > 0.99


def test_the_likelihood_by_hand() -> None:
    lexicon = learn_lexicon([([0], [1, 1])], 2, 3, iterations=1)
    # At first each of the 3 pieces is as probable as another; then there is only one.
    assert lexicon.log_likelihoods == pytest.approx((2 * math.log(1 / 3), 0.0))


@given(pairs=some_pairs, iterations=st.integers(1, 6))
def test_probabilities_add_up_and_the_likelihood_never_falls(
    pairs: list[tuple[list[int], list[int]]], iterations: int
) -> None:
    lexicon = learn_lexicon(pairs, SOURCES, TARGETS, iterations)

    assert len(lexicon.log_likelihoods) == iterations + 1
    assert (np.diff(lexicon.log_likelihoods) >= -1e-9).all()
    sums = np.bincount(lexicon.sources, weights=lexicon.probabilities)
    assert sums[np.unique(lexicon.sources)] == pytest.approx(1.0)
    # As many as two pieces stand in one pair, NULL in each; by source, then target.
    together = {link for source, target in pairs for link in product([*source, SOURCES], target)}
    assert list(table(lexicon)) == sorted(together)


@given(pairs=some_pairs)
def test_the_sums_are_those_of_plain_loops(pairs: list[tuple[list[int], list[int]]]) -> None:
    expected: dict[tuple[int, int], float] = {}
    for _ in range(3):
        counts: dict[tuple[int, int], float] = {}
        for source, target in pairs:
            whole = [*source, SOURCES]
            for t in target:
                shares = [expected.get((s, t), 1.0) for s in whole]
                for s, share in zip(whole, shares, strict=True):
                    counts[s, t] = counts.get((s, t), 0.0) + share / sum(shares)
        sums: dict[int, float] = {}
        for (s, _), count in counts.items():
            sums[s] = sums.get(s, 0.0) + count
        expected = {(s, t): count / sums[s] for (s, t), count in counts.items()}

    found = table(learn_lexicon(pairs, SOURCES, TARGETS, iterations=3))

    assert found == pytest.approx(expected)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(1)
    pairs = [
        (draw.integers(0, 7, draw.integers(0, 6)).tolist(), draw.integers(0, 9, n).tolist())
        for n in draw.integers(0, 5, 40)
    ]
    whole = learn_lexicon(pairs, 7, 9)
    for links in (1, 10, 57):
        monkeypatch.setattr(module, "_LINKS_AT_ONCE", links)
        parts = learn_lexicon(pairs, 7, 9)
        assert table(parts) == pytest.approx(table(whole))
        assert parts.log_likelihoods == pytest.approx(whole.log_likelihoods)


def test_vocabularies_may_be_so_large_that_their_product_takes_more_than_32_bits() -> None:
    found = learn_lexicon([([49_999, 5], [49_990, 7])], 50_000, 50_000)
    assert set(found.sources.tolist()) == {5, 49_999, 50_000}  # and NULL
    assert set(found.targets.tolist()) == {7, 49_990}


def test_text_without_translations_is_refused() -> None:
    with pytest.raises(DataError, match="There is no pair with a target"):
        learn_lexicon([([1, 2], [])], 3, 3)
    with pytest.raises(DataError, match="There is no pair with a target"):
        learn_lexicon([], 3, 3)
