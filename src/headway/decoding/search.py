"""What every search shares: requests, candidates, and the batch that stays full."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from headway.data.tokenizer import END_ID, PAD_ID, SPECIAL_PIECES, START_ID, UNK_ID
from headway.decoding.candidates import best_pieces
from headway.decoding.engine import Engine, Ints, State
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.options import SearchOptions
from headway.decoding.rules import Past, Rules

# Padding and start are no output; the unknown piece cannot be turned back into text.
NEVER_CHOSEN = (PAD_ID, START_ID, UNK_ID)
NO_RULES = Rules()
Floats = NDArray[np.float64]
_STILL_FULL = 3 / 4  # of those that were at work; figures in benchmarks/NOTES.md


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


@dataclass(frozen=True, slots=True)
class Advance:
    """What a search decided after one step."""

    finished: list[tuple[int, list[Hypothesis]]]
    """Slots whose sentence is done, with its hypotheses, best first."""
    rows: Ints | None = None
    """Rows that go on in other hypotheses than before, with their parents; None if none does."""
    parents: Ints | None = None


class Search(Protocol):
    """Choose pieces, for each slot by itself; what one sentence gets depends on no other."""

    copies: int
    """Rows that a slot needs."""

    def begin(self, slots: Sequence[int], requests: Sequence[Request]) -> None:
        """Start new sentences in free slots."""
        ...

    def rows(self) -> tuple[Ints, Ints]:
        """Return the rows to compute, ascending, and the newest piece of each."""
        ...

    def advance(self, logits: Float[Tensor, "R V"]) -> Advance:
        """Choose what follows in those rows."""
        ...

    def possible(self, slot: int) -> list[Sequence[int]]:
        """Return the pieces with which the best hypothesis of a sentence at work may begin.

        Whatever it turns out to be in the end, it begins with one of these.
        """
        ...


def run_search(
    engine: Engine[State],
    search: Search,
    requests: Iterable[tuple[int, Request]],
    *,
    slots: int,
    max_tokens: int | None = None,
) -> Iterator[tuple[int, list[Hypothesis]]]:
    """Yield the number of each request with its hypotheses, best first, as they are done.

    Continuous refill: slots of finished sentences go to the next requests, when a quarter of the
    batch is done, because reading several sentences together costs less than one by one.
    max_tokens: source pieces that the sentences at work may have together; one always may.
    """
    waiting = _Waiting(requests, max_tokens)
    state = engine.start(slots, search.copies)
    free = list(range(slots - 1, -1, -1))  # those last used first: their memory is there
    at_work: dict[int, tuple[int, Request]] = {}  # by slot
    full = 0
    while True:
        worth_it = len(at_work) <= full * _STILL_FULL
        if taken := waiting.take(len(free)) if worth_it else []:
            fresh = [free.pop() for _ in taken]
            at_work |= zip(fresh, taken, strict=True)
            full = len(at_work)
            read_and_begin(engine, state, search, fresh, [request for _, request in taken])
        if not at_work:
            return
        advance = search.advance(engine.step(state, *search.rows()))
        for slot, hypotheses in advance.finished:
            index, request = at_work.pop(slot)
            waiting.done(index)
            free.append(slot)
            yield index, [h._replace(ids=request.pieces(h.ids)) for h in hypotheses]
        if advance.rows is not None and advance.parents is not None:
            engine.reorder(state, advance.rows, advance.parents)


def read_and_begin(
    engine: Engine[State],
    state: State,
    search: Search,
    slots: Sequence[int],
    requests: Sequence[Request],
) -> None:
    """Have the engine read these sentences and the search begin them, in free slots."""
    lists = [request.allowed for request in requests if request.allowed is not None]
    assert len(lists) in (0, len(requests)), "all requests have a list of pieces, or none has"
    engine.encode(state, slots, [request.source_ids for request in requests], lists or None)
    search.begin(slots, [request.by_place() for request in requests])


class _Waiting:
    """Requests that wait for a slot, and the source pieces of those at work."""

    def __init__(self, requests: Iterable[tuple[int, Request]], max_tokens: int | None) -> None:
        self.requests = iter(requests)
        self.next = next(self.requests, None)
        self.max_tokens = math.inf if max_tokens is None else max_tokens
        self.at_work: dict[int, int] = {}
        self.tokens = 0

    def take(self, count: int) -> list[tuple[int, Request]]:
        """Return the next requests, `count` at most, as far as there is room."""
        taken: list[tuple[int, Request]] = []
        while self.next is not None and len(taken) < count:
            index, request = self.next
            length = len(request.source_ids)
            if self.at_work and self.tokens + length > self.max_tokens:
                break
            self.at_work[index] = length
            self.tokens += length
            taken.append(self.next)
            self.next = next(self.requests, None)
        return taken

    def done(self, index: int) -> None:
        self.tokens -= self.at_work.pop(index)


def candidates(
    logits: Float[Tensor, "R V"],
    count: int,
    only: Sequence[int | None],
    rules: Rules = NO_RULES,
    pasts: Sequence[Past] = (),
    also: Sequence[Sequence[int]] = (),
) -> tuple[Floats, Ints]:
    """Return the log-probabilities and ids of each row's best pieces, best first, (R, count).

    only: the one choice that a row has, if it has only one; it keeps the probability that the
    model gives it, and the other places of the row have minus infinity. pasts: of each row, needed
    where there are rules. also: pieces that each row is to have besides, in further columns.
    """
    logits, kept, sums = steer(logits, only, rules, pasts)
    values, ids, totals = best_pieces(logits, min(count, logits.size(1)), NEVER_CHOSEN)
    totals = totals if sums is None else sums
    log_probs = values.astype(np.float64) - totals[:, None]
    if kept:
        chosen = list(kept)
        log_probs[chosen] = -math.inf
        log_probs[chosen, 0] = np.array(list(kept.values())) - totals[chosen]
        ids[chosen, 0] = [choice for choice in only if choice is not None]
    return _with_columns(logits, log_probs, ids, totals, also) if also else (log_probs, ids)


def _with_columns(
    logits: Float[Tensor, "R V"],
    log_probs: Floats,
    ids: Ints,
    totals: NDArray[np.float32],
    also: Sequence[Sequence[int]],
) -> tuple[Floats, Ints]:
    """Append the pieces in `also` that a row has not got yet."""
    width = max(map(len, also))
    more, pieces = np.full((len(also), width), -math.inf), np.full((len(also), width), END_ID)
    for row, asked in enumerate(also):
        for column, piece in enumerate(asked):
            if piece not in ids[row]:
                more[row, column] = float(logits[row, piece]) - totals[row]
                pieces[row, column] = piece
    return np.concatenate([log_probs, more], axis=1), np.concatenate([ids, pieces], axis=1)


def steer(
    logits: Float[Tensor, "R V"],
    only: Sequence[int | None],
    rules: Rules,
    pasts: Sequence[Past],
) -> tuple[Float[Tensor, "R V"], dict[int, float], NDArray[np.float32] | None]:
    """Apply the rules; return the logits, what rows with one choice have for it, and the sums.

    The sums are log(sum(exp(logits))) before anything was forbidden, (R,); None if nothing was.
    """
    logits = logits.float()
    for rule in rules.changing:
        rule.apply(logits, pasts)
    rows = [row for row, choice in enumerate(only) if choice is not None]
    pieces = [choice for choice in only if choice is not None]
    kept = dict(zip(rows, logits[rows, pieces].tolist(), strict=True)) if rows else {}
    if not rules.forbidding:
        return logits, kept, None
    sums = logits.logsumexp(dim=1).cpu().numpy()
    for rule in rules.forbidding:
        rule.apply(logits, pasts)
    return logits, kept, sums
