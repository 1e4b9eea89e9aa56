"""Products of matrices as boxes."""

import pytest

from headway.errors import ConfigError
from headway.learn.figures.products import Matrix, matrix_product


def test_a_larger_size_is_drawn_larger() -> None:
    small, large = Matrix("Q", 3, 64), Matrix("W", 512, 64)
    assert small.width == large.width > small.height
    assert large.height > large.width


def test_words_stand_beside_sizes() -> None:
    plain = matrix_product([Matrix("X", 3, 512), "·", Matrix("W", 512, 64)], alt="X times W.")
    words = {"en": "tokens", "ko": "토큰"}
    named = matrix_product([Matrix("X", (3, words), 512), "·", Matrix("W", 512, 64)], alt="X.")
    assert named.svg.count("<use ") > plain.svg.count("<use ")  # more letters


def test_a_matrix_needs_sizes_and_a_color_of_the_style() -> None:
    for make in (lambda: Matrix("X", 0, 3), lambda: Matrix("X", (0, "a"), 3)):
        with pytest.raises(ConfigError, match="Give positive numbers"):
            make()
    with pytest.raises(ConfigError, match="no color 'pink'"):
        Matrix("X", 1, 3, "pink")
