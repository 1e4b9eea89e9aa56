"""The pieces that each translation may be made of, if every sentence has a list of its own."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from headway.decoding.engine import Ints

# Kernels add in strides of the processor's vectors (kernels/top_k.py). Widths are multiples of
# this stride, a multiple of theirs, so that a row's sum does not depend on the lists of other rows.
_STRIDE = 64


class AllowedPieces:
    """The list of the sentence in each slot; false if sentences have no lists.

    table: the pieces of each slot, ascending, (slots, W). sizes: the number of pieces in each row;
    numbers beyond it mean nothing, (slots,). prepared: data that an engine derived from all lists;
    None after they have changed.
    """

    def __init__(self, slots: int) -> None:
        """Start without lists."""
        self.table: Int[NDArray[np.int64], "slots W"] = np.zeros((slots, 0), dtype=np.int64)
        self.sizes: Ints = np.zeros(slots, dtype=np.int64)
        self.prepared: Any = None

    def __bool__(self) -> bool:
        """Return True if sentences have lists."""
        return self.table.shape[1] > 0

    def begin(self, slots: Sequence[int], lists: Sequence[Ints] | None) -> None:
        """Take the lists of the sentences that begin in these slots; None if they have none."""
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
        """Return the pieces at these places of the lists in these slots; each array is (R,)."""
        return self.table[slots, places] if self else places

    def width(self, slots: Ints) -> int:
        """Return the size of the longest of these lists, rounded up to whole strides."""
        return -(-int(self.sizes[slots].max()) // _STRIDE) * _STRIDE

    def of_all(self, logits: Float[Tensor, "R V"], slots: Ints) -> Float[Tensor, "R W"]:
        """Return the logits of each row's list; minus infinity beyond the end of the list."""
        width = self.width(slots)
        pieces = torch.from_numpy(self.table[slots, :width]).to(logits.device)
        within = torch.from_numpy(np.arange(width) < self.sizes[slots, None]).to(logits.device)
        return logits.gather(1, pieces).masked_fill(~within, -math.inf)
