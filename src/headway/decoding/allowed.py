"""The pieces that the sentences at work may be made of, where each has a list of its own."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from headway.decoding.engine import Ints

# Loops add in strides of the machine's vectors; a stride here is whole ones of theirs
# (kernels/top_k.py). So a sum is the same, whether the widest list is that of the row itself or
# that of another one in the batch.
_STRIDE = 64


class AllowedPieces:
    """A list for the sentence in each slot; without any list, it is false.

    table: the pieces of each slot, ascending, then anything, (slots, W). sizes: how many of them
    count, (slots,). prepared: what an engine made of all lists; None when they have changed.
    """

    def __init__(self, slots: int) -> None:
        """Start without a list."""
        self.table: Int[NDArray[np.int64], "slots W"] = np.zeros((slots, 0), dtype=np.int64)
        self.sizes: Ints = np.zeros(slots, dtype=np.int64)
        self.prepared: Any = None

    def __bool__(self) -> bool:
        """Tell whether there are lists."""
        return self.table.shape[1] > 0

    def begin(self, slots: Sequence[int], lists: Sequence[Ints] | None) -> None:
        """Take the lists of the sentences that begin in these slots, if they have any."""
        if lists is None:
            assert not self, "all sentences of a state have a list, or none has"
            return
        widest = max(map(len, lists))
        if widest > self.table.shape[1]:
            wider = np.zeros((len(self.table), -(-widest // _STRIDE) * _STRIDE), dtype=np.int64)
            wider[:, : self.table.shape[1]] = self.table
            self.table = wider
        for slot, pieces in zip(slots, lists, strict=True):
            self.table[slot, : len(pieces)] = pieces
            self.sizes[slot] = len(pieces)
        self.prepared = None

    def pieces(self, slots: Ints, places: Ints) -> Ints:
        """Return the pieces at these places of the lists in these slots, (R,) each."""
        return self.table[slots, places] if self else places

    def width(self, slots: Ints) -> int:
        """Return the size of the longest of these lists, in whole strides."""
        return -(-int(self.sizes[slots].max()) // _STRIDE) * _STRIDE

    def of_all(self, logits: Float[Tensor, "R V"], slots: Ints) -> Float[Tensor, "R W"]:
        """Return of each row the logits of its own list; minus infinity beyond its end."""
        width = self.width(slots)
        pieces = torch.from_numpy(self.table[slots, :width]).to(logits.device)
        there = torch.from_numpy(np.arange(width) < self.sizes[slots, None]).to(logits.device)
        return logits.gather(1, pieces).masked_fill(~there, -math.inf)
