"""Page 10: a hypothesis's score, greedy against best, BLEU by hand, and the needed head."""

from collections.abc import Callable

import pytest
import torch

from headway.decoding.options import SearchOptions
from headway.evaluation.metrics import score_texts
from headway.inspection.ablation import Head, without_heads
from headway.inspection.translator import Translator
from headway.learn.checking import find_exercise, judge
from headway.learn.exercise import Exercise, computed
from headway.learn.page_10 import (
    LENGTH,
    OUTPUT,
    REFERENCE,
    SOURCE,
    TARGET,
    TOTAL,
    WORD,
    needed_head,
)


def test_the_search_of_headway_gives_the_score() -> None:
    expected = SearchOptions(4, 0.6).score(TOTAL, LENGTH)

    assert computed(find_exercise("10.1").answer) == pytest.approx(expected)


def test_sacrebleu_gives_the_score_by_hand() -> None:
    [score] = score_texts([" ".join(OUTPUT)], [" ".join(REFERENCE)], ["bleu"], tokenize="none")

    assert computed(find_exercise("10.3").answer) == pytest.approx(score.value)


def test_the_word_is_least_probable_without_the_needed_head(translator: Translator) -> None:
    tokenizer = translator.bundle.target_tokenizer
    row = tokenizer.pieces(tokenizer.encode(TARGET)).index(WORD)

    def loss(layer: int, head: int) -> float:
        bundle = translator.bundle
        source, target = (
            torch.tensor([[*start, *tokenizer.encode(text), *end]])
            for tokenizer, text, start, end in (
                (bundle.source_tokenizer, SOURCE, [], [3]),
                (bundle.target_tokenizer, TARGET, [2], []),
            )
        )
        off = [Head(f"decoder.layers.{layer}.cross_attention", head)]
        with torch.no_grad(), without_heads(bundle.model, off):
            chances = bundle.model(source, target)[0, row].log_softmax(-1)
        return -chances[bundle.target_tokenizer.id(WORD)].item()

    losses = {(layer, head): loss(layer, head) for layer in (0, 1) for head in range(4)}

    assert tuple(needed_head(translator)) == max(losses, key=lambda place: losses[place])


@pytest.mark.parametrize("number", ["10.1", "10.2", "10.3", "10.4"])
def test_the_answer_is_right_and_each_slip_is_named(
    number: str, holds: Callable[[Exercise], None]
) -> None:
    holds(find_exercise(number))


@pytest.mark.parametrize(
    ("number", "answer"), [("10.1", -0.302), ("10.2", [0.2, 0.36]), ("10.3", 61.30)]
)
def test_an_answer_with_the_digits_of_the_question_is_right(number: str, answer: object) -> None:
    assert judge(find_exercise(number), answer)[0]
