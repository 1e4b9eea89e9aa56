"""Page 8: parameters of base, the vocabulary of Table 3, a shape, and rows without a cache."""

from collections.abc import Callable

import pytest
import torch

from headway.learn.checking import find_exercise, judge
from headway.learn.exercise import Exercise, computed
from headway.learn.page_08 import (
    BASE,
    EXERCISES,
    parameters,
    parameters_of_layers,
    vocabulary,
)
from headway.model.transformer import Transformer

PARAMETERS, _, SHAPE, _ = EXERCISES


def count(**changes: object) -> int:
    with torch.device("meta"):
        model = Transformer.from_config(BASE.model_copy(update=changes))
    return sum(weights.numel() for weights in model.parameters())


def test_the_model_has_as_many_parameters() -> None:
    assert computed(PARAMETERS.answer) == parameters() == count() == 63_082_496


@pytest.mark.parametrize(("shared", "tables"), [("target", 2), ("none", 3)])
def test_tables_that_are_not_shared_count_once_more(shared: str, tables: int) -> None:
    assert count(shared_embeddings=shared) == parameters(tables=tables)


def test_biases_are_counted_where_the_model_has_them() -> None:
    layers = parameters_of_layers(biases=False)

    assert count(attention_bias=False, feed_forward_bias=False) == parameters(layers=layers)


def test_with_that_vocabulary_base_has_65_million() -> None:
    tokens = round(vocabulary())

    assert count(source_vocab_size=tokens, target_vocab_size=tokens) == pytest.approx(
        65e6, abs=BASE.d_model
    )


def test_the_shape_of_the_translator_is_accepted_and_each_slip_is_named(
    holds: Callable[[Exercise], None],
) -> None:
    holds(SHAPE)


@pytest.mark.parametrize(
    ("number", "answer"), [("8.1", 63_082_496), ("8.2", 41_000), ("8.2", 40_745), ("8.4", 210)]
)
def test_a_rounded_answer_is_right_if_the_question_says_so(number: str, answer: int) -> None:
    assert judge(find_exercise(number), answer)[0]


@pytest.mark.parametrize(
    ("number", "answer", "words"),
    [
        ("8.1", 44_138_496, "Add the table"),
        ("8.1", 100_970_496, "three tables"),
        ("8.1", 56_772_608, "cross-attention"),
        ("8.2", 126_953, "Subtract the layers"),
        ("8.2", 3_745, "to add"),
        ("8.4", 20, "with a cache"),
        ("8.4", 190, "`<s>`"),
    ],
)
def test_the_usual_slips_are_named(number: str, answer: int, words: str) -> None:
    is_right, sentence = judge(find_exercise(number), answer)

    assert not is_right
    assert words in sentence
