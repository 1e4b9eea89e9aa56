"""The words of lines show where a shifted stretch begins and ends, to the line."""

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.data.stretches import Stretch, with_exact_ends

from .test_word_translations import phrases

LINES = 400


def shifted(start: int, end: int, late: int) -> tuple[list[str], list[str]]:
    """Return text with a block whose targets are moved on within the block, as in a circle."""
    sources, targets = (list(side) for side in zip(*phrases(LINES), strict=True))
    block = targets[start:end]
    targets[start:end] = block[-late:] + block[:-late]
    return sources, targets


TEXT = shifted(130, 180, 1)


def three(start: int, end: int, late: int) -> list[Stretch]:
    return [Stretch(0, start, 0), Stretch(start, end, late), Stretch(end, LINES, 0)]


@pytest.mark.parametrize("late", [1, 2, -1, -3])
@pytest.mark.parametrize("seed", range(3))
def test_ends_that_are_a_few_lines_off_are_put_right(late: int, seed: int) -> None:
    draw = random.Random(seed)
    text = shifted(130, 180, late)
    # Of the first lines of the block, or of its last, the targets are at its other end.
    exact = (130, 180 - late) if late > 0 else (130 - late, 180)
    guess = three(130 + draw.randint(-9, 9), 180 + draw.randint(-9, 9), late)

    before, block, after = with_exact_ends(guess, *text)

    assert (block.start, block.end, block.late) == (*exact, late)
    assert before.end <= block.start
    assert block.end <= after.start


def test_right_ends_stay_and_so_do_those_of_unknown_words() -> None:
    sources, targets = shifted(130, 180, 1)
    exact = [Stretch(0, 130, 0), Stretch(130, 179, 1), Stretch(180, LINES, 0)]
    guess = three(128, 182, 1)
    numbers = [[f"{text}{n}" for n, text in enumerate(side)] for side in ("ab" * 200, "cd" * 200)]

    assert with_exact_ends(three(130, 180, 1), sources, targets) == exact
    assert with_exact_ends(guess, *numbers) == guess
    assert with_exact_ends(guess, sources, [""] * LINES) == guess


@pytest.mark.parametrize("length", [2, 3, 20, 21])
def test_a_stretch_that_no_words_support_shrinks_and_is_not_lost(length: int) -> None:
    guess = three(130, 130 + length, 1)
    right = shifted(0, LINES, LINES)  # a whole turn: nothing is moved

    _, block, _ = with_exact_ends(guess, *right)

    assert block.late == 1
    assert 0 < block.end - block.start <= 2


def test_text_without_a_change_is_returned() -> None:
    whole = [Stretch(0, LINES, 0)]
    assert with_exact_ends(whole, *shifted(130, 180, 1)) == whole


@given(st.lists(st.integers(1, LINES - 1), unique=True, max_size=6), st.data())
@settings(max_examples=30)
def test_stretches_stay_in_order_and_none_is_lost(changes: list[int], data: st.DataObject) -> None:
    bounds = list(pairwise([0, *sorted(changes), LINES]))
    lates = data.draw(st.lists(st.sampled_from([0, 1, -2, None]), min_size=6, max_size=6))
    guess = [Stretch(*ends, late) for ends, late in zip(bounds, [0, *lates], strict=False)]

    found = with_exact_ends(guess, *TEXT)

    assert [stretch.late for stretch in found] == [stretch.late for stretch in guess]
    assert all(left.end <= right.start for left, right in pairwise(found))
    assert all(0 <= stretch.start < stretch.end <= LINES for stretch in found)
    for before, after in zip(guess, found, strict=True):
        if before.late is None:
            assert before == after
