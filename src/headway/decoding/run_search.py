"""The protocol of a search, and the loop that keeps its batch full."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from jaxtyping import Float
from torch import Tensor

from headway.decoding.candidates import Floats
from headway.decoding.engine import Engine, Ints, State
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.request import Request
from headway.decoding.rules import Past, Rules

_STILL_FULL = 3 / 4  # of the sentences after a refill; figures in benchmarks/log/018 and 069


@dataclass(frozen=True, slots=True)
class Advance:
    """The decisions of a search after one step."""

    finished: list[tuple[int, list[Hypothesis]]]
    """Slots whose sentence is done, with its hypotheses, best first."""
    rows: Ints | None = None
    """Rows that continue other rows, their `parents`; None if every row continues itself."""
    parents: Ints | None = None


class Search(Protocol):
    """Choose pieces, independently for each slot: a sentence's result depends on no other."""

    copies: int
    """The number of rows of a slot."""

    def begin(self, slots: Sequence[int], requests: Sequence[Request]) -> None:
        """Start new sentences in free slots."""
        ...

    def rows(self) -> tuple[Ints, Ints]:
        """Return the rows to compute, ascending, and the newest piece of each."""
        ...

    def advance(self, logits: Float[Tensor, "R V"]) -> Advance:
        """Choose the next pieces of those rows."""
        ...

    def possible(self, slot: int) -> list[Sequence[int]]:
        """Return the possible beginnings of the best hypothesis of a sentence at work.

        The best hypothesis begins with the pieces of one of them.
        """
        ...


Extension = tuple[int, int]
"""The copy of a live hypothesis, and a piece, by its place in the list of allowed pieces."""


class SearchObserver(Protocol):
    """Follow the search for one sentence, whose result is the same without an observer.

    A step begins with `look`. A beam then calls `offer`, `rank`, `end` and `go_on`; a search with
    one hypothesis calls `decide`.
    """

    def begin(self) -> None:
        """Be told that the source is encoded and the steps begin."""
        ...

    def look(
        self,
        copies: Sequence[int],
        logits: Float[Tensor, "R V"],
        only: Sequence[int | None],
        rules: Rules,
        pasts: Sequence[Past],
    ) -> None:
        """Receive the logits of live hypotheses before the search changes them."""
        ...

    def offer(self, copy: int, pieces: Ints, log_probs: Floats) -> None:
        """Receive the possible pieces of a live hypothesis, with their log-probabilities."""
        ...

    def rank(self, ranks: Mapping[Extension, tuple[int, float]]) -> None:
        """Receive the best extensions, each with its rank, from 1, and its total."""
        ...

    def end(self, copy: int, *, complete: bool) -> None:
        """Receive a copy that took the end symbol, or (not complete) had no possible piece."""
        ...

    def go_on(self, living: Mapping[int, tuple[Extension, float]]) -> None:
        """Receive the extension and the total of each copy of the next step; ends the step."""
        ...

    def decide(self, advance: Advance, ids: Sequence[int], before: float, after: float) -> None:
        """Receive a step of the only hypothesis: its pieces, its total before and after."""
        ...

    def finish(self, hypotheses: Sequence[Hypothesis]) -> None:
        """Receive all finished hypotheses, with scores, in order of completion."""
        ...


def run_search(
    engine: Engine[State],
    search: Search,
    requests: Iterable[tuple[int, Request]],
    *,
    slots: int,
    max_tokens: int | None = None,
) -> Iterator[tuple[int, list[Hypothesis]]]:
    """Yield the number of each request with its hypotheses, best first, in order of completion.

    Continuous refill: when a quarter of the batch is done, the next requests get the free slots,
    because encoding several sentences together costs less than one by one. max_tokens: the most
    source pieces of the sentences at work together; a single sentence may have more.
    """
    waiting = _Waiting(requests, max_tokens)
    state = engine.start(slots, search.copies)
    free = list(range(slots - 1, -1, -1))  # the last used first: its memory is allocated
    at_work: dict[int, tuple[int, Request]] = {}  # by slot
    full = 0
    while True:
        refills = len(at_work) <= full * _STILL_FULL
        if taken := waiting.take(len(free)) if refills else []:
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
    """Encode these sentences with the engine, and begin them in the search, in free slots."""
    lists = [request.allowed for request in requests if request.allowed is not None]
    assert len(lists) in (0, len(requests)), "all requests have a list of tokens, or none has"
    engine.encode(state, slots, [request.source_ids for request in requests], lists or None)
    search.begin(slots, [request.by_place() for request in requests])


class _Waiting:
    """Requests that wait for a slot, and the number of source pieces at work."""

    def __init__(self, requests: Iterable[tuple[int, Request]], max_tokens: int | None) -> None:
        self.requests = iter(requests)
        self.next = next(self.requests, None)
        self.max_tokens = math.inf if max_tokens is None else max_tokens
        self.at_work: dict[int, int] = {}
        self.tokens = 0

    def take(self, count: int) -> list[tuple[int, Request]]:
        """Return the next requests, at most `count` and as many as max_tokens allows."""
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
