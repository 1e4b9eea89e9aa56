"""Lines of a translation end in proportion, in order, and never twice at one place."""

from hypothesis import given
from hypothesis import strategies as st

from headway.documents.breaks import places_of_breaks


def test_lines_end_at_the_nearest_space() -> None:
    assert places_of_breaks("eins zwei drei", [4, 8], (0, 14)) == [4, 9]
    assert places_of_breaks("a b c d e f", [4], (0, 11)) == [3]


def test_text_without_spaces_is_divided_anywhere() -> None:
    assert places_of_breaks("一二三四五六", [4, 8], (0, 12)) == [2, 4]
    assert places_of_breaks("ab", [4, 8, 9], (0, 12)) == [1, 2, 2]


def test_lines_that_need_text_end_at_spaces_alone() -> None:
    assert places_of_breaks("I am", [3, 6, 9], (0, 12), need_lines=True) == [1, None, None]
    assert places_of_breaks("", [3], (0, 12), need_lines=True) == [None]


def test_kept_text_stays_on_a_line() -> None:
    assert places_of_breaks("run it now and go", [4], (0, 17), kept=[(0, 10)]) == [10]
    assert places_of_breaks("run it", [4], (0, 17), kept=[(0, 6)]) == [6]


@given(
    st.text("ab ", max_size=12).map(str.strip),
    st.lists(st.integers(0, 20), max_size=6, unique=True).map(sorted),
    st.booleans(),
)
def test_every_break_has_a_place_of_its_own(text: str, breaks: list[int], need: bool) -> None:
    places = places_of_breaks(text, breaks, (0, 21), need_lines=need)
    inner = [place for place in places if place is not None and place < len(text)]
    assert len(places) == len(breaks)
    assert inner == sorted(set(inner))
    assert all(place > 0 and not text[place - 1].isspace() for place in inner)
    if need:
        assert all(place is None or text[place].isspace() for place in places)
