"""A word is aligned with the word that it attends to most, however both are cut into pieces."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headway.decoding.alignment import pharaoh, word_alignment
from headway.errors import ConfigError


def test_sums_over_the_pieces_of_both_words_by_hand() -> None:
    # Source words 0, 1 (two pieces), 2; target words 0 (two pieces), 1. Sums of word 0:
    # .8, .75, .45, of word 1: .3, .3, .4. No single weight of .4 or .45 decides.
    weights = torch.tensor(
        [
            [0.4, 0.2, 0.1, 0.3],
            [0.4, 0.1, 0.35, 0.15],
            [0.3, 0.2, 0.1, 0.4],
        ]
    )
    assert word_alignment(weights, [0, 1, 1, 2], [0, 0, 1]) == ((0, 0), (2, 1))
    assert word_alignment(weights, [0, 1, 0, 2], [0, 1, 2]) == ((0, 0), (0, 1), (0, 2))
    assert word_alignment(weights, [0, 0, 1, 1], [0, 1, 2]) == ((0, 0), (0, 1), (0, 2))


def test_pieces_of_no_word_are_left_out_and_the_first_of_equals_is_taken() -> None:
    weights = torch.tensor([[0.5, 0.25, 0.25], [0.1, 0.2, 0.7]])
    assert word_alignment(weights, [None, 4, 7], [3, None]) == ((4, 3),)
    assert word_alignment(weights, [None, None, None], [0, 1]) == ()
    assert word_alignment(torch.zeros(0, 3), [0, 1, 2], []) == ()


@st.composite
def cases(draw: st.DrawFn) -> tuple[torch.Tensor, list[int], list[int]]:
    source, target = (
        sorted(draw(st.lists(st.integers(0, 3), min_size=1, max_size=6))) for _ in range(2)
    )
    stream = torch.Generator().manual_seed(draw(st.integers(0, 999)))
    return torch.rand(len(target), len(source), generator=stream), source, target


@given(case=cases(), data=st.data())
def test_how_words_are_cut_and_in_which_order_pieces_come_does_not_matter(
    case: tuple[torch.Tensor, list[int], list[int]], data: st.DataObject
) -> None:
    weights, source, target = case
    pairs = word_alignment(weights, source, target)

    assert sorted(word for _, word in pairs) == sorted(set(target))  # each target word once
    assert {word for word, _ in pairs} <= set(source)
    assert list(pairs) == sorted(pairs)
    # A source piece in two: the weight is shared out. A target piece in two: its row is.
    place = data.draw(st.integers(0, len(source) - 1))
    column = weights[:, place : place + 1]
    finer = torch.cat([weights[:, :place], 0.3 * column, 0.7 * column, weights[:, place + 1 :]], 1)
    assert word_alignment(finer, [*source[: place + 1], *source[place:]], target) == pairs
    place = data.draw(st.integers(0, len(target) - 1))
    row = weights[place : place + 1]
    finer = torch.cat([weights[:place], 0.4 * row, 0.6 * row, weights[place + 1 :]])
    assert word_alignment(finer, source, [*target[: place + 1], *target[place:]]) == pairs
    order = data.draw(st.permutations(range(len(source))))
    assert word_alignment(weights[:, order], [source[i] for i in order], target) == pairs


def test_weights_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"shape \(2, 3\), but there are 3 target and 2 source"):
        word_alignment(torch.zeros(2, 3), [0, 1], [0, 1, 2])


def test_the_form_of_pharaoh() -> None:
    assert pharaoh([(0, 0), (1, 2), (11, 1)]) == "0-0 1-2 11-1"
    assert pharaoh(()) == ""
