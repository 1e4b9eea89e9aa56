"""A request to a search: a sentence, its limits, and the demands on its translation."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from headway.data.tokenizer import END_ID, SPECIAL_PIECES
from headway.decoding.options import SearchOptions
from headway.kernels.arrays import Ints


@dataclass(frozen=True, slots=True)
class Request:
    """One sentence to translate."""

    source_ids: Sequence[int]
    """END included."""
    max_length: int
    """The output limit in pieces, without the end symbol."""
    prefix: Sequence[int] = ()
    """Pieces that the translation must begin with."""
    favoured: Sequence[int] = ()
    """Pieces that the translation should begin with, but need not."""
    place: tuple[int, ...] = ()
    """The sentence's place in the input, which decides the random numbers of sampling."""
    terms: Sequence[Sequence[int]] = ()
    """Sequences of pieces that must occur in the translation."""
    continuing: frozenset[int] = field(default=frozenset(), compare=False)
    """Pieces that continue a word: a term does not occur before one, because its last word would be
    the beginning of a longer one."""
    allowed: Ints | None = field(default=None, compare=False)
    """Pieces that the translation may be made of, ascending; None allows all."""

    @property
    def is_forced(self) -> bool:
        """Return True if the translation is not the model's free choice: by prefix or terms."""
        return bool(self.prefix or self.terms)

    def only_choice(self, step: int) -> int | None:
        """Return the only piece that may follow `step` pieces; None if several may."""
        if step < len(self.prefix):
            return self.prefix[step]
        return END_ID if step >= self.max_length else None

    def restricted(self, pieces: Ints) -> "Request":
        """Return the request with only these pieces allowed, and those that it demands."""
        wanted = [*self.prefix, *self.favoured, *(piece for term in self.terms for piece in term)]
        always = np.array([*range(len(SPECIAL_PIECES)), *wanted], dtype=np.int64)
        return replace(self, allowed=np.union1d(pieces, always))

    def by_place(self) -> "Request":
        """Return the request for a search, where pieces are places in the list of allowed pieces.

        So a search needs no lists: every sentence has its own vocabulary. The special pieces keep
        their numbers.
        """
        if self.allowed is None:
            return self
        return replace(
            self,
            prefix=self.places(self.prefix).tolist(),
            favoured=self.places(self.favoured).tolist(),
            terms=[self.places(term).tolist() for term in self.terms],
            continuing=frozenset(self.places(sorted(self.continuing)).tolist()),
        )

    def places(self, pieces: Sequence[int] | Ints) -> Ints:
        """Return the places of these pieces, without those that are not allowed."""
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
        """Return the request under these options: their limit, and a forced or favoured prefix.

        The limit leaves room for the terms, because they must occur.
        """
        limit = self.max_length
        if options.max_length is not None:
            limit = min(limit, options.max_length)
        if self.terms:
            limit = max(limit, len(self.prefix) + sum(map(len, self.terms)))
        changed = self if limit == self.max_length else replace(self, max_length=limit)
        forced = options.prefix_bias == 1
        return changed if forced else replace(changed, prefix=(), favoured=self.prefix)
