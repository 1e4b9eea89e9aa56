"""Masks in Keras are boolean, True = may attend."""

import numpy as np
import pytest
import torch

from headway.errors import ConfigError
from headway.interop.keras import look_ahead_mask, padding_mask
from headway.interop.keras.backend import keras
from headway.model import masks as ours

IDS = np.array([[5, 9, 3, 0, 0], [7, 8, 0, 6, 3]], dtype=np.int32)


def test_padding_is_hidden_and_everything_else_is_not() -> None:
    mask = keras.ops.convert_to_numpy(padding_mask(IDS))
    assert mask.dtype == bool
    assert mask.shape == (2, 1, 1, 5)
    assert mask[:, 0, 0].tolist() == [
        [True, True, True, False, False],
        [True, True, False, True, True],
    ]


def test_the_future_is_hidden_and_padding_too() -> None:
    mask = keras.ops.convert_to_numpy(look_ahead_mask(IDS))
    assert mask.shape == (2, 1, 5, 5)
    np.testing.assert_array_equal(mask, ours.target_mask(torch.from_numpy(IDS)).numpy())


def test_another_id_can_be_padding() -> None:
    ids = torch.from_numpy(IDS)
    for theirs, expected in (
        (padding_mask, ours.padding_mask),
        (look_ahead_mask, ours.target_mask),
    ):
        mask = keras.ops.convert_to_numpy(theirs(IDS, pad_id=3))
        np.testing.assert_array_equal(mask, expected(ids, 3).numpy())


@pytest.mark.parametrize("ids", [IDS[0], IDS.astype(np.float32)], ids=["one axis", "numbers"])
def test_what_are_no_ids_is_refused(ids: np.ndarray) -> None:
    with pytest.raises(ConfigError, match=r"must be integers of shape \(B, L\)"):
        padding_mask(ids)
