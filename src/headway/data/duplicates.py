"""Remembers which texts were there before, in 16 bytes each."""

import numpy as np
from numpy.typing import NDArray

from headway.data.pair_rules import Digests

_SHRINK = 8  # a run of this many times fewer digests than the one before it is not merged with it


class Seen:
    """A growing set of digests, as a few sorted arrays.

    A set of Python's takes six times the memory. New digests are a small array, merged with its
    neighbour once it is an eighth of it: so each one is moved some times, and there are few arrays
    to look through.
    """

    def __init__(self) -> None:
        """Begin with nothing."""
        self._runs: list[Digests] = []

    def __len__(self) -> int:
        """Return how many different digests were seen."""
        return sum(map(len, self._runs))

    def first_seen(self, digests: Digests) -> NDArray[np.bool_]:
        """Tell of each digest whether it is new, also among these; then it is not any more."""
        distinct, first = np.unique(digests, return_index=True)
        is_new = np.ones(len(distinct), dtype=bool)
        for run in self._runs:
            places = np.searchsorted(run, distinct)
            places[places == len(run)] = 0
            is_new &= run[places] != distinct
        self._add(distinct[is_new])
        found = np.zeros(len(digests), dtype=bool)
        found[first[is_new]] = True
        return found

    def _add(self, new: Digests) -> None:
        if len(new):
            self._runs.append(new)
        while len(self._runs) > 1 and len(self._runs[-2]) < _SHRINK * len(self._runs[-1]):
            smaller, larger = self._runs.pop(), self._runs.pop()
            merged = np.concatenate([larger, smaller])
            merged.sort(kind="stable")  # which merges what is sorted already
            self._runs.append(merged)
