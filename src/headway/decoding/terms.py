"""Beam search with terms that must occur, by dynamic beam allocation (Post and Vilar 2018).

A hypothesis belongs to a bank: how many pieces of its terms it has written, counting a term that
it is in the middle of. At each step a hypothesis may also take any piece that begins or continues
one of its terms, however improbable. The beam is shared out among the banks: the best extension
of each bank in turn, the fullest bank first. So the fullest bank gets one piece fuller at each
step until a hypothesis has all terms, whatever the size of the beam. Only such a one may end.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import zip_longest

import numpy as np
from jaxtyping import Float
from torch import Tensor

from headway.data.tokenizer import END_ID
from headway.decoding.attention import Attend
from headway.decoding.beam import BeamSearch
from headway.decoding.candidates import Floats, candidates
from headway.decoding.engine import Ints
from headway.decoding.options import SearchOptions
from headway.decoding.rules import NO_RULES, Past, Rules
from headway.decoding.run_search import SearchObserver

Terms = Sequence[Sequence[int]]


class TermsUnwritten:
    """Forbid the end symbol while a term is missing."""

    def apply(self, logits: Float[Tensor, "R V"], pasts: Sequence[Past]) -> None:
        """Forbid it."""
        rows = [
            row for row, (request, ids) in enumerate(pasts) if not all_occur(request.terms, ids)
        ]
        logits[rows, END_ID] = -math.inf


class TermsBeamSearch(BeamSearch):
    """A beam that each sentence shares out among banks, by how much of its terms is written."""

    ranks_by_score = False

    def __init__(
        self,
        options: SearchOptions,
        rules: Rules = NO_RULES,
        attend: Attend | None = None,
        observer: SearchObserver | None = None,
    ) -> None:
        """Search with these options; attend: needed for a coverage penalty.

        observer: follows the search, which then is for one sentence.
        """
        super().__init__(options, rules.and_forbid(TermsUnwritten()), attend, observer)

    def _candidates(
        self, logits: Float[Tensor, "R V"], sentence: Ints, copy: Ints
    ) -> tuple[Floats, Ints]:
        """Offer the pieces that terms ask for, too; at the limit, drop what lacks a term."""
        pasts = self._pasts(sentence, copy)
        only = [past.request.only_choice(len(past.ids)) for past in pasts]
        asked = [
            wanted_pieces(past.request.terms, past.ids) if choice is None else []
            for past, choice in zip(pasts, only, strict=True)
        ]
        found, pieces = candidates(logits, 2 * self.copies, only, self.rules, pasts, asked)
        lacking = [
            row
            for row, past in enumerate(pasts)
            if only[row] == END_ID and not all_occur(past.request.terms, past.ids)
        ]
        found[lacking] = -math.inf
        return found, pieces

    def _rank(self, totals: Floats, ids: Ints, width: int) -> Ints:
        """Return the places of each sentence's 2 K extensions, by banks."""
        best = super()._rank(totals, ids, width)
        for row in range(len(self.requests)):
            best[row] = self._by_banks(row, best.shape[1], totals[row], ids[row], width)
        return best

    def _by_banks(self, row: int, count: int, totals: Floats, ids: Ints, width: int) -> list[int]:
        """Take the best extension of each bank in turn, the fullest bank first."""
        terms, step = self.requests[row].terms, self.steps[row]
        banks: dict[int, list[int]] = defaultdict(list)
        order = np.argsort(-totals, kind="stable").tolist()
        possible = [place for place in order if totals[place] > -math.inf]
        pasts = [past.tolist() for past in self.ids[row, :, :step]]
        there = [[occurs(term, past) for term in terms] for past in pasts]
        for place in possible:
            piece, copy = int(ids[place]), place // width
            past = pasts[copy]
            after = past if piece == END_ID else [*past, piece]
            banks[num_written(terms, after, there[copy])].append(place)
        fullest_first = [banks[bank] for bank in sorted(banks, reverse=True)]
        in_turn = [p for turn in zip_longest(*fullest_first) for p in turn if p is not None]
        return [*in_turn, *order[len(possible) :]][:count]


def num_written(terms: Terms, ids: Sequence[int], there: Sequence[bool]) -> int:
    """Count pieces of terms: all of those that occur, and of the one that is furthest begun.

    there: of each term, whether it occurs before the last of the ids.
    """
    occurring = furthest = 0
    for term, is_there in zip(terms, there, strict=True):
        if is_there or list(ids[-len(term) :]) == list(term):
            occurring += len(term)
        else:
            furthest = max(furthest, num_begun(term, ids))
    return occurring + furthest


def wanted_pieces(terms: Terms, ids: Sequence[int]) -> list[int]:
    """Return the pieces with which missing terms begin or go on."""
    missing = [term for term in terms if not occurs(term, ids)]
    return list(dict.fromkeys(t[n] for t in missing for n in (num_begun(t, ids), 0)))


def all_occur(terms: Terms, ids: Sequence[int]) -> bool:
    """Tell whether every term is there."""
    return all(occurs(term, ids) for term in terms)


def occurs(term: Sequence[int], ids: Sequence[int]) -> bool:
    """Tell whether the pieces of a term stand side by side somewhere.

    >>> occurs([5, 6], [4, 5, 6]), occurs([5, 6], [5, 4, 6])
    (True, False)
    """
    size = len(term)
    return any(list(ids[i : i + size]) == list(term) for i in range(len(ids) - size + 1))


def num_begun(term: Sequence[int], ids: Sequence[int]) -> int:
    """Count the first pieces of a term that the ids end with.

    >>> num_begun([5, 6, 7], [4, 5, 6]), num_begun([5, 6, 7], [5, 4])
    (2, 0)
    """
    return next(
        n
        for n in range(min(len(term) - 1, len(ids)), -1, -1)
        if list(ids[len(ids) - n :]) == list(term[:n])
    )
