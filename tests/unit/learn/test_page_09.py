"""Page 9: the rate, the smoothed target, the lowest loss, and the labels that count."""

import pytest
import torch

from headway.data.batching import collate
from headway.data.encoded import EncodedPair
from headway.learn.checking import find_exercise, judge
from headway.learn.exercise import computed
from headway.learn.page_09 import (
    D_MODEL,
    LENGTHS,
    SMOOTHING,
    STEP,
    VOCABULARY,
    WARM_UP,
    smoothed_target,
)
from headway.training.loss import label_smoothed_cross_entropy
from headway.training.schedule import paper_rate


def test_the_schedule_of_headway_gives_the_rate() -> None:
    expected = paper_rate(STEP, D_MODEL, WARM_UP)

    assert computed(find_exercise("9.1").answer) == pytest.approx(expected, rel=1e-12)


def test_the_gradient_of_the_loss_shows_the_target() -> None:
    logits = torch.zeros(1, VOCABULARY, dtype=torch.float64, requires_grad=True)
    loss = label_smoothed_cross_entropy(logits, torch.tensor([3]), SMOOTHING).loss

    (gradient,) = torch.autograd.grad(loss, logits)

    target = (logits.softmax(-1) - gradient)[0]
    assert target[3].item() == pytest.approx(computed(find_exercise("9.2").answer))
    assert target[0].item() == pytest.approx(0, abs=1e-12)


def test_no_logits_have_a_lower_loss_than_those_of_the_target() -> None:
    logits = torch.full((2, VOCABULARY), -30.0, dtype=torch.float64)
    logits[:, 1:] = torch.from_numpy(smoothed_target()).log()
    logits[1, 1] += 0.1  # a little more certain of the right token, 1

    best, other = (
        label_smoothed_cross_entropy(row[None], torch.tensor([1]), SMOOTHING).loss.item()
        for row in logits
    )

    assert best == pytest.approx(computed(find_exercise("9.3").answer), abs=1e-9)
    assert best < other


def test_collate_counts_as_many_labels() -> None:
    pairs = [EncodedPair([5], [7] * length, row) for row, length in enumerate(LENGTHS)]

    batch = collate(pairs)

    assert computed(find_exercise("9.4").answer) == batch.num_target_tokens == 13


@pytest.mark.parametrize(
    ("number", "answer"), [("9.1", 1.75e-5), ("9.2", 0.9143), ("9.3", 0.446), ("9.4", 13)]
)
def test_an_answer_with_the_digits_of_the_question_is_right(number: str, answer: object) -> None:
    assert judge(find_exercise(number), answer)[0]


@pytest.mark.parametrize(
    ("number", "answer", "words"),
    [
        ("9.1", 4.42e-3, "after the warm-up"),
        ("9.1", 3.95e-4, "d_model"),
        ("9.1", 6.99e-4, "peak"),
        ("9.2", 0.9, "1 − ε alone"),
        ("9.2", 0.9125, "padding"),
        ("9.3", 0.0896, "other six"),
        ("9.3", 1.946, "knows nothing"),
        ("9.4", 18, "all cells"),
        ("9.4", 10, "END"),
    ],
)
def test_the_usual_slips_are_named(number: str, answer: object, words: str) -> None:
    is_right, sentence = judge(find_exercise(number), answer)

    assert not is_right
    assert words in sentence
