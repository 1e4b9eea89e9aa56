"""Beam search (section 6.1): several hypotheses a sentence, ranked with a length penalty.

Each step extends the K live hypotheses of a sentence by every piece and considers the best 2 K
extensions. Those among the first K that end the sentence are finished; the best K others stay
live. A sentence is done when no hypothesis is live, or when patience * K hypotheses have finished
(Kasai et al. 2022; patience is 1 by default) and no live hypothesis scores better, at its present
length, than the worst that will be returned. Without the second condition a sharp model stops too
early: all hypotheses except the good one are equally bad, some of them end at once, and K of them
would close the sentence before the good one ends. At the output limit the end symbol is the only
choice, and its probability counts. If rules forbid all extensions and no hypothesis has finished,
the best one is returned as it is, incomplete.

Without a length penalty a score is a log-probability, which only falls as a hypothesis grows. So
a hypothesis that is worse than all that will be returned is dropped at once, and no result changes.

A coverage penalty counts for finished hypotheses. Live ones are compared without it, by an upper
bound of their scores.
"""

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from torch import Tensor

from headway.data.tokenizer import END_ID, START_ID
from headway.decoding.attention import Attend
from headway.decoding.candidates import Floats, Rivals, candidates
from headway.decoding.coverage import Coverage, Finished
from headway.decoding.engine import Ints
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.options import SearchOptions
from headway.decoding.request import Request
from headway.decoding.rules import NO_RULES, Past, Rules
from headway.decoding.search import Advance, Extension, SearchObserver

# Extensions from which a selection and a sort of few are faster than a sort of all, and the
# extensions that one number stands for in the selection (benchmarks/log/078).
_MANY = 2**12
_GROUP = 16


