"""Check the answer to an exercise and say the result in one sentence."""

import importlib
import math
import pkgutil
import re
from functools import cache
from pathlib import Path
from unicodedata import east_asian_width

import numpy as np

from headway.counted import counted
from headway.errors import ConfigError
from headway.learn.exercise import Exercise, computed
from headway.learn.judging import Fit, Readable, fits, readable, right_value, same_form
from headway.learn.language import Words, in_language

_WIDTH = 76  # columns

_SENTENCES: dict[str, dict[str, str]] = {
    "right": {"en": "Right.", "ko": "정답입니다."},
    "rounded": {
        "en": "Right. With more digits: {answer}.",
        "ko": "정답입니다. 더 자세히 쓰면 {answer}입니다.",
    },
    "coarse": {
        "en": "That is rounded too far to judge. Give more digits.",
        "ko": "반올림을 너무 많이 해서 판단할 수 없습니다. 자릿수를 늘려 보세요.",
    },
    "sign": {"en": "The size is right, but not the sign.", "ko": "크기는 맞지만 부호가 다릅니다."},
    "percent": {
        "en": "That is the answer in percent. Give it as a share of 1.",
        "ko": "답을 퍼센트로 쓰셨습니다. 전체를 1로 보고 써 보세요.",
    },
    "wrong": {"en": "Not right.", "ko": "정답이 아닙니다."},
    "places": {
        "en": "Not right: {wrong} of {count} differ, the first at index {first}.",
        "ko": "정답이 아닙니다. {count}개 가운데 {wrong}개가 다르고, 처음 다른 것의 인덱스는 "
        "{first}입니다.",
    },
    "form": {
        "en": "The answer is {right}. You gave {given}.",
        "ko": "답의 형식은 {right}입니다. 입력하신 것은 {given}입니다.",
    },
    "quotes": {"en": "Write a number without quotes.", "ko": "숫자는 따옴표 없이 쓰세요."},
    "number": {"en": "one number", "ko": "숫자 하나"},
    "numbers": {"en": "a list of {count}", "ko": "숫자 {size}개의 리스트"},
    "array": {
        "en": "numbers in an array of shape {shape}",
        "ko": "모양이 {shape}인 숫자 배열",
    },
    "text": {"en": "a text in quotes", "ko": "따옴표 안의 텍스트"},
    "texts": {"en": "a list of {count}", "ko": "텍스트 {size}개의 리스트"},
    "grid": {"en": "texts in an array of shape {shape}", "ko": "모양이 {shape}인 텍스트 배열"},
    "unknown": {
        "en": "There is no exercise {number}.",
        "ko": "{number}번 연습 문제는 없습니다.",
    },
    "page": {
        "en": "Page {page} has {numbers}.",
        "ko": "{page}쪽에는 {numbers}번이 있습니다.",
    },
    "exercises": {"en": "There are {numbers}.", "ko": "있는 번호: {numbers}."},
    "no text": {
        "en": "The number is of type {type}.",
        "ko": "문제 번호의 타입이 {type}입니다.",
    },
    "in quotes": {
        "en": 'Write it in quotes: learn.check("{number}", answer).',
        "ko": '따옴표 안에 쓰세요: learn.check("{number}", answer).',
    },
    "other": {"en": "a value of type {type}", "ko": "{type} 타입의 값"},
}


def check(number: str, answer: object = ...) -> bool | None:
    """Print whether the answer to an exercise is right; without an answer, print the question.

    number: page and number on it, in quotes, such as "4.2". answer: a number, a text, or a list,
    array or tensor of them; rounded numbers are right if two digits or more are given.

    Returns True or False, and None for a question. Raises ConfigError for an unknown number.
    """
    exercise = find_exercise(number)
    if answer is ...:
        start = f"{number}  "
        print(_wrapped(start + in_language(exercise.question), indent=len(start)))
        return None
    is_right, sentence = judge(exercise, answer)
    print(_wrapped(sentence))
    return is_right


def _wrapped(text: str, indent: int = 0) -> str:
    """Return text in short lines, because the output of a notebook does not wrap.

    All lines but the first are indented.
    """
    lines, line = [], ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if line and _columns(longer) > _WIDTH:
            lines.append(line)
            longer = " " * indent + word
        line = longer
    return "\n".join([*lines, line])


def _columns(text: str) -> int:
    """Return the width of text on a terminal, where Hangul takes two columns a letter."""
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def find_exercise(number: str) -> Exercise:
    """Return the exercise with this number; ConfigError names those that exist."""
    if not isinstance(number, str):
        problem = _message("no text", type=type(number).__name__)
        raise ConfigError(problem, _message("in quotes", number=number))
    known = _exercises()
    if number in known:
        return known[number]
    page = number.partition(".")[0]
    near = [name for name in known if name.partition(".")[0] == page]
    numbers = ", ".join(near or known)
    remedy = _message("page" if near else "exercises", page=page, numbers=numbers)
    raise ConfigError(_message("unknown", number=repr(number)), remedy)


@cache
def _exercises() -> dict[str, Exercise]:
    """Return the exercises of all pages by number, in the order of the pages."""
    names = sorted(module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)]))
    modules = [
        importlib.import_module(f"{__package__}.{name}")
        for name in names
        if re.fullmatch(r"page_\d\d", name)
    ]
    return {exercise.number: exercise for module in modules for exercise in module.EXERCISES}


def judge(exercise: Exercise, answer: object) -> tuple[bool, str]:
    """Return whether an answer is right, and a sentence about it in the chosen language."""
    right, typed = right_value(computed(exercise.answer)), readable(answer)
    if typed is None or not same_form(right, typed):
        form = _message("form", right=_form(right), given=_form(typed, answer))
        quoted = isinstance(answer, str) and right.dtype.kind == "f" and _is_number(answer)
        return False, _message("quotes") if quoted else form
    every = fits(right, typed, exercise.tolerance)
    fit = min(every)
    if fit is Fit.EXACT:
        return True, _message("right")
    fit_of_slip, sentence = _nearest_slip(exercise, typed)
    if fit_of_slip > fit and fit_of_slip >= Fit.ROUNDED:
        return False, in_language(sentence)
    if fit is Fit.ROUNDED:
        return True, _message("rounded", answer=_shown(right, exercise.tolerance))
    if general := _general_slip(right, typed, exercise.tolerance):
        return False, _message(general)
    if fit is Fit.COARSE:
        return False, _message("coarse")
    return False, f"{_wrong(every)} {in_language(exercise.hint)}".strip()


def _nearest_slip(exercise: Exercise, given: Readable) -> tuple[Fit, Words]:
    """Return the best fit of a slip, and its sentence; of equal ones the first."""
    best: tuple[Fit, Words] = (Fit.WRONG, "")
    for slip in exercise.slips:
        value = right_value(computed(slip.value))
        if same_form(value, given):
            fit = min(fits(value, given, exercise.tolerance))
            best = max(best, (fit, slip.sentence), key=lambda entry: entry[0])
    return best


def _general_slip(right: Readable, given: Readable, tolerance: float) -> str | None:
    """Return the name of a slip that is possible in every exercise with numbers."""
    if right.dtype.kind == "U":
        return None
    if min(fits(-right, given, tolerance)) >= Fit.ROUNDED:
        return "sign"
    if np.abs(right).max() <= 1 and min(fits(100 * right, given, tolerance)) >= Fit.ROUNDED:
        return "percent"
    return None


def _wrong(every: list[Fit]) -> str:
    wrong = [place for place, fit in enumerate(every) if fit is Fit.WRONG]
    if len(every) == 1:
        return _message("wrong")
    return _message("places", wrong=len(wrong), count=len(every), first=wrong[0])


def _form(value: Readable | None, given: object = None) -> str:
    """Return a few words for the form of a value, such as "3 numbers in a list"."""
    if value is None:
        return _message("other", type=type(given).__name__)
    is_text = value.dtype.kind == "U"
    names = ("text", "texts", "grid") if is_text else ("number", "numbers", "array")
    count = counted(value.size, "text" if is_text else "number")
    return _message(names[min(value.ndim, 2)], count=count, size=value.size, shape=value.shape)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _shown(right: Readable, tolerance: float) -> str:
    """Return numbers with one digit more than the tolerance needs."""
    digits = max(0, 1 - math.floor(math.log10(tolerance)))
    return ", ".join(f"{number:.{digits}f}" for number in np.ravel(right))


def _message(name: str, **facts: object) -> str:
    return in_language(_SENTENCES[name]).format(**facts)
