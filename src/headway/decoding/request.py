"""What is asked of a search: one sentence, its limits, and what its translation must have."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from headway.data.tokenizer import END_ID, SPECIAL_PIECES
from headway.decoding.engine import Ints
from headway.decoding.options import SearchOptions


@dataclass(frozen=True, slots=True)
class Request:
    """One sentence to translate."""

    source_ids: Sequence[int]
    """END included."""
    max_length: int
    """Output limit in pieces, without the end symbol."""
    prefix: Sequence[int] = ()
    """Pieces that the translation must begin with."""
    favoured: Sequence[int] = ()
    """A prefix that it should begin with, rather than must."""
    place: tuple[int, ...] = ()
    """Where in the input it stands: what is drawn for it depends on that."""
    terms: Sequence[Sequence[int]] = ()
    """Sequences of pieces that must occur in the translation."""
    allowed: Ints | None = field(default=None, compare=False)
    """Pieces that the translation may be made of, ascending; None allows all."""

    def only_choice(self, step: int) -> int | None:
        """Return the one piece that may follow `step` pieces, if there is only one."""
        if step < len(self.prefix):
            return self.prefix[step]
        return END_ID if step >= self.max_length else None

    def restricted(self, pieces: Ints) -> "Request":
        """Return the request with only these pieces allowed, and those that it asks for itself."""
        asked = [*self.prefix, *self.favoured, *(piece for term in self.terms for piece in term)]
        also = np.array([*range(len(SPECIAL_PIECES)), *asked], dtype=np.int64)
        return replace(self, allowed=np.union1d(pieces, also))

    def by_place(self) -> "Request":
        """Return what a search is given: pieces by their place among those that are allowed.

        So a search needs to know of no list: each sentence has a vocabulary of its own, in which
        the special pieces have the numbers that they always have.
        """
        if self.allowed is None:
            return self
        return replace(
            self,
            prefix=self.places(self.prefix).tolist(),
            favoured=self.places(self.favoured).tolist(),
            terms=[self.places(term).tolist() for term in self.terms],
        )

    def places(self, pieces: Sequence[int] | Ints) -> Ints:
        """Return the places of these pieces; those that are not allowed have none."""
        ids = np.asarray(pieces, dtype=np.int64)
        if self.allowed is None:
            return ids
        places = np.searchsorted(self.allowed, ids)
        places = np.minimum(places, len(self.allowed) - 1)
        return places[self.allowed[places] == ids]

    def pieces(self, places: Sequence[int]) -> tuple[int, ...]:
        """Return the pieces at these places."""
        if self.allowed is None:
            return tuple(places)
        return tuple(self.allowed[list(places)].tolist())

    def under(self, options: SearchOptions) -> "Request":
        """Return what these options make of it: another limit, a prefix that is only favoured.

        Terms must occur, so the limit leaves room for them.
        """
        limit = self.max_length
        if options.max_length is not None:
            limit = min(limit, options.max_length)
        if self.terms:
            limit = max(limit, len(self.prefix) + sum(map(len, self.terms)))
        changed = self if limit == self.max_length else replace(self, max_length=limit)
        forced = options.prefix_bias == 1
        return changed if forced else replace(changed, prefix=(), favoured=self.prefix)