class BeamSearch:
    """The live hypotheses of all running sentences, one row each, and the finished hypotheses."""

    ranks_by_score = True
    """True if the extensions with the best scores stay live at each step."""

    def __init__(
        self,
        options: SearchOptions,
        rules: Rules = NO_RULES,
        attend: Attend | None = None,
        observer: SearchObserver | None = None,
    ) -> None:
        """Search with these options; attend: needed for a coverage penalty.

        observer: follows the search, which then takes one sentence and drops no hypothesis early.
        """
        self.observer = observer
        self.options = options
        self.rules = rules
        self.coverage = Coverage(options, attend)
        self.copies = options.beam_size
        self.width = 2 * self.copies  # pieces of each row that are considered
        can_only_fall = not (options.length_penalty or options.coverage_penalty)
        self.drops_hopeless = self.ranks_by_score and can_only_fall and observer is None
        self.finished_needed = max(options.patience * self.copies, options.n_best)
        self.slots = np.empty(0, dtype=np.int64)  # slots in use, ascending, (N,)
        self.log_probs = np.empty((0, self.copies))  # -inf: no hypothesis, (N, K)
        self.worst = np.empty(0)  # worst score that will be returned, -inf: unknown, (N,)
        self.steps = np.empty(0, dtype=np.int64)
        self.ids = np.empty((0, self.copies, 16), dtype=np.int64)  # (N, K, longest so far or more)
        self.requests: list[Request] = []
        self.finished: list[Finished] = []
        self._find_live()

    def begin(self, slots: Sequence[int], requests: Sequence[Request]) -> None:
        """Start new sentences in free slots; only the first row of each is a hypothesis."""
        count = len(slots)
        log_probs = np.full((count, self.copies), -math.inf)
        log_probs[:, 0] = 0.0
        order = np.argsort(np.concatenate([self.slots, slots]), kind="stable")
        self.slots = np.concatenate([self.slots, slots])[order]
        self.log_probs = np.concatenate([self.log_probs, log_probs])[order]
        self.worst = np.concatenate([self.worst, np.full(count, -math.inf)])[order]
        self.steps = np.concatenate([self.steps, np.zeros(count, dtype=np.int64)])[order]
        fresh = np.zeros((count, *self.ids.shape[1:]), dtype=np.int64)
        self.ids = np.concatenate([self.ids, fresh])[order]
        all_requests = [*self.requests, *(request.under(self.options) for request in requests)]
        self.requests = [all_requests[place] for place in order]
        finished = [*self.finished, *(Finished(request, self.coverage) for request in requests)]
        self.finished = [finished[place] for place in order]
        self._find_live()
        if self.observer is not None:
            self.observer.begin()

    def _find_live(self) -> None:
        """Find the live hypotheses: the place of each one's sentence, and its copy."""
        self.live = (self.log_probs > -math.inf).nonzero()

    def rows(self) -> tuple[Ints, Ints]:
        """Return the rows of live hypotheses and the newest piece of each."""
        sentence, copy = self.live
        steps = self.steps[sentence]
        newest = np.where(steps > 0, self.ids[sentence, copy, steps - 1], START_ID)
        return self.slots[sentence] * self.copies + copy, newest

    def advance(self, logits: Float[Tensor, "R V"]) -> Advance:
        """Choose the next hypotheses of each sentence."""
        sentence, copy = self.live
        num, size = self.log_probs.shape
        log_probs, ids = self._observed_candidates(logits, sentence, copy)
        width = log_probs.shape[1]
        totals = log_probs + self.log_probs[sentence, copy, None]
        if len(totals) < num * size:
            live_totals, live_ids = totals, ids
            totals = np.full((num, size, width), -math.inf)
            totals[sentence, copy] = live_totals
            ids = np.full((num, size, width), END_ID)
            ids[sentence, copy] = live_ids
        totals, ids = totals.reshape(num, -1), ids.reshape(num, -1)
        best = self._rank(totals, ids, width)  # (N, 2 K)
        if self.observer is not None:
            self.observer.rank(_ranks(totals[0], ids[0], best[0], width))
        rows = np.arange(num)[:, None]
        totals, pieces, parents = totals[rows, best], ids[rows, best], best // width
        ends = pieces == END_ID
        self._finish(totals, parents, ends)
        # The stable sort puts extensions that continue before those that end, each best first.
        order = ends.argsort(axis=1, kind="stable")[:, :size]  # (N, K or fewer)
        totals[ends] = -math.inf
        totals, parents, pieces = totals[rows, order], parents[rows, order], pieces[rows, order]
        if self.observer is not None:
            self.observer.go_on(_live(totals[0], parents[0], pieces[0]))
        self._go_on(totals, parents, pieces)
        return self._return_finished(parents)

    def _observed_candidates(
        self, logits: Float[Tensor, "R V"], sentence: Ints, copy: Ints
    ) -> tuple[Floats, Ints]:
        """Return the result of `_candidates`, and report it to the observer."""
        if self.observer is None:
            return self._candidates(logits, sentence, copy)
        copies = copy.tolist()
        only = [self.requests[0].only_choice(int(self.steps[0]))] * len(copies)
        pasts = self._pasts(sentence, copy) if self.rules else ()
        self.observer.look(copies, logits, only, self.rules, pasts)
        log_probs, pieces = self._candidates(logits, sentence, copy)
        for row, hypothesis in enumerate(copies):
            self.observer.offer(hypothesis, pieces[row], log_probs[row])
        return log_probs, pieces

    def _candidates(
        self, logits: Float[Tensor, "R V"], sentence: Ints, copy: Ints
    ) -> tuple[Floats, Ints]:
        """Return log-probabilities and ids of the best next pieces of each live hypothesis."""
        forced = [r.only_choice(int(s)) for r, s in zip(self.requests, self.steps, strict=True)]
        pasts = self._pasts(sentence, copy) if self.rules else ()
        only = [forced[s] for s in sentence]
        all_needed = not self.ranks_by_score or self.observer is not None
        rivals = None if all_needed else Rivals(sentence, self.log_probs[sentence, copy])
        return candidates(logits, self.width, only, self.rules, pasts, rivals=rivals)

    def _pasts(self, sentence: Ints, copy: Ints) -> list[Past]:
        return [
            Past(self.requests[s], self.ids[s, c, : self.steps[s]].tolist())
            for s, c in zip(sentence, copy, strict=True)
        ]

    def _rank(self, totals: Floats, ids: Ints, width: int) -> Ints:
        """Return the places of the best 2 K extensions of each sentence, best first, (N, 2 K)."""
        return best_places(totals, 2 * self.copies)

    def _finish(self, totals: Floats, parents: Ints, ends: np.ndarray) -> None:
        """Collect the ended extensions among the first K of each sentence."""
        size = self.copies
        if np.count_nonzero(ends[:, :size]):
            ended = ends[:, :size] & (totals[:, :size] > -math.inf)
            for row, rank in zip(*ended.nonzero(), strict=True):
                self._add_finished(int(row), int(parents[row, rank]), float(totals[row, rank]))
        for row in (totals[:, 0] == -math.inf).nonzero()[0]:  # the best comes first
            if not self.finished[row]:
                best = int(self.log_probs[row].argmax())
                self._add_finished(int(row), best, float(self.log_probs[row, best]), complete=False)

    def _add_finished(self, row: int, copy: int, log_prob: float, *, complete: bool = True) -> None:
        """Keep a finished hypothesis."""
        step = int(self.steps[row])
        self.finished[row].add(
            Hypothesis(
                tuple(self.ids[row, copy, :step].tolist()),
                log_prob,
                self.options.score(log_prob, step + 1),
                complete and step < self.requests[row].max_length,
            )
        )
        if self.observer is not None:
            self.observer.end(copy, complete=complete)
        if self.drops_hopeless and len(self.finished[row]) >= self.options.n_best:
            self.worst[row] = self.finished[row].best_first()[self.options.n_best - 1].score

    def _go_on(self, totals: np.ndarray, parents: Ints, pieces: Ints) -> None:
        """Make the live hypotheses of the next step from these extensions."""
        num, width = totals.shape
        self.log_probs = np.full((num, self.copies), -math.inf)
        self.log_probs[:, :width] = totals
        if self.steps.max() == self.ids.shape[2]:
            self.ids = np.concatenate([self.ids, np.zeros_like(self.ids)], axis=2)
        rows = np.arange(num)
        self.ids[:, :width] = self.ids[rows[:, None], parents]
        self.ids[rows, :width, self.steps] = pieces
        self.steps = self.steps + 1

    def _return_finished(self, parents: Ints) -> Advance:
        """Remove the sentences that are done; return them, and the parent of each live row.

        A sentence is done if it has no live hypothesis, or if enough hypotheses have finished and
        no live one can improve the result.
        """
        if self.drops_hopeless:
            self.log_probs[self.log_probs < self.worst[:, None]] = -math.inf
        best = self.log_probs.max(axis=1)
        is_done = best == -math.inf
        for row, hypotheses in enumerate(self.finished):
            if is_done[row] or len(hypotheses) >= self.finished_needed:
                is_done[row] = not self._can_improve(row, float(best[row]))
        finished = [
            (int(self.slots[row]), self.finished[row].best_first()[: self.options.n_best])
            for row in is_done.nonzero()[0]
        ]
        if self.observer is not None and finished:
            self.observer.finish(self.finished[0].hypotheses)
        if finished:
            remains = ~is_done
            parents = parents[remains]
            self.slots, self.log_probs = self.slots[remains], self.log_probs[remains]
            self.worst = self.worst[remains]
            self.steps, self.ids = self.steps[remains], self.ids[remains]
            self.requests = [r for r, keep in zip(self.requests, remains, strict=True) if keep]
            self.finished = [f for f, keep in zip(self.finished, remains, strict=True) if keep]
        self._find_live()
        sentence, copy = self.live
        first = self.slots[sentence] * self.copies
        return Advance(finished, first + copy, first + parents[sentence, copy])

    def possible(self, slot: int) -> list[Sequence[int]]:
        """Return the pieces of the hypotheses, live or finished, that can still become the best."""
        return [
            ids
            for row in (self.slots == slot).nonzero()[0]
            for ids in (
                *self.ids[row, self.log_probs[row] > -math.inf, : self.steps[row]].tolist(),
                *(h.ids for h in self.finished[row].perhaps_best()),
            )
        ]

    def _can_improve(self, row: int, best: float) -> bool:
        """Return True if a live hypothesis can still be among those that will be returned.

        best: the largest log-probability of a live hypothesis; minus infinity without any.
        """
        if best == -math.inf:
            return False
        score = self.options.score(best, int(self.steps[row]))
        return self.finished[row].would_take(score, self.options.n_best)


