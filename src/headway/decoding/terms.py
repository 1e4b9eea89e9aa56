"""Beam search with terms that must occur, by dynamic beam allocation (Post and Vilar 2018).

The bank of a hypothesis is the number of term pieces that it has written, unfinished terms
included. At each step a hypothesis may also take any piece that begins or continues one of its
terms, however improbable. The beam is divided among the banks: the best extension of each bank in
turn, the fullest bank first. So the fullest bank gains a piece at each step until a hypothesis has
all terms, whatever the size of the beam. Only such a hypothesis may end.
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
from headway.decoding.search import SearchObserver

Terms = Sequence[Sequence[int]]


class TermsUnwritten:
    """Forbid the end symbol while a term is missing."""

    def apply(self, logits: Float[Tensor, "R V"], pasts: Sequence[Past]) -> None:
        """Forbid the end symbol for hypotheses that lack a term."""
        rows = [
            row for row, (request, ids) in enumerate(pasts) if not all_occur(request.terms, ids)
        ]
        logits[rows, END_ID] = -math.inf


class TermsBeamSearch(BeamSearch):
    """A beam that is divided among banks, by the number of term pieces written."""

    ranks_by_score = False

    def __init__(
        self,
        options: SearchOptions,
        rules: Rules = NO_RULES,
        attend: Attend | None = None,
        observer: SearchObserver | None = None,
    ) -> None:
        """Search with these options; attend: needed for a coverage penalty.

        observer: follows the search, which then takes one sentence.
        """
        super().__init__(options, rules.and_forbid(TermsUnwritten()), attend, observer)

    def _candidates(
        self, logits: Float[Tensor, "R V"], sentence: Ints, copy: Ints
    ) -> tuple[Floats, Ints]:
        """Also offer the pieces of terms; at the limit, drop hypotheses that lack a term."""
        pasts = self._pasts(sentence, copy)
        only = [past.request.only_choice(len(past.ids)) for past in pasts]
        wanted = [
            wanted_pieces(past.request.terms, past.ids) if choice is None else []
            for past, choice in zip(pasts, only, strict=True)
        ]
        log_probs, pieces = candidates(logits, 2 * self.copies, only, self.rules, pasts, wanted)
        lacking = [
            row
            for row, past in enumerate(pasts)
            if only[row] == END_ID and not all_occur(past.request.terms, past.ids)
        ]
        log_probs[lacking] = -math.inf
        return log_probs, pieces

    def _rank(self, totals: Floats, ids: Ints, width: int) -> Ints:
        """Return the places of 2 K extensions of each sentence, by banks, (N, 2 K)."""
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
        written = [[occurs(term, past) for term in terms] for past in pasts]
        for place in possible:
            piece, copy = int(ids[place]), place // width
            past = pasts[copy]
            after = past if piece == END_ID else [*past, piece]
            banks[num_written(terms, after, written[copy])].append(place)
        fullest_first = [banks[bank] for bank in sorted(banks, reverse=True)]
        in_turn = [p for turn in zip_longest(*fullest_first) for p in turn if p is not None]
        return [*in_turn, *order[len(possible) :]][:count]


def num_written(terms: Terms, ids: Sequence[int], written: Sequence[bool]) -> int:
    """Count the pieces of the terms that occur, and the most that an unfinished term has.

    written: True for each term that occurs before the last id.
    """
    occurring = furthest = 0
    for term, is_written in zip(terms, written, strict=True):
        if is_written or list(ids[-len(term) :]) == list(term):
            occurring += len(term)
        else:
            furthest = max(furthest, num_begun(term, ids))
    return occurring + furthest


def wanted_pieces(terms: Terms, ids: Sequence[int]) -> list[int]:
    """Return the pieces that begin or continue missing terms."""
    missing = [term for term in terms if not occurs(term, ids)]
    return list(dict.fromkeys(t[n] for t in missing for n in (num_begun(t, ids), 0)))


def all_occur(terms: Terms, ids: Sequence[int]) -> bool:
    """Return True if every term occurs."""
    return all(occurs(term, ids) for term in terms)


def occurs(term: Sequence[int], ids: Sequence[int]) -> bool:
    """Return True if the ids contain the pieces of a term in sequence.

    >>> occurs([5, 6], [4, 5, 6]), occurs([5, 6], [5, 4, 6])
    (True, False)
    """
    size = len(term)
    return any(list(ids[i : i + size]) == list(term) for i in range(len(ids) - size + 1))


def num_begun(term: Sequence[int], ids: Sequence[int]) -> int:
    """Count the first pieces of a term that are the last ids.

    >>> num_begun([5, 6, 7], [4, 5, 6]), num_begun([5, 6, 7], [5, 4])
    (2, 0)
    """
    return next(
        n
        for n in range(min(len(term) - 1, len(ids)), -1, -1)
        if list(ids[len(ids) - n :]) == list(term[:n])
    )
