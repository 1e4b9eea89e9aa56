"""Targets of a shifted stretch go to their sources, each to one at most."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from headway.data.mending.realigning import partners
from headway.data.misaligned import Stretch


def test_a_stretch_whose_targets_are_late() -> None:
    # Target 2 is one too many, and that of source 5 is missing.
    assert partners(8, [Stretch(2, 5, 1)]) == [0, 1, 3, 4, 5, None, 6, 7]


def test_a_stretch_whose_targets_are_early() -> None:
    assert partners(8, [Stretch(3, 6, -2)]) == [0, None, None, 1, 2, 3, 6, 7]


def test_up_to_the_end_the_last_sources_have_none() -> None:
    assert partners(5, [Stretch(1, 5, 2)]) == [0, 3, 4, None, None]


def test_of_two_stretches_the_first_has_the_target() -> None:
    assert partners(8, [Stretch(1, 3, 2), Stretch(3, 6, 1)]) == [0, 3, 4, None, 5, 6, None, 7]


def test_targets_of_other_sources_stay() -> None:
    assert partners(3, [Stretch(0, 2, None)]) == [0, 1, 2]


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_no_target_is_used_twice_and_what_is_outside_stays(data) -> None:
    ends = sorted(data.draw(st.lists(st.integers(0, 30), min_size=2, max_size=6, unique=True)))
    shifts = st.none() | st.integers(-9, 9).filter(bool)
    stretches = [Stretch(start, end, data.draw(shifts)) for start, end in pairwise(ends)]
    places = partners(30, stretches)
    used = [place for place in places if place is not None]
    assert len(places) == 30
    assert len(set(used)) == len(used)
    for row, place in enumerate(places):
        inside = [late for start, end, late in stretches if start <= row < end]
        late = inside[0] if inside and inside[0] else 0
        assert place in (None, row + late)
