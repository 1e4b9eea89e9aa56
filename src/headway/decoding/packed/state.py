"""The state of the packed engine: caches of the sentences at work."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from headway.decoding.allowed import AllowedPieces
from headway.decoding.engine import Ints
from headway.decoding.packed.backend import Array, Backend, Cache, Heads

# Initial numbers of positions. Unused ones are not written, so they take no memory on a CPU. They
# are odd, because rows at a distance of a power of two share few places of a processor's caches.
_PAST_ROOM = 133
_MEMORY_ROOM = 33


class PackedState:
    """Caches, with the slots and rows that they belong to.

    source_lengths: the source pieces of each slot, (slots,). lengths: the decoded positions of each
    row, (rows,). owners: the row that holds each position of a row's past, (rows, T). past: the
    cache of self-attention in each layer. cells: those of an SSRU in each layer. memory: the cache
    of cross-attention in each layer. addresses: where the caches are in memory, set by a backend
    that needs it; None after they have moved. is_longer: whether a cache was lengthened. allowed:
    the lists of allowed pieces.
    """

    def __init__(
        self,
        slots: int,
        copies: int,
        past: Sequence[Heads],
        cells: Sequence[int],
        memory: Sequence[Heads],
        backend: Backend,
    ) -> None:
        """Allocate a few positions; caches grow when necessary.

        past: the heads of each self-attention. cells: the width of each SSRU.
        """
        self.copies = copies
        self.backend = backend
        self.allowed = AllowedPieces(slots)
        rows = slots * copies
        self.source_lengths = np.zeros(slots, dtype=np.int64)
        self.lengths = np.zeros(rows, dtype=np.int64)
        self.owners = np.zeros((rows, _PAST_ROOM), dtype=np.int32)
        self.past = [self._cache(rows, _PAST_ROOM, heads) for heads in past]
        self.cells = [backend.cells(rows, 2, width) for width in cells]
        self.memory = [self._cache(slots, _MEMORY_ROOM, heads) for heads in memory]
        self.addresses: Ints | None = None
        self.is_longer = False

    def _cache(self, first: int, second: int, heads: Heads) -> Cache:
        return Cache(
            self.backend.empty(first, second, heads.num_heads * heads.d_k),
            self.backend.empty(first, second, heads.num_heads * heads.d_v),
        )

    def begin(self, slots: Sequence[int], source_lengths: Ints) -> None:
        """Assign slots to sentences of these lengths, of which no piece is decoded yet."""
        self.source_lengths[slots] = 0  # their old contents need not be copied
        self._make_room_for_memory(int(source_lengths.max()))
        self.source_lengths[slots] = source_lengths
        first = np.asarray(slots) * self.copies
        self.lengths[first] = 0

    def remember(
        self, slots: Sequence[int], starts: Ints, keys_values: Float[Array, "N width"]
    ) -> None:
        """Store the keys and values of the memory; keys_values: those of all layers in columns."""
        first, slot_numbers = 0, np.asarray(slots)
        for cache in self.memory:
            for part in (cache.keys, cache.values):
                self.backend.keep(keys_values, first, slot_numbers, starts, part)
                first += part.shape[2]

    def make_room(self, positions: int) -> None:
        """Lengthen the caches of the past to `positions` if they are shorter."""
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
        """Lengthen caches, one by one, so that only one is in memory twice."""
        self.addresses, self.is_longer = None, True
        for cache in caches:
            cache.keys = self.backend.grow(cache.keys, room, lengths)
            cache.values = self.backend.grow(cache.values, room, lengths)
