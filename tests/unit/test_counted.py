"""A number and its noun agree; a list of many names is short."""

import pytest

from headway.counted import counted, listed


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0 lines"), (1, "1 line"), (2, "2 lines"), (12345, "12,345 lines")]
)
def test_only_one_thing_has_no_s(number: int, words: str) -> None:
    assert counted(number, "line") == words


@pytest.mark.parametrize(
    ("names", "words"), [("", ""), ("abc", "a, b, c"), ("abcd", "a, b, c and 1 more")]
)
def test_a_list_names_the_first_and_the_number_of_the_others(names: str, words: str) -> None:
    assert listed(names, most=3) == words
