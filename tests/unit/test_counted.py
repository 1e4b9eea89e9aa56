"""A number and its noun agree."""

import pytest

from headway.counted import counted


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0 lines"), (1, "1 line"), (2, "2 lines"), (12345, "12,345 lines")]
)
def test_only_one_thing_has_no_s(number: int, words: str) -> None:
    assert counted(number, "line") == words
