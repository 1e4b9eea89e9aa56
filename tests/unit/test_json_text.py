"""What is written as JSON can be read by all, and says the same."""

import json
import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from headway.json_text import to_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda own: st.lists(own) | st.tuples(own, own) | st.dictionaries(st.text(), own),
    max_leaves=12,
)


def _strict(text: str) -> Any:
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    return json.loads(text, parse_constant=refuse)


def _expected(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _expected(own) for key, own in value.items()}
    return [_expected(own) for own in value] if isinstance(value, list | tuple) else value


@given(VALUES)
def test_numbers_that_are_not_finite_are_null_and_the_rest_is_as_it_was(value: Any) -> None:
    for text in (to_json(value), to_json(value, indent=2), to_json(value, compact=True)):
        assert _strict(text) == _expected(value)


def test_letters_stay_letters_and_one_line_stays_one() -> None:
    assert to_json({"말": [1, 2]}) == '{"말": [1, 2]}'
    assert to_json({"a": [1, math.inf]}, compact=True) == '{"a":[1,null]}'
