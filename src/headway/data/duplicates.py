"""Remember the texts seen before, in 16 bytes each."""

import numpy as np
from numpy.typing import NDArray

from headway.data.pair_rules import Digests

_SHRINK = 8  # a run is merged with the one before it unless that is at least this many times longer


class Seen:
    """A growing set of digests, kept in a few sorted arrays.

    A Python set takes six times the memory. New digests form a small array, which is merged with
    its neighbour once it has an eighth of the neighbour's size. So each digest is moved only a few
    times, and there are few arrays to search.
    """

    def __init__(self) -> None:
        """Begin with nothing."""
        self._runs: list[Digests] = []

    def __len__(self) -> int:
        """Return the number of different digests seen."""
        return sum(map(len, self._runs))

    def first_seen(self, digests: Digests) -> NDArray[np.bool_]:
        """Add digests; return True at the first occurrence of each new one."""
        distinct, first = np.unique(digests, return_index=True)
        is_new = np.ones(len(distinct), dtype=bool)
        for run in self._runs:
            places = np.searchsorted(run, distinct)
            places[places == len(run)] = 0
            is_new &= run[places] != distinct
        self._add(distinct[is_new])
        is_first = np.zeros(len(digests), dtype=bool)
        is_first[first[is_new]] = True
        return is_first

    def _add(self, new: Digests) -> None:
        if len(new):
            self._runs.append(new)
        while len(self._runs) > 1 and len(self._runs[-2]) < _SHRINK * len(self._runs[-1]):
            smaller, larger = self._runs.pop(), self._runs.pop()
            merged = np.concatenate([larger, smaller])
            merged.sort(kind="stable")  # fast, because it merges runs that are sorted already
            self._runs.append(merged)
