"""An exercise: its question, its answer and the usual slips, all computed."""

import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from headway.errors import ConfigError
from headway.learn.demonstration import demonstration
from headway.learn.language import Words, check_words

Value = Callable[..., Any]
"""A function of no argument, or of the translator that `learn.demonstration` returns."""


@dataclass(frozen=True)
class Slip:
    """The value that a usual mistake leads to, and a sentence that names the mistake."""

    value: Value
    sentence: Words

    def __post_init__(self) -> None:
        check_words(self.sentence)


@dataclass(frozen=True)
class Exercise:
    """A question with a computed answer; `number` is page.number, such as "4.2"."""

    number: str
    question: Words
    answer: Value
    """Returns a number, a list of numbers, an array, a text or a list of texts."""
    slips: Sequence[Slip] = ()
    tolerance: float = 0.001
    """The largest difference from the answer that is still right; absolute, for numbers."""
    hint: Words = ""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[1-9]\d*\.[1-9]\d*", self.number):
            raise ConfigError(
                f"An exercise has the number {self.number!r}.",
                "Give the page and the number on it, such as '4.2'.",
            )
        if not self.tolerance > 0:
            raise ConfigError(
                f"The tolerance of exercise {self.number} is {self.tolerance}.",
                "Give a positive number.",
            )
        for words in (self.question, self.hint):
            check_words(words)


def computed(value: Value) -> Any:
    """Call the function of an answer or a slip, with the demonstration if it takes an argument."""
    return value(demonstration()) if inspect.signature(value).parameters else value()
