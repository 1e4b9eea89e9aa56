"""What an exercise needs; and that the exercises of the pages have it."""

from collections.abc import Callable

import pytest

from headway.errors import ConfigError
from headway.learn import exercise as module
from headway.learn.checking import _exercises
from headway.learn.exercise import Exercise, Slip, computed


@pytest.mark.parametrize("number", ["4", "4.0", "0.1", "4.2 ", "four", "4.2.1"])
def test_a_number_is_page_and_place(number: str) -> None:
    with pytest.raises(ConfigError, match=r"such as '4.2'"):
        Exercise(number, "?", lambda: 1)


def test_words_need_both_languages_and_a_tolerance_is_positive() -> None:
    for make in (
        lambda: Exercise("1.1", {"en": "?"}, lambda: 1),
        lambda: Exercise("1.1", "?", lambda: 1, hint={"ko": "."}),
        lambda: Slip(lambda: 1, {"en": "."}),
        lambda: Exercise("1.1", "?", lambda: 1, tolerance=0),
    ):
        with pytest.raises(ConfigError):
            make()


def test_the_demonstration_is_loaded_only_for_a_function_that_takes_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "demonstration", lambda: "translator")
    assert computed(lambda: 3) == 3
    assert computed(lambda translator: translator) == "translator"


def _needs_no_model(exercise: Exercise) -> bool:
    values = [exercise.answer, *(slip.value for slip in exercise.slips)]
    return not any(module.inspect.signature(value).parameters for value in values)


ARITHMETIC = [exercise for exercise in _exercises().values() if _needs_no_model(exercise)]


@pytest.mark.parametrize("exercise", ARITHMETIC, ids=lambda exercise: exercise.number)
def test_the_right_answer_is_accepted_and_each_slip_is_named(
    exercise: Exercise, holds: Callable[[Exercise], None]
) -> None:
    holds(exercise)
