"""Heat maps: colors, numbers, hatches, labels."""

import re

import numpy as np
import pytest
import torch

from headway import learn
from headway.errors import ConfigError
from headway.learn.figures import matrices
from headway.learn.figures.matrices import _ink_on, _numbers, _Style, heat_map

WEIGHTS = np.array([[0.75, 0.25, 0.0], [0.1, 0.2, 0.7]])


def test_arrays_tensors_and_lists_give_the_same_picture() -> None:
    pictures = [
        heat_map(values, rows=["a", "b"], columns=["c", "d", "e"], alt="Weights.")
        for values in (torch.tensor(WEIGHTS), WEIGHTS.tolist())
    ]
    assert pictures[0] == pictures[1]


def _written(monkeypatch: pytest.MonkeyPatch, values: object, **named: object) -> list[str]:
    """Return the numbers that are written into the cells."""
    from matplotlib.axes import Axes

    texts: list[str] = []
    text = Axes.text
    monkeypatch.setattr(Axes, "text", lambda *a, **n: (texts.append(a[3]), text(*a, **n))[1])
    heat_map(values, alt="Numbers.", **named)  # type: ignore[arg-type]
    return texts


def test_the_cells_hold_the_numbers_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = ["0.75", "0.25", "0.00", "0.10", "0.20", "0.70"]
    assert _written(monkeypatch, WEIGHTS) == expected
    assert _written(monkeypatch, [[-1.5, -np.inf]], digits=1) == ["−1.5", "−∞"]
    assert _written(monkeypatch, [[True, False]]) == ["1", "0"]
    assert _written(monkeypatch, WEIGHTS, digits=None) == []


def test_what_is_not_open_is_covered() -> None:
    _, covered, digits = _numbers(torch.tensor([[True, False]]), None, 2)
    assert (covered.tolist(), digits) == ([[[False, True]]], 0)
    _, covered, _ = _numbers([[1.0, -np.inf], [2.0, 3.0]], [[False, False], [True, False]], 2)
    assert covered.tolist() == [[[False, True], [True, False]]]


def _colors(values: list[list[float]], limit: float | None = None) -> list[list[int]]:
    numbers, covered, digits = _numbers(values, None, 2)
    return _Style(numbers, covered, digits, limit, ())._colors(numbers[0], covered[0])[0].tolist()


def test_shares_go_from_pale_to_dark_and_other_numbers_have_two_sides() -> None:
    pale, middle, dark = _colors([[0.0, 0.5, 1.0]])
    assert (pale, dark) == (list(matrices._SHARE[0]), list(matrices._SHARE[2]))
    assert sum(pale) > sum(middle) > sum(dark)
    blue, neutral, orange = _colors([[-8.0, 0.0, 8.0]])
    assert blue[2] > blue[0]
    assert orange[0] > orange[2]
    assert neutral == pale
    assert _colors([[0.0, 1.0]], limit=2.0)[1] == middle


def _contrast(one: float, other: float) -> float:
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)


def _luminance(color: list[int]) -> float:
    share = np.array(color) / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def test_a_number_has_enough_contrast_to_its_cell() -> None:
    signed = np.linspace(-1, 1, 101)
    for color in _colors([signed.tolist()]) + _colors([np.abs(signed).tolist()]):
        ink = _ink_on(np.array(color))
        inks = [int(ink[place : place + 2], 16) for place in (1, 3, 5)]
        assert _contrast(_luminance(color), _luminance(inks)) >= 4.5


def test_panels_stand_side_by_side() -> None:
    one = heat_map(WEIGHTS, rows=["a", "b"], alt="One.", digits=None)
    two = heat_map([WEIGHTS, WEIGHTS], rows=["a", "b"], panels=["0", "1"], alt="Two.", digits=None)
    width = [float(re.findall(r'width="([\d.]+)pt"', p.svg)[0]) for p in (one, two)]
    assert width[1] > 1.5 * width[0]


def test_words_are_in_the_chosen_language() -> None:
    words = {"en": "query", "ko": "쿼리"}
    english = heat_map(WEIGHTS, alt=words, row_axis=words)
    learn.speak("ko")
    try:
        korean = heat_map(WEIGHTS, alt=words, row_axis=words)
    finally:
        learn.speak("en")
    assert (english.alt, korean.alt) == ("query", "쿼리")
    assert english.svg != korean.svg


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(ConfigError, match="There are 3 labels for 2 rows"):
        heat_map(WEIGHTS, rows=["a", "b", "c"], alt="x")
    with pytest.raises(ConfigError, match="There are 1 labels for 3 columns"):
        heat_map(WEIGHTS, columns=["a"], alt="x")
    with pytest.raises(ConfigError, match="needs a matrix, not a value of type list and shape"):
        heat_map([1.0, 2.0], alt="x")
    with pytest.raises(ConfigError, match="needs a matrix, not a value of type str"):
        heat_map("text", alt="x")


def test_a_large_matrix_is_an_image() -> None:
    large = heat_map(np.sin(np.arange(128 * 64)).reshape(128, 64), digits=None, alt="Large.")
    assert "data:image/png" in large.svg
    assert len(large.svg) < 100_000
