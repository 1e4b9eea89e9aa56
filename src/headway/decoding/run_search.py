"""The loop that keeps a batch full."""

import math
from collections.abc import Iterable, Iterator

from headway.decoding.engine import Batch
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.request import Request

_STILL_FULL = 3 / 4  # of the sentences after a refill; figures in benchmarks/log/018 and 069


def until_refill(at_work: int, full: int) -> int:
    """Return how many of the sentences at work must end before others take their places.

    full: the number after the last refill.
    """
    return max(at_work - int(full * _STILL_FULL), 0)


def run_search(
    batch: Batch,
    requests: Iterable[tuple[int, Request]],
    *,
    slots: int,
    max_tokens: int | None = None,
) -> Iterator[tuple[int, list[Hypothesis]]]:
    """Yield the number of each request with its hypotheses, best first, in order of completion.

    Continuous refill: when a quarter of the batch is done, the next requests get the free slots,
    because encoding several sentences together costs less than one by one. slots: those of the
    batch. max_tokens: the most source pieces in the batch at the same time; a single sentence
    may have more.
    """
    waiting = _Waiting(requests, max_tokens)
    free = list(range(slots - 1, -1, -1))  # the last used first: its memory is allocated
    at_work: dict[int, tuple[int, Request]] = {}  # by slot
    full = 0
    while True:
        refills = not until_refill(len(at_work), full)
        if next_requests := waiting.take(len(free)) if refills else []:
            fresh = [free.pop() for _ in next_requests]
            at_work |= zip(fresh, next_requests, strict=True)
            full = len(at_work)
            batch.begin(fresh, [request for _, request in next_requests])
        if not at_work:
            return
        for slot, hypotheses in batch.advance(max(until_refill(len(at_work), full), 1)):
            index, request = at_work.pop(slot)
            waiting.done(index)
            free.append(slot)
            yield index, [h._replace(ids=request.pieces(h.ids)) for h in hypotheses]


class _Waiting:
    """Requests that wait for a slot, and the number of source pieces in the batch."""

    def __init__(self, requests: Iterable[tuple[int, Request]], max_tokens: int | None) -> None:
        self.requests = iter(requests)
        self.next = next(self.requests, None)
        self.max_tokens = math.inf if max_tokens is None else max_tokens
        self.at_work: dict[int, int] = {}
        self.tokens = 0

    def take(self, count: int) -> list[tuple[int, Request]]:
        """Return the next requests, at most `count` and as many as max_tokens allows."""
        next_requests: list[tuple[int, Request]] = []
        while self.next is not None and len(next_requests) < count:
            index, request = self.next
            length = len(request.source_ids)
            if self.at_work and self.tokens + length > self.max_tokens:
                break
            self.at_work[index] = length
            self.tokens += length
            next_requests.append(self.next)
            self.next = next(self.requests, None)
        return next_requests

    def done(self, index: int) -> None:
        self.tokens -= self.at_work.pop(index)
