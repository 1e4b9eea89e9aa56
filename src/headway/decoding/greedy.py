"""Greedy search: the most probable piece at every step."""

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from torch import Tensor

from headway.data.tokenizer import END_ID, START_ID
from headway.decoding.attention import Attend
from headway.decoding.candidates import candidates
from headway.decoding.coverage import Coverage
from headway.decoding.engine import Ints
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.options import SearchOptions
from headway.decoding.request import Request
from headway.decoding.rules import NO_RULES, Past, Rules
from headway.decoding.search import Advance, SearchObserver


class GreedySearch:
    """One hypothesis for each sentence, which takes the best piece at every step."""

    copies = 1

    def __init__(
        self,
        options: SearchOptions,
        rules: Rules = NO_RULES,
        attend: Attend | None = None,
        observer: SearchObserver | None = None,
    ) -> None:
        """Use the length and coverage penalties of these options, which affect only the score.

        observer: follows the search, which then takes one sentence.
        """
        self.options = options
        self.rules = rules
        self.coverage = Coverage(options, attend)
        self.observer = observer
        self.running: dict[int, _Running] = {}

    def begin(self, slots: Sequence[int], requests: Sequence[Request]) -> None:
        """Start new sentences in free slots."""
        for slot, request in zip(slots, requests, strict=True):
            self.running[slot] = _Running(request.under(self.options))
        self.running = dict(sorted(self.running.items()))
        if self.observer is not None:
            self.observer.begin()

    def rows(self) -> tuple[Ints, Ints]:
        """Return the rows to compute and the newest piece of each."""
        rows = np.fromiter(self.running, dtype=np.int64)
        newest = (r.ids[-1] if r.ids else START_ID for r in self.running.values())
        return rows, np.fromiter(newest, dtype=np.int64, count=len(rows))

    def advance(self, logits: Float[Tensor, "R V"]) -> Advance:
        """Take the best piece of each row."""
        if self.observer is None:
            return self._choose(logits)
        ((_, running),) = self.running.items()
        pasts = [Past(running.request, running.ids)] if self.rules else ()
        self.observer.look([0], logits, [running.only_choice()], self.rules, pasts)
        before = running.log_prob
        advance = self._choose(logits)
        self.observer.decide(advance, running.ids, before, running.log_prob)
        return advance

    def _choose(self, logits: Float[Tensor, "R V"]) -> Advance:
        sentences = self.running.values()
        only = [sentence.only_choice() for sentence in sentences]
        pasts = [Past(s.request, s.ids) for s in sentences] if self.rules else ()
        log_probs, pieces = candidates(logits, 1, only, self.rules, pasts)
        finished = []
        chosen = zip(
            self.running.items(), log_probs[:, 0].tolist(), pieces[:, 0].tolist(), strict=True
        )
        for (slot, running), log_prob, piece in chosen:
            if log_prob == -math.inf:  # rules forbid all pieces: it ends here
                finished.append((slot, running.hypothesis(self.options, complete=False)))
                continue
            running.log_prob += log_prob
            if piece == END_ID:
                finished.append((slot, running.hypothesis(self.options)))
            else:
                running.ids.append(piece)
        return Advance(
            [
                (slot, self.coverage.count(self.running.pop(slot).request, [hypothesis]))
                for slot, hypothesis in finished
            ]
        )

    def possible(self, slot: int) -> list[Sequence[int]]:
        """Return the pieces of the only hypothesis."""
        return [self.running[slot].ids]


class _Running:
    """A sentence that is being translated."""

    __slots__ = ("first_choice", "ids", "last_choice", "log_prob", "request")

    def __init__(self, request: Request) -> None:
        self.request = request
        self.ids: list[int] = []
        self.log_prob = 0.0
        self.first_choice = len(request.prefix)
        self.last_choice = request.max_length

    def only_choice(self) -> int | None:
        """Return the only piece that the request allows now, or None if it allows several."""
        step = len(self.ids)
        free = self.first_choice <= step < self.last_choice
        return None if free else self.request.only_choice(step)

    def hypothesis(self, options: SearchOptions, *, complete: bool = True) -> Hypothesis:
        score = options.score(self.log_prob, len(self.ids) + 1)
        complete = complete and len(self.ids) < self.request.max_length
        return Hypothesis(tuple(self.ids), self.log_prob, score, complete)
