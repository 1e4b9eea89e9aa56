"""The results of earlier decoding steps, so that a step computes only one position."""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

KeysValues = tuple[Float[Tensor, "B H M d_k"], Float[Tensor, "B H M d_v"]]


@runtime_checkable
class KeyValueCache(Protocol):
    """The source of an attention's keys and values."""

    def update(self, project: Callable[[], KeysValues]) -> KeysValues:
        """Return all keys and values; `project` computes those of this call."""
        ...


class _KeysAndValues:
    """The keys and values of the rows of a batch; None before the first call."""

    def __init__(self) -> None:
        """Start empty."""
        self.keys_values: KeysValues | None = None

    def reorder(self, rows: Int[Tensor, " R"]) -> None:
        """Keep these rows, in this order; a row may occur more than once."""
        if self.keys_values is not None:
            k, v = self.keys_values
            self.keys_values = (k.index_select(0, rows), v.index_select(0, rows))


class GrowingCache(_KeysAndValues):
    """Self-attention in the decoder: each step appends its own position."""

    def update(self, project: Callable[[], KeysValues]) -> KeysValues:
        """Append the newest keys and values; return all so far."""
        k, v = project()
        if self.keys_values is not None:
            k = torch.cat([self.keys_values[0], k], dim=2)
            v = torch.cat([self.keys_values[1], v], dim=2)
        self.keys_values = (k, v)
        return self.keys_values

    @property
    def length(self) -> int:
        """Return the number of positions in the cache."""
        return 0 if self.keys_values is None else self.keys_values[0].size(2)


class FixedCache(_KeysAndValues):
    """Cross-attention: the memory's keys and values, projected once for the sentence."""

    def update(self, project: Callable[[], KeysValues]) -> KeysValues:
        """Project at the first call; return the same keys and values at every later call."""
        if self.keys_values is None:
            self.keys_values = project()
        return self.keys_values


class CellCache:
    """An SSRU in the decoder: one vector holds all earlier positions."""

    def __init__(self) -> None:
        """Start empty."""
        self.cell: Float[Tensor, "B d_model"] | None = None
        self.length = 0

    def keep(self, cells: Float[Tensor, "B T d_model"]) -> None:
        """Keep the cell of the newest position, and count the positions."""
        self.cell = cells[:, -1]
        self.length += cells.size(1)

    def reorder(self, rows: Int[Tensor, " R"]) -> None:
        """Keep these rows, in this order; a row may occur more than once."""
        if self.cell is not None:
            self.cell = self.cell.index_select(0, rows)


class LayerCache:
    """The caches of one decoder layer; it uses `self_attention` or `ssru`, whichever it has."""

    def __init__(self) -> None:
        """Start empty."""
        self.self_attention = GrowingCache()
        self.ssru = CellCache()
        self.cross_attention = FixedCache()

    @property
    def length(self) -> int:
        """Return the number of target positions decoded so far."""
        return max(self.self_attention.length, self.ssru.length)


class DecoderCache:
    """The caches of all decoder layers, first layer first."""

    def __init__(self, num_layers: int) -> None:
        """Start empty, with the caches of each layer."""
        self.layers = [LayerCache() for _ in range(num_layers)]

    @property
    def length(self) -> int:
        """Return the number of target positions decoded so far."""
        return self.layers[0].length if self.layers else 0

    def reorder(self, rows: Int[Tensor, " R"], *, same_sentences: bool = False) -> None:
        """Keep these rows of the batch, in this order.

        same_sentences: each row is replaced by a hypothesis of the same sentence, so the keys and
        values of the memory do not change.
        """
        for layer in self.layers:
            layer.self_attention.reorder(rows)
            layer.ssru.reorder(rows)
            if not same_sentences:
                layer.cross_attention.reorder(rows)
