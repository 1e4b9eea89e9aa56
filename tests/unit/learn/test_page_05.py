"""Page 5: the cells of masks, and a row without a key."""

import numpy as np
import pytest
import torch

from headway.learn.checking import find_exercise, judge
from headway.learn.exercise import computed
from headway.learn.page_05 import SCORES, SOURCE, TARGET, TARGET_LENGTH
from headway.model.attention import masked_softmax
from headway.model.masks import look_ahead_mask, padding_mask, target_mask


def test_the_masks_of_the_model_have_as_many_open_cells() -> None:
    ids = torch.from_numpy(TARGET)[None]
    length = len(TARGET)
    slips = [computed(slip.value) for slip in find_exercise("5.1").slips]

    assert computed(find_exercise("5.1").answer) == target_mask(ids).sum() == 14
    assert slips[0] == look_ahead_mask(length).sum()
    assert slips[1] == padding_mask(ids).expand(1, 1, length, length).sum()


def test_the_source_mask_of_the_model_has_as_many_open_cells() -> None:
    mask = padding_mask(torch.from_numpy(SOURCE)[None])

    cells = mask.expand(1, 1, TARGET_LENGTH, len(SOURCE))

    assert computed(find_exercise("5.3").answer) == cells.sum()


def test_a_large_number_gives_an_empty_row_a_mean_and_the_model_gives_it_nothing() -> None:
    scores, hidden = torch.from_numpy(SCORES)[None], torch.ones(1, 3, dtype=torch.bool)
    filled = scores.masked_fill(hidden, -1e4).softmax(-1)[0]
    nothing = masked_softmax(scores.masked_fill(hidden, -torch.inf), ~hidden)[0]
    exercise = find_exercise("5.2")

    np.testing.assert_allclose(filled.numpy(), computed(exercise.answer))
    np.testing.assert_allclose(nothing.numpy(), computed(exercise.slips[0].value))


@pytest.mark.parametrize(
    ("number", "answer", "words"),
    [
        ("5.1", 15, "look-ahead mask alone"),
        ("5.1", 20, "padding mask alone"),
        ("5.1", 10, "row of <pad>"),
        ("5.2", [0, 0, 0], "Headway gives them"),
        ("5.2", [0.090, 0.245, 0.665], "adds"),
        ("5.3", 42, "two columns are closed"),
        ("5.3", 21, "self-attention"),
    ],
)
def test_the_usual_slips_are_named(number: str, answer: object, words: str) -> None:
    is_right, sentence = judge(find_exercise(number), answer)

    assert not is_right
    assert words in sentence
