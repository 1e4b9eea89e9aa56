"""The order of the data: every pair once an epoch, and a position that resuming returns to."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from headway.data.batching import Batch, collate, token_batches
from headway.data.cleaning import EncodedPair
from headway.errors import ConfigError


@dataclass(frozen=True, slots=True)
class BatchGroup:
    """The batches of one update, and where the next group begins."""

    batches: list[Batch]
    next_epoch: int
    next_batch: int
    ends_epoch: bool


class BatchStream:
    """Yield groups of batches, epoch after epoch, from any position."""

    def __init__(
        self, pairs: Sequence[EncodedPair], *, max_tokens: int, accumulate: int, seed: int
    ) -> None:
        """Keep the pairs; order depends on the seed and the epoch alone.

        Raises ConfigError when one pair alone is beyond max_tokens.
        """
        self.pairs = pairs
        self.lengths = [(len(pair.source_ids), len(pair.target_ids)) for pair in pairs]
        self.max_tokens = max_tokens
        self.accumulate = accumulate
        self.seed = seed
        longest = max(range(len(pairs)), key=lambda index: max(self.lengths[index]))
        needed = max(self.lengths[longest]) + 1  # the start or end symbol
        if needed > max_tokens:
            raise ConfigError(
                f"training.batch_tokens is {max_tokens}, but the pair on line "
                f"{pairs[longest].line} alone takes {needed}.",
                f"Raise it to {needed} or more, or lower data.max_pieces.",
            )

    def epoch(self, number: int) -> list[list[int]]:
        """Return the batches of an epoch as indices of pairs."""
        return token_batches(self.lengths, max_tokens=self.max_tokens, seed=self.seed, epoch=number)

    def groups(self, epoch: int, batch: int) -> Iterator[BatchGroup]:
        """Yield groups from this position on, without end; an epoch's last one may be smaller."""
        while True:
            batches = self.epoch(epoch)
            for start in range(batch, len(batches), self.accumulate):
                chosen = batches[start : start + self.accumulate]
                last = start + self.accumulate >= len(batches)
                yield BatchGroup(
                    [collate([self.pairs[i] for i in rows], rows) for rows in chosen],
                    next_epoch=epoch + 1 if last else epoch,
                    next_batch=0 if last else start + self.accumulate,
                    ends_epoch=last,
                )
            epoch, batch = epoch + 1, 0
