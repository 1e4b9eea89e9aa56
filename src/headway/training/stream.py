"""The order of the data: corpora by weight, and the position of a run in them."""

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

# From the rows of one block, and the numbers of a seed, to the same pairs in other pieces.
Resample = Callable[[PairStore, IntArray, tuple[int, ...]], PairStore]


@dataclass(frozen=True, slots=True)
class BatchGroup:
    """The batches of one update, and the position of the next group."""

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
        """Keep the pairs; their order depends on the deck, the seed and the epoch alone.

        deck: chooses the pairs of an epoch; all of them once, if unset. resample: cuts the pairs of
        a block into other pieces each time. longest: the most pieces of a resampled side, its start
        or end symbol included; that of the pairs, if unset. rounded: count each length as its
        `round_up`. Raises ConfigError if one pair exceeds max_tokens.
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
        """Return all batches of an epoch as rows of the store, without resampling."""
        blocks = range(self.deck.num_blocks(number))
        return [batch for block in blocks for batch in self.block(number, block)]

    def block(self, epoch: int, number: int) -> list[list[int]]:
        """Return the batches of one block of an epoch as rows of the store, without resampling."""
        rows = self.deck.rows(epoch, number)
        return [rows[batch].tolist() for batch in self._cut(self.pairs, rows, epoch, number)]

    @cached_property
    def updates_of_an_epoch(self) -> int:
        """Return how many groups the first epoch has, estimated from its first block."""
        # No update takes batches of two blocks.
        return math.ceil(len(self.block(0, 0)) / self.accumulate) * self.deck.num_blocks(0)

    def steps(self, max_steps: int, max_epochs: int | None) -> int:
        """Return approximately how many groups a run takes with these limits."""
        if max_epochs is None:
            return max_steps
        return min(max_steps, max_epochs * self.updates_of_an_epoch)

    def groups(
        self, epoch: int = 0, block: int = 0, batch: int = 0, *, blocks_ahead: int = 0
    ) -> Generator[BatchGroup]:
        """Yield groups from this position on, without end; the last of a block may be smaller.

        blocks_ahead: number of blocks that a thread prepares in advance.
        """
        blocks = self._blocks(epoch, block)
        for prepared in ahead(blocks, blocks_ahead) if blocks_ahead else blocks:
            for start in range(batch, len(prepared.batches), self.accumulate):
                stop = start + self.accumulate
                last = stop >= len(prepared.batches)
                next_epoch, next_block = prepared.following if last else prepared.position
                chosen = prepared.batches[start:stop]
                yield BatchGroup(
                    [
                        collate_rows(prepared.pairs, prepared.places[rows], prepared.rows[rows])
                        for rows in chosen
                    ],
                    next_epoch=next_epoch,
                    next_block=next_block,
                    next_batch=0 if last else stop,
                    ends_epoch=last and prepared.ends_epoch,
                )
            batch = 0

    def _blocks(self, epoch: int, block: int) -> Iterator["_EpochBlock"]:
        """Yield blocks from this position on, without end."""
        while True:
            rows = self.deck.rows(epoch, block)
            pairs, places = self._pieces(rows, epoch, block)
            batches = self._cut(pairs, places, epoch, block)
            ends_epoch = block + 1 == self.deck.num_blocks(epoch)
            following = (epoch + 1, 0) if ends_epoch else (epoch, block + 1)
            yield _EpochBlock((epoch, block), following, ends_epoch, rows, pairs, places, batches)
            epoch, block = following

    def _pieces(self, rows: IntArray, epoch: int, block: int) -> tuple[PairStore, IntArray]:
        """Return the pairs of a block, cut for this epoch, and the index of each in them."""
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
    """A block of an epoch with its batches."""

    position: tuple[int, int]
    """Its epoch, and its number in the epoch."""
    following: tuple[int, int]
    """The position of the next block."""
    ends_epoch: bool
    rows: IntArray
    pairs: PairStore
    places: IntArray
    """The index of each row in `pairs`."""
    batches: list[list[int]]
    """Indices into rows and places."""
