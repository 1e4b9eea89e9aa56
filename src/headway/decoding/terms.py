"""Beam search with terms that must occur, by dynamic beam allocation (Post and Vilar 2018).

The bank of a hypothesis is the number of term pieces that it has written, unfinished terms
included. At each step a hypothesis may also take any piece that begins or continues one of its
terms, however improbable. The beam is divided among the banks: the best extension of each bank in
turn, the fullest bank first. So the fullest bank gains a piece at each step until a hypothesis has
all terms, whatever the size of the beam. Only such a hypothesis may end. A term is lost again when
the next piece makes a longer word of it, so a hypothesis may also end directly after its last term.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Sequence
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


class TermsUnwritten:
    """Forbid the end symbol while a term is missing."""

    def apply(self, logits: Float[Tensor, "R V"], pasts: Sequence[Past]) -> None:
        """Forbid the end symbol for hypotheses that lack a term."""
        rows = [row for row, past in enumerate(pasts) if not has_all_terms(past)]
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
            wanted_pieces(past) if choice is None else []
            for past, choice in zip(pasts, only, strict=True)
        ]
        log_probs, pieces = candidates(logits, 2 * self.copies, only, self.rules, pasts, wanted)
        lacking = [
            row for row, past in enumerate(pasts) if only[row] == END_ID and not has_all_terms(past)
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
        request, step = self.requests[row], self.steps[row]
        banks: dict[int, list[int]] = defaultdict(list)
        order = np.argsort(-totals, kind="stable").tolist()
        possible = [place for place in order if totals[place] > -math.inf]
        pasts = [past.tolist() for past in self.ids[row, :, :step]]
        written = [first_occurrences(Past(request, past)) for past in pasts]
        for place in possible:
            piece, copy = int(ids[place]), place // width
            past = pasts[copy]
            after = past if piece == END_ID else [*past, piece]
            banks[num_written(Past(request, after), written[copy])].append(place)
        fullest_first = [banks[bank] for bank in sorted(banks, reverse=True)]
        in_turn = [p for turn in zip_longest(*fullest_first) for p in turn if p is not None]
        return [*in_turn, *order[len(possible) :]][:count]


def num_written(past: Past, before: Sequence[int | None]) -> int:
    """Count the pieces that belong to terms, each once although terms may overlap.

    These are the first occurrence of each term, and the longest beginning of a missing one at the
    end. So a missing term always has a piece that raises the count: either the next one, or the
    first one, if the next one would make a longer word of a term that has just been written.

    before: `first_occurrences` before the last piece, or with it.
    """
    request, ids = past
    covered: set[int] = set()
    furthest = 0
    for term, start in zip(request.terms, before, strict=True):
        size = len(term)
        if start is not None and start + size == len(ids) - 1 and ids[-1] in request.continuing:
            start = first_occurrence(term, ids, request.continuing)  # perhaps lost
        elif start is None and list(ids[-size:]) == list(term):
            start = len(ids) - size
        if start is None:
            furthest = max(furthest, num_begun(term, ids))
        else:
            covered.update(range(start, start + size))
    covered.update(range(len(ids) - furthest, len(ids)))
    return len(covered)


def wanted_pieces(past: Past) -> list[int]:
    """Return the pieces that begin or continue missing terms, or the end directly after the last.

    The end is among them because all probable pieces may make a longer word of the term.
    """
    request, ids = past
    starts = zip(request.terms, first_occurrences(past), strict=True)
    missing = [term for term, start in starts if start is None]
    if not missing:
        at_end = any(list(ids[-len(term) :]) == list(term) for term in request.terms)
        return [END_ID] if at_end and request.continuing else []
    return list(dict.fromkeys(t[n] for t in missing for n in (num_begun(t, ids), 0)))


def has_all_terms(past: Past) -> bool:
    """Return True if every term occurs."""
    return None not in first_occurrences(past)


def first_occurrences(past: Past) -> list[int | None]:
    """Return the place of the first occurrence of each term; None for one that is missing."""
    request, ids = past
    return [first_occurrence(term, ids, request.continuing) for term in request.terms]


def first_occurrence(
    term: Sequence[int], ids: Sequence[int], continuing: Collection[int] = frozenset()
) -> int | None:
    """Return where the pieces of a term begin that no piece continues; None if they do not occur.

    >>> first_occurrence([5, 6], [4, 5, 6]), first_occurrence([5, 6], [5, 4, 6])
    (1, None)
    >>> first_occurrence([5, 6], [5, 6, 7, 5, 6, 4], continuing=[7])
    3
    """
    size = len(term)
    starts = (i for i in range(len(ids) - size + 1) if list(ids[i : i + size]) == list(term))
    return next((i for i in starts if (*ids, END_ID)[i + size] not in continuing), None)


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
