"""Options that no search could follow are refused; the defaults are the paper's."""

import math
from typing import Any

import pytest

from headway.decoding.options import Sampling, SearchOptions, changed_options, length_penalty
from headway.errors import ConfigError


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beam_size": 0}, "beam_size is 0, but must be from 1 to 10,000"),
        ({"n_best": 0}, "n_best is 0, but must be from 1 to beam_size 4"),
        ({"n_best": 5}, "n_best is 5, but must be from 1 to beam_size 4"),
        ({"length_penalty": -0.1}, "length_penalty is -0.1, but must be from 0 to 10"),
        ({"length_penalty": math.nan}, "length_penalty is nan, but must be from 0 to 10"),
        ({"length_penalty": 1e4}, "length_penalty is 10000.0, but must be from 0 to 10"),
        ({"beam_size": 2.5}, "beam_size is 2.5, but must be a whole number"),
        ({"no_repeat_ngram": 2.5}, "no_repeat_ngram is 2.5, but must be a whole number"),
        ({"max_length": 3.5}, "max_length is 3.5, but must be a whole number"),
        ({"min_length": "2"}, "min_length is 2, but must be a whole number"),
        ({"attention_layer": 1.0}, "attention_layer is 1.0, but must be a whole number"),
        ({"coverage_penalty": -0.1}, "coverage_penalty is -0.1, but must be at least 0"),
        ({"coverage_penalty": math.inf}, "coverage_penalty is inf, but must be at least 0"),
        ({"attention_layer": -1}, "attention_layer is -1, but must be at least 0"),
        ({"patience": 0.0}, "patience is 0.0, but must be above 0"),
        ({"min_length": -1}, "min_length is -1, but must be from 0 to 10,000"),
        ({"min_length": 10**9}, "min_length is 1000000000, but must be from 0 to 10,000"),
        ({"beam_size": 10**9}, "beam_size is 1000000000, but must be from 1 to 10,000"),
        ({"beam_size": True}, "beam_size is True, but must be a whole number"),
        ({"patience": True}, "patience is True, but must be a number"),
        ({"min_length": 5, "max_length": 4}, "max_length is 4, but must be at least min_length 5"),
        ({"length_form": "marian"}, "length_form is marian, but must be gnmt or plain"),
        ({"repetition_penalty": 0.0}, "repetition_penalty is 0.0, but must be from 0.01 to 100"),
        ({"no_repeat_ngram": -1}, "no_repeat_ngram is -1, but must be at least 0"),
        ({"prefix_bias": 1.5}, "prefix_bias is 1.5, but must be above 0, up to 1"),
        ({"groups": 3}, "groups is 3, but must be a divisor of beam_size 4"),
        ({"groups": 2, "sampling": Sampling()}, "There are 2 groups, but sampling has no beam"),
        ({"sampling": True}, "sampling is of type bool.*Give Sampling"),
        ({"sampling": {"top_p": 0.9}}, "sampling is of type dict.*Give Sampling"),
        ({"diversity": math.inf}, "diversity is inf, but must be at least 0"),
    ],
)
def test_options_that_no_search_could_follow_are_refused(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        SearchOptions(**options)


def test_the_defaults_are_the_papers() -> None:
    options = SearchOptions()

    assert (options.beam_size, options.length_penalty, options.n_best) == (4, 0.6, 1)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"temperature": 0.0}, "temperature is 0.0, but must be above 0"),
        ({"temperature": math.nan}, "temperature is nan"),
        ({"top_k": 2.5}, "top_k is 2.5, but must be a whole number"),
        ({"seed": 1.5}, "seed is 1.5, but must be a whole number"),
        ({"top_k": -1}, "top_k is -1, but must be at least 0"),
        ({"top_p": 0.0}, "top_p is 0.0, but must be above 0, up to 1"),
        ({"min_p": 1.1}, "min_p is 1.1, but must be from 0 to 1"),
        ({"seed": -1}, "seed is -1, but must be at least 0"),
        ({"temperature": "0.7"}, "temperature is 0.7, but must be a number"),
        ({"top_p": None}, "top_p is None, but must be a number"),
        ({"min_p": "0"}, "min_p is 0, but must be a number"),
    ],
)
def test_what_nothing_can_be_drawn_with_is_refused(numbers: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Sampling(**numbers)


def test_more_may_be_drawn_than_a_beam_holds() -> None:
    assert SearchOptions(beam_size=1, n_best=9, sampling=Sampling()).n_best == 9


@pytest.mark.parametrize("values", [{"n_best": "3"}, {"n_best": 5.5}, {"groups": 1.5}])
def test_what_cannot_widen_a_beam_is_named(values: dict[str, Any]) -> None:
    (name, value), *_ = values.items()
    with pytest.raises(ConfigError, match=f"{name} is {value}, but must be a whole number"):
        changed_options(SearchOptions(), values)


@pytest.mark.parametrize(
    "name", ["beam_size", "n_best", "groups", "min_length", "no_repeat_ngram", "length_penalty",
             "coverage_penalty", "diversity", "patience", "prefix_bias", "repetition_penalty"],
)  # fmt: skip
@pytest.mark.parametrize("given", [None, "0.6"])
def test_what_is_no_number_is_refused_by_name(name: str, given: object) -> None:
    with pytest.raises(ConfigError, match=f"{name} is {given}, but must be a"):
        SearchOptions(**{name: given})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("length", "alpha", "expected"),
    [
        (1, 0.6, 1.0),  # (6 / 6)^0.6
        (7, 1.0, 2.0),  # 12 / 6
        (19, 0.5, 2.0),  # sqrt(24 / 6)
        (13, 2.0, 9.0),  # (18 / 6)^2
        (7, 0.6, 1.515716567),  # 2^0.6
        (100, 0.0, 1.0),
    ],
)
def test_the_length_penalty_by_hand(length: int, alpha: float, expected: float) -> None:
    assert length_penalty(length, alpha) == pytest.approx(expected, abs=1e-9)
