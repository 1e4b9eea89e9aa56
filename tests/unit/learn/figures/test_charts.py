"""Curves and bars."""

import numpy as np
import pytest
import torch

from headway.errors import ConfigError
from headway.learn.figures.charts import _row, bars, curves


def test_a_line_may_be_a_list_an_array_or_a_tensor() -> None:
    for values in ([1.0, 4.0], (1, 4), np.array([1, 4]), torch.tensor([1.0, 4.0]), range(1, 5, 3)):
        assert _row(values).tolist() == [1.0, 4.0]


def test_several_lines_have_a_legend() -> None:
    one = curves([1, 2], [("a", [1, 2])], alt="One.")
    two = curves([1, 2], [("a", [1, 2]), ("b", [2, 1])], alt="Two.")
    assert "legend_1" in two.svg
    assert "legend_1" not in one.svg


def test_bars_may_come_in_groups() -> None:
    one = bars(["x", "y"], [0.2, 0.8], alt="One.")
    two = bars(
        ["x", "y"], [("a", [0.2, 0.8]), ({"en": "b", "ko": "나"}, [3, 1])], alt="Two.", log=True
    )
    assert "legend_1" in two.svg
    assert "legend_1" not in one.svg


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ConfigError, match="A line has 3 numbers, but there are 2 places"):
        curves([1, 2], [("a", [1, 2, 3])], alt="x")
    with pytest.raises(ConfigError, match="There are 1 numbers for 2 bars"):
        bars(["x", "y"], [1], alt="x")
    for values in (3, "text", [[1, 2]]):
        with pytest.raises(ConfigError, match="A chart needs numbers in a row"):
            bars(["x", "y"], values, alt="x")
