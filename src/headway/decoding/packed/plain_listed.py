"""The projection to the pieces of each sentence's own list, of PyTorch operators, on any device."""

import math
from functools import cached_property

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from headway.decoding.allowed import AllowedPieces
from headway.decoding.engine import Ints
from headway.decoding.packed.weights import Projection

# From this share of the vocabulary on, gathering weights costs more than it saves.
_NEARLY_ALL = 0.5


class ListedProduct:
    """x weight^T + bias for the union of all lists, of which each row then takes its own.

    The union is gathered when sentences begin, not at each step. In float32 whatever the rest is
    in, for there is little to save in so few pieces.
    """

    def __init__(self, projection: Projection, device: torch.device) -> None:
        """Keep the weights where they are; most models are never asked for a list."""
        self.projection = projection
        self.device = device
        self.size = len(projection.weight)

    @cached_property
    def _all(self) -> tuple[Float[Tensor, "V+1 d_model"], Float[Tensor, " V+1"]]:
        """Add one output: minus infinity, for places without a piece."""
        weight = self.projection.weight.to(self.device, torch.float32)
        bias = self.projection.bias.to(self.device, torch.float32)
        return (
            torch.cat([weight, weight.new_zeros(1, weight.size(1))]),
            torch.cat([bias, bias.new_tensor([-math.inf])]),
        )

    def __call__(
        self, x: Float[Tensor, "R d_model"], slots: Ints, allowed: AllowedPieces
    ) -> Float[Tensor, "R W"]:
        """Compute (R, d_model) -> (R, W); minus infinity beyond the end of a row's list."""
        if allowed.prepared is None:
            allowed.prepared = self._gather(allowed)
        weight, bias, columns = allowed.prepared
        own = columns[torch.from_numpy(slots).to(x.device), : allowed.width(slots)]  # (R, W)
        return F.linear(x, weight, bias).gather(1, own)

    def _gather(
        self, allowed: AllowedPieces
    ) -> tuple[Float[Tensor, "U d_model"], Float[Tensor, " U"], Int[Tensor, "slots W"]]:
        """Return the outputs that are in any list, and in which of these each list's are."""
        there = np.arange(allowed.table.shape[1]) < allowed.sizes[:, None]
        pieces = np.where(there, allowed.table, self.size)
        union = np.union1d(pieces, [self.size])
        weight, bias = self._all
        if len(union) > _NEARLY_ALL * self.size:
            return weight, bias, torch.from_numpy(pieces).to(self.device)
        index = torch.from_numpy(union).to(self.device)
        columns = torch.from_numpy(np.searchsorted(union, pieces)).to(self.device)
        return weight[index], bias[index], columns
