"""The length penalty has the values of its formula."""

import pytest

from headway.decoding.length import length_penalty


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
def test_the_penalty_by_hand(length: int, alpha: float, expected: float) -> None:
    assert length_penalty(length, alpha) == pytest.approx(expected, abs=1e-9)
