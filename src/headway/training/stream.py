"""The order of the data: each corpus by its weight, and a position that resuming returns to."""

import math
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from headway.data.batching import Batch, collate_rows, token_batches
from headway.data.encoded import EncodedPair
from headway.data.epoch_order import Deck, IntArray
from headway.data.store import PairStore
from headway.errors import ConfigError
from headway.training.prefetch import ahead

# From the rows of one block and numbers that seed it to the same pairs, cut anew.
Resample = Callable[[PairStore, IntArray, tuple[int, ...]], PairStore]


@dataclass(frozen=True, slots=True)
class BatchGroup:
    """The batches of one update, and where the next group begins."""

    batches: list[Batch]
    next_epoch: int
    next_block: int
    next_batch: int
    ends_epoch: bool


class BatchStream:
    """Yield groups of batches, epoch after epoch, from any position."""

    def __init__(
        self,
        pairs: PairStore | Sequence[EncodedPair],
        *,
        max_tokens: int,
        accumulate: int,
        seed: int,
        deck: Deck | None = None,
        resample: Resample | None = None,
        longest: int | None = None,
        rounded: bool = False,
    ) -> None:
        """Keep the pairs; order depends on the deck, the seed and the epoch alone.

        deck: which pairs an epoch holds; all of them once, if unset. resample: cuts the pairs of a
        block into other pieces each time. longest: the most pieces that a side then may have, its
        symbol included; that of the pairs, if unset. rounded: as if each side had a length of
        `round_up`. Raises ConfigError when one pair is beyond max_tokens.
        """
        self.pairs = pairs if isinstance(pairs, PairStore) else PairStore.of(pairs)
        self.deck = deck or Deck([len(pairs)], seed=seed)
        self.max_tokens = max_tokens
        self.accumulate = accumulate
        self.seed = seed
        self.resample = resample
        self.rounded = rounded
        row, pieces = self.pairs.longest()
        needed = pieces + 1  # the start or end symbol
        self.longest = longest or needed
        if needed > max_tokens:
            raise ConfigError(
                f"training.batch_tokens is {max_tokens}, but the pair on {self.pairs.place(row)} "
                f"alone takes {needed}.",
                f"Raise it to {needed} or more, or lower data.max_pieces.",
            )

    def epoch(self, number: int) -> list[list[int]]:
        """Return all batches of an epoch as rows of the store, as its pairs were cut first."""
        blocks = range(self.deck.num_blocks(number))
        return [batch for block in blocks for batch in self.block(number, block)]

    def block(self, epoch: int, number: int) -> list[list[int]]:
        """Return the batches of one block of an epoch in the same way."""
        rows = self.deck.rows(epoch, number)
        return [rows[batch].tolist() for batch in self._cut(self.pairs, rows, epoch, number)]

    @cached_property
    def updates_of_an_epoch(self) -> int:
        """Return how many groups the first epoch has, or nearly: its blocks are about alike."""
        # No update takes batches of two blocks.
        return math.ceil(len(self.block(0, 0)) / self.accumulate) * self.deck.num_blocks(0)

    def steps(self, max_steps: int, max_epochs: int | None) -> int:
        """Return about how many groups a run takes that ends after so many steps or epochs."""
        if max_epochs is None:
            return max_steps
        return min(max_steps, max_epochs * self.updates_of_an_epoch)

    def groups(
        self, epoch: int = 0, block: int = 0, batch: int = 0, *, blocks_ahead: int = 0
    ) -> Generator[BatchGroup]:
        """Yield groups from this position on, without end; a block's last one may be smaller.

        blocks_ahead: how many blocks a thread prepares beforehand.
        """
        blocks = self._blocks(epoch, block)
        for each in ahead(blocks, blocks_ahead) if blocks_ahead else blocks:
            for start in range(batch, len(each.batches), self.accumulate):
                stop = start + self.accumulate
                last = stop >= len(each.batches)
                next_epoch, next_block = each.following if last else each.position
                chosen = each.batches[start:stop]
                yield BatchGroup(
                    [collate_rows(each.pairs, each.places[i], each.rows[i]) for i in chosen],
                    next_epoch=next_epoch,
                    next_block=next_block,
                    next_batch=0 if last else stop,
                    ends_epoch=last and each.ends_epoch,
                )
            batch = 0

    def _blocks(self, epoch: int, block: int) -> Iterator["_EpochBlock"]:
        """Yield blocks from this one on, without end."""
        while True:
            rows = self.deck.rows(epoch, block)
            pairs, places = self._pieces(rows, epoch, block)
            batches = self._cut(pairs, places, epoch, block)
            ends_epoch = block + 1 == self.deck.num_blocks(epoch)
            following = (epoch + 1, 0) if ends_epoch else (epoch, block + 1)
            yield _EpochBlock((epoch, block), following, ends_epoch, rows, pairs, places, batches)
            epoch, block = following

    def _pieces(self, rows: IntArray, epoch: int, block: int) -> tuple[PairStore, IntArray]:
        """Return the pairs of a block, cut for this epoch, and where each of them is."""
        if self.resample is None:
            return self.pairs, rows
        return self.resample(self.pairs, rows, (self.seed, epoch, block)), np.arange(len(rows))

    def _cut(self, pairs: PairStore, places: IntArray, epoch: int, block: int) -> list[list[int]]:
        """Return the batches of a block, as indices into `places`."""
        return token_batches(
            pairs.lengths(places),
            max_tokens=self.max_tokens,
            seed=self.seed,
            epoch=epoch,
            block=block,
            round_up_to=self.longest if self.rounded else None,
        )


@dataclass(frozen=True, slots=True)
class _EpochBlock:
    """A block of an epoch with its batches, ready to be handed out."""

    position: tuple[int, int]
    """Its epoch, and its number in it."""
    following: tuple[int, int]
    """The position of the next one."""
    ends_epoch: bool
    rows: IntArray
    pairs: PairStore
    places: IntArray
    """Where in pairs each row is."""
    batches: list[list[int]]
    """Indices into rows and places."""
