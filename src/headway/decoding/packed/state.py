"""What the packed engine keeps of the sentences at work."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from headway.decoding.allowed import AllowedPieces
from headway.decoding.engine import Ints
from headway.decoding.packed.backend import Array, Backend, Cache, Heads

# Positions; what is not used is not written and so takes no memory on a CPU. Odd: rows that lie a
# power of two apart would all be kept in the same few places of a processor's caches.
_PAST_ROOM = 133
_MEMORY_ROOM = 33


class PackedState:
    """Caches, and whose they are.

    source_lengths: source pieces of each slot, (slots,). lengths: positions that each row has
    decoded, (rows,). owners: the row that holds each position of a row's past, (rows, T). past:
    self-attention's cache of each layer. memory: cross-attention's. allowed: the lists of pieces
    that sentences may have.
    """

    def __init__(
        self,
        slots: int,
        copies: int,
        past: Sequence[Heads],
        memory: Sequence[Heads],
        backend: Backend,
    ) -> None:
        """Make room for a few positions; it grows when it must."""
        self.copies = copies
        self.backend = backend
        self.allowed = AllowedPieces(slots)
        rows = slots * copies
        self.source_lengths = np.zeros(slots, dtype=np.int64)
        self.lengths = np.zeros(rows, dtype=np.int64)
        self.owners = np.zeros((rows, _PAST_ROOM), dtype=np.int32)
        self.past = [self._cache(rows, _PAST_ROOM, heads) for heads in past]
        self.memory = [self._cache(slots, _MEMORY_ROOM, heads) for heads in memory]

    def _cache(self, first: int, second: int, heads: Heads) -> Cache:
        return Cache(
            self.backend.empty(first, second, heads.num_heads * heads.d_k),
            self.backend.empty(first, second, heads.num_heads * heads.d_v),
        )

    def begin(self, slots: Sequence[int], source_lengths: Ints) -> None:
        """Put sentences of these lengths into slots, before their first piece."""
        self.source_lengths[slots] = 0  # what they held before need not be kept
        self._make_room_for_memory(int(source_lengths.max()))
        self.source_lengths[slots] = source_lengths
        first = np.asarray(slots) * self.copies
        self.lengths[first] = 0

    def remember(
        self, slots: Sequence[int], starts: Ints, keys_values: Float[Array, "N width"]
    ) -> None:
        """Keep the keys and values of the memory, which all layers have side by side."""
        first, into = 0, np.asarray(slots)
        for cache in self.memory:
            for part in (cache.keys, cache.values):
                self.backend.keep(keys_values, first, into, starts, part)
                first += part.shape[2]

    def make_room(self, positions: int) -> None:
        """See that so many positions of the past can be held."""
        room = self.owners.shape[1]
        if positions > room:
            longer = max(positions, room + room // 4) | 1
            wider = np.zeros((len(self.owners), longer), dtype=np.int32)
            wider[:, :room] = self.owners
            self.owners = wider
            self._lengthen(self.past, longer, self.lengths)

    def _make_room_for_memory(self, positions: int) -> None:
        room = self.memory[0].keys.shape[1]
        if positions > room:
            self._lengthen(self.memory, max(positions, room + room // 2) | 1, self.source_lengths)

    def _lengthen(self, caches: Sequence[Cache], room: int, lengths: Ints) -> None:
        """Make caches longer, one by one, so that only one is there twice."""
        for cache in caches:
            cache.keys = self.backend.grow(cache.keys, room, lengths)
            cache.values = self.backend.grow(cache.values, room, lengths)
