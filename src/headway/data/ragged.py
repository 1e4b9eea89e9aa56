"""Rows of different lengths in one flat array, with operations on all of them at once."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Rows = Sequence[int] | Ints


@dataclass(frozen=True, slots=True)
class Ragged:
    """Rows of different lengths: row i is `values[starts[i] : starts[i + 1]]`."""

    values: NDArray[Any]
    starts: Ints

    @classmethod
    def of(cls, rows: Iterable[Sequence[int]], kind: type[np.integer] = np.int64) -> "Ragged":
        """Return these rows, as numbers of this kind.

        >>> Ragged.of([[5, 6], [], [7]]).starts.tolist()
        [0, 2, 2, 3]
        """
        rows = list(rows)
        starts = starts_of([len(row) for row in rows])
        values = np.fromiter(chain.from_iterable(rows), dtype=kind, count=int(starts[-1]))
        return cls(values, starts)

    @classmethod
    def joined(cls, parts: Sequence["Ragged"]) -> "Ragged":
        """Return the rows of all parts, one part after the other; it needs one part at least."""
        lengths = np.concatenate([np.diff(part.starts) for part in parts])
        return cls(np.concatenate([part.values for part in parts]), starts_of(lengths))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.starts) - 1

    def row(self, index: int) -> NDArray[Any]:
        """Return one row."""
        return self.values[self.starts[index] : self.starts[index + 1]]

    def tolist(self) -> list[list[Any]]:
        """Return the rows as lists."""
        return [self.row(index).tolist() for index in range(len(self))]

    def lengths(self, rows: Rows | slice = slice(None)) -> Ints:
        """Return the lengths of these rows, or of a stretch of them."""
        if isinstance(rows, slice):
            start, stop, _ = rows.indices(len(self))
            return np.diff(self.starts[start : stop + 1])
        rows = np.asarray(rows, dtype=np.int64)
        return self.starts[rows + 1] - self.starts[rows]

    def pick(self, rows: Rows) -> "Ragged":
        """Return these rows in this order; a row that is named twice comes twice.

        >>> Ragged.of([[5, 6], [], [7]]).pick([2, 0, 2]).tolist()
        [[7], [5, 6], [7]]
        """
        rows = np.asarray(rows, dtype=np.int64)
        lengths = self.lengths(rows)
        starts = starts_of(lengths)
        places = np.repeat(self.starts[rows] - starts[:-1], lengths) + np.arange(starts[-1])
        return Ragged(self.values[places], starts)

    def cut(self, longest: int) -> "Ragged":
        """Return the first numbers of each row, `longest` at most.

        >>> Ragged.of([[5, 6, 7], [], [8]]).cut(2).tolist()
        [[5, 6], [], [8]]
        """
        lengths = self.lengths()
        place_in_row = np.arange(len(self.values)) - np.repeat(self.starts[:-1], lengths)
        return Ragged(self.values[place_in_row < longest], starts_of(np.minimum(lengths, longest)))

    def beside(self, other: "Ragged") -> "Ragged":
        """Return each row, followed by the row of the same number in `other`.

        >>> Ragged.of([[5, 6], []]).beside(Ragged.of([[7], [8]])).tolist()
        [[5, 6, 7], [8]]
        """
        count = len(self)
        in_turns = np.arange(2 * count).reshape(2, count).T.reshape(-1)
        joined = Ragged.joined([self, other]).pick(in_turns)
        return Ragged(joined.values, joined.starts[::2])

    def matrix(self, rows: Rows, fill: int) -> Ints:
        """Return these rows as one matrix, padded with `fill` to one more than the longest row."""
        rows = np.asarray(rows, dtype=np.int64)
        lengths = self.lengths(rows)
        columns = np.arange(lengths.max(initial=0) + 1)
        inside = columns < lengths[:, None]
        matrix = np.full(inside.shape, fill, dtype=np.int64)
        matrix[inside] = self.values[(self.starts[rows][:, None] + columns)[inside]]
        return matrix


def starts_of(lengths: Rows) -> Ints:
    """Return where rows of these lengths begin, one after the other, and where the last ends."""
    starts = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts
