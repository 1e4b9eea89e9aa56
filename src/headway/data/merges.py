"""Cut words by merging pairs of pieces, and skip merges at random (Provilkov et al. 2020).

Words of about the same length are merged together, one pair in each word at a time.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from headway.data.ragged import Ints, Ragged, starts_of
from headway.data.sampler import Sampler, code_points
from headway.data.tokenizer import Tokenizer

_NOTHING = -1  # fills up a row
_WIDTH = 4  # words merged together have lengths that differ by less than this

Floats = NDArray[np.float64]


class BPESampler(Sampler):
    """Skips each merge with a certain probability.

    Provilkov et al., "BPE-Dropout" (2020). With probability 0 the pieces are those of `encode`.
    """

    def __init__(self, tokenizer: Tokenizer, dropout: float) -> None:
        """Prepare to draw."""
        super().__init__(tokenizer)
        self.dropout = dropout
        self._radix = self.num_pieces + 0x110000 + 1  # beyond every code
        pairs = {
            left * self._radix + right: i
            for text, i in self.ids.items()
            for left, right in self._halves(text)
        }
        self._pairs = np.array([*sorted(pairs), np.iinfo(np.int64).max])
        self._merged = np.array([*(pairs[key] for key in sorted(pairs)), 0])
        single = sorted((ord(text), i) for text, i in self.ids.items() if len(text) == 1)
        self._points = np.array([*(point for point, _ in single), 0x110000])
        self._point_ids = np.array([*(i for _, i in single), 0])

    def _halves(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the codes of every two parts that join to this piece."""
        for middle in range(1, len(text)):
            halves = [self._code(text[:middle]), self._code(text[middle:])]
            if _NOTHING not in halves:
                yield halves[0], halves[1]

    def _code(self, text: str) -> int:
        if text in self.ids:
            return self.ids[text]
        return self.num_pieces + ord(text) if len(text) == 1 else _NOTHING

    def cut(self, words: Sequence[str], drawn: Ints, rng: np.random.Generator) -> Ragged:
        """Return the codes of each drawn word."""
        points = code_points(words)
        places = np.searchsorted(self._points, points.values)
        is_known = self._points[places] == points.values
        codes = np.where(is_known, self._point_ids[places], self.num_pieces + points.values)
        characters = Ragged(codes, points.starts)
        kinds = (characters.lengths(drawn) - 1) // _WIDTH
        numbers, merged = [], [Ragged(codes[:0], starts_of([]))]
        for kind in np.unique(kinds):
            chosen = np.flatnonzero(kinds == kind)
            for rows, pieces in self._merge(characters.matrix(drawn[chosen], _NOTHING), rng):
                numbers.append(chosen[rows])
                is_piece = pieces != _NOTHING
                merged.append(Ragged(pieces[is_piece], starts_of(is_piece.sum(axis=1))))
        order = np.argsort(np.concatenate([*numbers, codes[:0]]))
        return Ragged.joined(merged).pick(order)

    def _merge(self, pieces: Ints, rng: np.random.Generator) -> Iterator[tuple[Ints, Ints]]:
        """Merge the best pair that is not skipped, until none is left; yield rows once they end.

        pieces: (N, L), with an empty last column. Yields numbers of rows, and their pieces.
        """
        rows = np.arange(len(pieces))
        scores, merged = self._look_up(pieces[:, :-1], pieces[:, 1:])
        while len(rows):
            offered = scores
            if self.dropout:
                offered = np.where(rng.random(scores.shape) < self.dropout, -np.inf, scores)
            best = offered.argmax(axis=1)
            on = offered[np.arange(len(rows)), best] > -np.inf
            if not on.all():
                yield rows[~on], pieces[~on]
                rows, pieces, best = rows[on], pieces[on], best[on]
                scores, merged = scores[on], merged[on]
            if len(rows):
                pieces, scores, merged = self._merge_at(best, pieces, scores, merged)

    def _merge_at(
        self, best: Ints, pieces: Ints, scores: Floats, merged: Ints
    ) -> tuple[Ints, Floats, Ints]:
        """Merge one pair in each row, and look up the two pairs that its result is part of."""
        rows = np.arange(len(best))
        pieces[rows, best] = merged[rows, best]
        pieces = _without(best + 1, pieces)
        scores, merged = _without(best, scores), _without(best, merged)
        # The pair that ends with the merged piece, and the pair that begins with it.
        for left in (best - 1, best):
            inside = (left >= 0) & (left < scores.shape[1])
            row, column = rows[inside], left[inside]
            scores[row, column], merged[row, column] = self._look_up(
                pieces[row, column], pieces[row, column + 1]
            )
        return pieces, scores, merged

    def _look_up(self, left: Ints, right: Ints) -> tuple[Floats, Ints]:
        """Return score and id of the piece that each pair makes; minus infinity for no piece."""
        keys = left * self._radix + right
        places = np.searchsorted(self._pairs, keys)
        merged = self._merged[places]
        return np.where(self._pairs[places] == keys, self.scores[merged], -np.inf), merged


def _without(columns: Ints, matrix: NDArray) -> NDArray:  # type: ignore[type-arg]
    """Return the matrix without one element of each row.

    >>> _without(np.array([0, 2]), np.array([[1, 2, 3], [4, 5, 6]])).tolist()
    [[2, 3], [4, 5]]
    """
    remains = np.arange(matrix.shape[1]) != columns[:, None]
    return matrix[remains].reshape(len(matrix), -1)
