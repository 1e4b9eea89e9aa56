"""Which answers are right: numbers, sequences and texts."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.errors import ConfigError
from headway.learn.judging import Fit, fits, readable, right_value, same_form


def fit(right: object, answer: object, tolerance: float = 0.001) -> Fit:
    read = readable(answer)
    assert read is not None
    expected = right_value(right)
    assert same_form(expected, read)
    return min(fits(expected, read, tolerance))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (62.596, Fit.EXACT),
        (62.5969, Fit.EXACT),
        (62.6, Fit.ROUNDED),
        (63, Fit.COARSE),
        (62.5, Fit.WRONG),
        (62.59, Fit.WRONG),
        (62, Fit.WRONG),
        (0, Fit.WRONG),
        (float("nan"), Fit.WRONG),
        (float("inf"), Fit.WRONG),
    ],
)
def test_a_number_with_fewer_digits_is_right_if_it_is_rounded(answer: float, expected: Fit) -> None:
    assert fit(62.596, answer) is expected


@settings(max_examples=40)
@given(st.floats(-1e6, 1e6), st.integers(1, 8))
def test_every_rounding_fits_and_its_neighbors_do_not(right: float, digits: int) -> None:
    rounded = round(right, digits)
    unit = 10.0**-digits
    if abs(rounded) < 10 * unit or right.is_integer():
        return
    assert fit(right, rounded, tolerance=1e-12) >= Fit.COARSE
    for neighbor in (rounded + 2 * unit, rounded - 2 * unit):
        wrong = round(neighbor, digits)
        if Decimal(repr(wrong)).normalize().as_tuple().exponent == -digits:
            assert fit(right, wrong, tolerance=1e-12) is Fit.WRONG


def test_a_count_is_not_rounded() -> None:
    assert fit(1_050_624, 1_050_624.0) is Fit.EXACT
    assert fit(1_050_624, 1.05e6) is Fit.WRONG
    assert fit(14, 14.0004) is Fit.EXACT


def test_small_answers_may_be_given_with_exponents() -> None:
    assert fit(6.9877e-4, 6.99e-4, tolerance=1e-8) is Fit.ROUNDED
    assert fit(6.9877e-4, 7e-4, tolerance=1e-8) is Fit.COARSE
    assert fit(6.9877e-4, 6.98e-4, tolerance=1e-8) is Fit.WRONG


@pytest.mark.parametrize(
    "answer",
    [
        (0.2, 0.5, 0.3),
        np.array([0.2, 0.5, 0.3], dtype=np.float32),
        torch.tensor([0.2, 0.5, 0.3], requires_grad=True),
        torch.tensor([0.2, 0.5, 0.3], dtype=torch.bfloat16),
    ],
    ids=["tuple", "array", "tensor", "bfloat16"],
)
def test_a_sequence_may_be_of_any_kind(answer: object) -> None:
    assert fit([0.2, 0.5, 0.3], answer) is Fit.EXACT


def test_each_number_of_a_sequence_is_judged() -> None:
    right, answer = right_value([0.25, 1.0, 3.14159]), readable([0.25, 2.0, 3.14])
    assert answer is not None
    assert fits(right, answer, 0.001) == [Fit.EXACT, Fit.WRONG, Fit.ROUNDED]


@pytest.mark.parametrize("answer", [3, 3.0, np.float32(3), torch.tensor(3), torch.tensor([3.0])])
def test_one_number_may_be_of_any_kind(answer: object) -> None:
    assert fit(3, answer) is Fit.EXACT


def test_texts_differ_neither_by_case_nor_by_spaces() -> None:
    assert fit("I am a student", "  i am  a Student.") is Fit.EXACT
    assert fit("학생", "학생") is Fit.EXACT  # the second one is in single letters
    assert fit("query", "key") is Fit.WRONG
    assert fit(["▁I", "▁am"], ["▁I", "▁a"]) is Fit.WRONG
    assert fit(["▁I", "▁am"], ["I", "am"]) is Fit.EXACT


@pytest.mark.parametrize("answer", [None, True, [True, False], {"a": 1}, [[1], [2, 3]], 2j, print])
def test_what_is_neither_number_nor_text_is_not_read(answer: object) -> None:
    assert readable(answer) is None


def test_forms_differ() -> None:
    forms = [1, [1, 2], [1, 2, 3], [[1, 2], [3, 4]], "1", ["1", "2"]]
    for place, one in enumerate(forms):
        for other in forms[place + 1 :]:
            assert not same_form(right_value(one), right_value(other)), (one, other)


@pytest.mark.parametrize("answer", [None, True, Decimal(1), Fraction(1, 2)])
def test_an_exercise_computes_numbers_or_text(answer: object) -> None:
    with pytest.raises(ConfigError, match=f"of type {type(answer).__name__}"):
        right_value(answer)
