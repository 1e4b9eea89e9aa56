"""A tensor in a nutshell, worked out by hand."""

import math

import pytest
import torch

from headway.inspection.statistics import statistics_of


def test_numbers_that_are_not_finite_are_counted_apart() -> None:
    found = statistics_of(torch.tensor([[3.0, 0.0, -math.inf], [-1.0, math.nan, -math.inf]]))
    assert (found.min, found.max) == (-1.0, 3.0)
    assert found.mean == pytest.approx(2 / 3)
    assert found.std == pytest.approx(math.sqrt((9 + 0 + 1) / 3 - 4 / 9))
    assert found.norm == pytest.approx(math.sqrt(10))
    assert found.zeros == pytest.approx(1 / 6)
    assert found.not_finite == {"-inf": 2, "nan": 1}
    assert found.as_dict()["shape"] == [2, 3]


def test_truth_counts_as_one_and_nothing_as_nothing() -> None:
    assert statistics_of(torch.tensor([True, False])).mean == 0.5
    empty = statistics_of(torch.tensor([-math.inf]))
    assert (empty.min, empty.mean, empty.norm) == (None, None, 0.0)
