"""Pairs as pieces: a single pair, and many in flat arrays on their way from text to a store."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headway.data.corpus import Pair
from headway.data.ragged import Ragged, Rows


class EncodedPair(NamedTuple):
    """Hold the piece ids of one pair, without start and end symbols, and its 1-based line."""

    source_ids: list[int]
    target_ids: list[int]
    line: int


@dataclass(frozen=True, slots=True)
class EncodedPairs:
    """Hold the pieces of several pairs, their lines, and their texts if these are at hand."""

    source: Ragged
    target: Ragged
    lines: NDArray[np.int64]
    texts: Sequence[Pair] = ()

    @classmethod
    def of(cls, pairs: Sequence[EncodedPair], texts: Sequence[Pair] = ()) -> "EncodedPairs":
        """Return these pairs."""
        return cls(
            Ragged.of([pair.source_ids for pair in pairs]),
            Ragged.of([pair.target_ids for pair in pairs]),
            np.array([pair.line for pair in pairs], dtype=np.int64),
            texts,
        )

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.lines)

    def pick(self, rows: Rows) -> "EncodedPairs":
        """Return these pairs, in this order."""
        return EncodedPairs(
            self.source.pick(rows),
            self.target.pick(rows),
            self.lines[rows],
            [self.texts[row] for row in rows] if self.texts else (),
        )

    def with_tag(self, tag: Sequence[int]) -> "EncodedPairs":
        """Return the pairs with the pieces of a tag before each source."""
        if not tag:
            return self
        return replace(self, source=Ragged.of([tag] * len(self)).beside(self.source))

    def tolist(self) -> list[EncodedPair]:
        """Return the pairs one by one."""
        rows = zip(self.source.tolist(), self.target.tolist(), self.lines.tolist(), strict=True)
        return [EncodedPair(*row) for row in rows]
