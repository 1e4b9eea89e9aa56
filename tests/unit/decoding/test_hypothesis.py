"""A hypothesis is complete unless a search says that the limit ended it."""

from headway.decoding.hypothesis import Hypothesis


def test_a_hypothesis_is_complete_unless_told_otherwise() -> None:
    assert Hypothesis((4, 5), -1.5, -1.2).complete
    assert not Hypothesis((4, 5), -1.5, -1.2, complete=False).complete
