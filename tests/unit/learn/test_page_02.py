"""The answers of page 2."""

from collections.abc import Callable

import pytest

from headway.inspection.translator import Translator
from headway.learn.exercise import Exercise
from headway.learn.page_02 import EXERCISES, _similarities

EMBEDDING, SHARED, NEAREST = EXERCISES


@pytest.mark.parametrize("exercise", [EMBEDDING, NEAREST], ids=lambda entry: entry.number)
def test_the_right_answer_is_accepted_and_each_slip_is_named(
    exercise: Exercise, holds: Callable[[Exercise], None]
) -> None:
    holds(exercise)


def test_what_is_scaled_is_the_table_times_the_root(translator: Translator) -> None:
    trace = translator.trace("저는 학생입니다.")
    scaled = float(trace["source_embedding.scaled"][0, 5])
    assert EMBEDDING.answer(translator) * 128**0.5 == pytest.approx(scaled)


def test_two_tables_are_saved() -> None:
    assert SHARED.answer() == 3 * 37_000 * 512 - 37_000 * 512 == 37_888_000


def test_the_nearest_token_has_the_largest_cosine(translator: Translator) -> None:
    tokenizer = translator.bundle.target_tokenizer
    cosines = _similarities(translator)
    word = tokenizer.id("▁student")
    assert cosines[word] == pytest.approx(1)
    others = [number for number in range(len(tokenizer)) if number != word]
    best = max(others, key=lambda number: cosines[number])
    assert NEAREST.answer(translator) == tokenizer.piece(best)
