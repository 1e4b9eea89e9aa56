"""Deal the pairs of one corpus or of several, like cards, epoch after epoch.

A corpus of weight 2 comes twice in each epoch, one of weight 0.5 once in two epochs. All pairs of
a corpus come equally often, and none is drawn twice by chance. The content of an epoch depends
only on sizes, weights, seed and epoch.

A large epoch comes in blocks that fit into memory and have the same mixture of corpora. Large
corpora are dealt in stretches of neighbours, so that a block is read from few places.
"""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from headway.errors import ConfigError

BLOCK = 1 << 17  # pairs shuffled and sorted by length together
STRETCH = 1 << 10  # neighbours of a large corpus that stay together

IntArray = NDArray[np.int64]


class Deck:
    """Deals rows of corpora, which are numbered from one corpus to the next."""

    def __init__(
        self,
        sizes: Sequence[int],
        weights: Sequence[float] | None = None,
        seed: int = 0,
        block: int = BLOCK,
        stretch: int = STRETCH,
    ) -> None:
        """Take the number of pairs of each corpus, and how often an epoch goes through each."""
        weights = [1.0] * len(sizes) if weights is None else weights
        self.offsets = np.cumsum([0, *sizes[:-1]])
        self.weights = [Fraction(str(weight)) for weight in weights]
        self.packs = [
            _Pack(size, (seed, index), stretch if size > block else 1)
            for index, size in enumerate(sizes)
        ]
        self.block = block
        if not self.size(0):
            raise ConfigError(
                f"The first epoch holds no pair: the corpora have {', '.join(map(str, sizes))} "
                f"pairs and weights {', '.join(map(str, weights))}.",
                "Raise a weight.",
            )

    def size(self, epoch: int) -> int:
        """Return the number of pairs in an epoch."""
        return sum(stop - start for start, stop in self._stretches(epoch))

    def num_blocks(self, epoch: int) -> int:
        """Return the number of blocks in an epoch."""
        return max(1, math.ceil(self.size(epoch) / self.block))

    def rows(self, epoch: int, block: int) -> IntArray:
        """Return the rows of one block, sorted; a row that is dealt twice comes twice."""
        blocks = self.num_blocks(epoch)
        dealt = [
            offset
            + pack.deal(
                start + (stop - start) * block // blocks,
                start + (stop - start) * (block + 1) // blocks,
            )
            for offset, pack, (start, stop) in zip(
                self.offsets, self.packs, self._stretches(epoch), strict=True
            )
        ]
        return np.sort(np.concatenate(dealt))

    def _stretches(self, epoch: int) -> Iterator[tuple[int, int]]:
        """Yield the range of cards that each corpus deals, counted from the first epoch on."""
        for pack, weight in zip(self.packs, self.weights, strict=True):
            share = weight * pack.size
            yield math.floor(epoch * share), math.floor((epoch + 1) * share)


class _Pack:
    """One corpus, shuffled again whenever all of it has been dealt."""

    def __init__(self, size: int, seed: tuple[int, int], stretch: int) -> None:
        self.size = size
        self.seed = seed
        self.stretch = stretch
        self.starts = np.arange(0, size, stretch)
        self.counts = np.minimum(self.starts + stretch, size) - self.starts
        self._order = lru_cache(maxsize=2)(self._shuffle)

    def deal(self, start: int, stop: int) -> IntArray:
        """Return the cards from number `start` up to `stop` of an endless series of passes."""
        dealt = [np.empty(0, dtype=np.int64)]
        while start < stop:
            number, place = divmod(start, self.size)
            end = min(stop, (number + 1) * self.size)
            dealt.append(self._cut(number, place, end - number * self.size))
            start = end
        return np.concatenate(dealt)

    def _cut(self, number: int, start: int, stop: int) -> IntArray:
        """Return the cards at places `start` up to `stop` of one pass."""
        order, ends = self._order(number)
        first, last = (int(i) for i in np.searchsorted(ends, [start, stop - 1], side="right"))
        chosen = order[first : last + 1]
        rows = self.starts[chosen]
        if self.stretch > 1:
            rows = (rows[:, None] + np.arange(self.stretch)).reshape(-1)
            rows = rows[rows < self.size]  # the last stretch of the corpus may be shorter
        skipped = start - int(ends[first] - self.counts[order[first]])
        return rows[skipped : skipped + stop - start]

    def _shuffle(self, number: int) -> tuple[IntArray, IntArray]:
        order = np.random.default_rng([*self.seed, number]).permutation(len(self.starts))
        return order, np.cumsum(self.counts[order])
