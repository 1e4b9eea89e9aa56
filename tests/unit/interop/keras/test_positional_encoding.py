"""Positions in Keras are the paper's sines and cosines."""

import math

import numpy as np
import pytest

from headway.errors import ConfigError
from headway.interop.keras import PositionalEncoding
from headway.interop.keras.backend import keras


def test_it_adds_the_formula() -> None:
    x = np.random.default_rng(0).standard_normal((2, 5, 6)).astype(np.float32)

    added = keras.ops.convert_to_numpy(PositionalEncoding(7, 6)(x)) - x

    for position in range(5):
        for pair in range(3):
            angle = position / 10000 ** (2 * pair / 6)
            assert added[1, position, 2 * pair] == pytest.approx(math.sin(angle), abs=1e-6)
            assert added[1, position, 2 * pair + 1] == pytest.approx(math.cos(angle), abs=1e-6)


def test_its_length_is_a_length_and_a_hard_limit() -> None:
    encode = PositionalEncoding(3, 4)
    assert encode(np.zeros((1, 3, 4), np.float32)).shape == (1, 3, 4)
    with pytest.raises(ConfigError, match="Position 4 is beyond the table of 3 positions"):
        encode.call(np.zeros((1, 4, 4), np.float32))


def test_embeddings_of_another_width_are_refused() -> None:
    with pytest.raises(ConfigError, match="width 5, but the positions 4"):
        PositionalEncoding(3, 4)(np.zeros((1, 2, 5), np.float32))


def test_it_has_no_weights() -> None:
    encode = PositionalEncoding(3, 4)
    encode(np.zeros((1, 2, 4), np.float32))
    assert encode.weights == []