def best_places(totals: Floats, count: int) -> Ints:
    """Return the places of the best totals of each sentence, best first, (N, count or fewer).

    The lower place of equal totals comes first. totals: (N, all extensions), without NaN.
    """
    if totals.shape[1] < _MANY:
        return (-totals).argsort(axis=1, kind="stable")[:, :count]
    best = np.empty((len(totals), min(count, totals.shape[1])), dtype=np.int64)
    for row, numbers in enumerate(totals):
        possible = (numbers >= _lower_bound(numbers, count)).nonzero()[0]
        order = (-numbers[possible]).argsort(kind="stable")
        best[row] = possible[order[:count]]
    return best


def _lower_bound(numbers: Floats, count: int) -> float:
    """Return a number that at least `count` of the numbers reach, and seldom many more.

    It is the one at place `count` among the largest of groups. -inf if there are fewer groups.
    """
    groups = len(numbers) // _GROUP
    if groups < count:
        return -math.inf
    largest = numbers[: groups * _GROUP].reshape(_GROUP, groups).max(axis=0)
    return float(np.partition(largest, groups - count)[groups - count])


def _ranks(totals: Floats, ids: Ints, best: Ints, width: int) -> dict[Extension, tuple[int, float]]:
    """Return the rank and the total of each possible extension among the best of a sentence."""
    possible = [place for place in best.tolist() if totals[place] > -math.inf]
    return {
        (place // width, int(ids[place])): (rank, float(totals[place]))
        for rank, place in enumerate(possible, 1)
    }


def _live(totals: Floats, parents: Ints, pieces: Ints) -> dict[int, tuple[Extension, float]]:
    """Return the extension and the total of each hypothesis of a sentence that stays live."""
    return {
        copy: ((int(parents[copy]), int(pieces[copy])), total)
        for copy, total in enumerate(totals.tolist())
        if total > -math.inf
    }
