"""Masks are boolean, True = may attend, and broadcast to (B, H, T, S)."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from headway.errors import ConfigError
from headway.model.masks import look_ahead_mask, padding_mask, target_mask


def test_padding_is_hidden_and_real_pieces_are_not() -> None:
    ids = torch.tensor([[5, 9, 0], [7, 0, 0]])

    mask = padding_mask(ids)

    assert mask.dtype == torch.bool
    assert mask.shape == (2, 1, 1, 3)
    assert mask[:, 0, 0].tolist() == [[True, True, False], [True, False, False]]


def test_another_padding_id_can_be_given() -> None:
    assert padding_mask(torch.tensor([[0, 4]]), pad_id=4)[0, 0, 0].tolist() == [True, False]
    assert target_mask(torch.tensor([[0, 4]]), pad_id=4)[0, 0].tolist() == [
        [True, False],
        [True, False],
    ]


def test_a_position_sees_itself_and_what_came_before() -> None:
    mask = look_ahead_mask(3)

    assert mask.dtype == torch.bool
    assert mask.shape == (1, 1, 3, 3)
    assert mask[0, 0].tolist() == [[True, False, False], [True, True, False], [True, True, True]]


def test_the_target_mask_is_the_conjunction_of_both() -> None:
    ids = torch.tensor([[2, 5, 9, 0], [2, 7, 0, 0]])

    mask = target_mask(ids)

    assert mask.shape == (2, 1, 4, 4)
    assert mask[1, 0].int().tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 0, 0], [1, 1, 0, 0]]
    for sentence in range(2):
        for query in range(4):
            for key in range(4):
                allowed = key <= query and bool(ids[sentence, key] != 0)
                assert mask[sentence, 0, query, key] == allowed


@pytest.mark.parametrize(
    "ids",
    [torch.tensor([1, 2, 0]), torch.ones(2, 3, 8), [[1, 2, 0]], np.array([[1, 2, 0]])],
    ids=["one sentence", "embeddings", "list", "array"],
)
@pytest.mark.parametrize("make", [padding_mask, target_mask])
def test_what_is_no_batch_of_ids_is_refused(make: Callable[[Any], Tensor], ids: Any) -> None:
    with pytest.raises(ConfigError, match=r"The ids (have|are no).*\(B, L\), one row"):
        make(ids)


def test_ids_in_place_of_a_length_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"^The length is a tensor of shape \(2, 3\), .* target_"):
        look_ahead_mask(torch.ones(2, 3))  # type: ignore[arg-type]
    assert look_ahead_mask(torch.tensor(3)).shape == (1, 1, 3, 3)  # type: ignore[arg-type]
