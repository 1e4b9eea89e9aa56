"""Beam search (section 6.1): several hypotheses a sentence, ranked with a length penalty.

Each step extends the K live hypotheses of a sentence by every piece and looks at the best 2 K
extensions. Those among the first K that end the sentence are finished; the best K others live
on. A sentence is done when none is alive, or when patience * K hypotheses have finished (Kasai et
al. 2022; patience is 1 unless told otherwise) and no live one scores better, at its present
length, than the worst that will be returned. Without the second condition a sharp model stops too
early: beside its one good hypothesis all others are equally bad, some of them end at once, and K
of these would close the sentence before the good one ends. Each hypothesis must end: at the output
limit the end symbol is the only choice, and its probability counts. Where rules leave no
hypothesis anything to go on with, and none has finished, the best one stays as it is, incomplete.

Without a length penalty a score is a log-probability, and a hypothesis can only lose by going on.
One that is worse than all that will be returned is then dropped at once, with all that it might
lead to: that would rank below everything that matters, so nothing else changes.

With a coverage penalty all that have finished are ranked with it, and the worst that will be
returned has its score with it; live ones are compared without it, as if they were to cover all.
"""

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from torch import Tensor

from headway.data.tokenizer import END_ID, START_ID
from headway.decoding.attention import Attend
from headway.decoding.candidates import Floats, candidates
from headway.decoding.coverage import Coverage, Finished
from headway.decoding.engine import Ints
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.options import SearchOptions
from headway.decoding.request import Request
from headway.decoding.rules import NO_RULES, Past, Rules
from headway.decoding.run_search import Advance, Extension, SearchObserver


class BeamSearch:
    """The live hypotheses of all sentences at work, one row each, and the finished ones."""

    ranks_by_score = True
    """Whether what lives on at a step are the extensions that score best."""

    def __init__(
        self,
        options: SearchOptions,
        rules: Rules = NO_RULES,
        attend: Attend | None = None,
        observer: SearchObserver | None = None,
    ) -> None:
        """Search with these options; attend: needed for a coverage penalty.

        observer: follows the search, which then is for one sentence and drops no hypothesis early.
        """
        self.observer = observer
        self.options = options
        self.rules = rules
        self.coverage = Coverage(options, attend)
        self.copies = options.beam_size
        self.width = 2 * self.copies  # pieces of each row to look at
        can_only_fall = not (options.length_penalty or options.coverage_penalty)
        self.drops_hopeless = self.ranks_by_score and can_only_fall and observer is None
        self.finished_needed = max(options.patience * self.copies, options.n_best)
        self.slots = np.empty(0, dtype=np.int64)  # those at work, ascending, (N,)
        self.log_probs = np.empty((0, self.copies))  # -inf: no hypothesis, (N, K)
        self.worst = np.empty(0)  # score of the worst that will be returned, -inf: not known, (N,)
        self.steps = np.empty(0, dtype=np.int64)
        self.ids = np.empty((0, self.copies, 16), dtype=np.int64)  # (N, K, longest yet or more)
        self.requests: list[Request] = []
        self.finished: list[Finished] = []
        self._look_for_the_living()

    def begin(self, slots: Sequence[int], requests: Sequence[Request]) -> None:
        """Start new sentences in free slots; of each, only the first row is a hypothesis."""
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
        everyone = [*self.requests, *(request.under(self.options) for request in requests)]
        self.requests = [everyone[place] for place in order]
        fresh_ones = (Finished(request, self.coverage) for request in requests)
        so_far = [*self.finished, *fresh_ones]
        self.finished = [so_far[place] for place in order]
        self._look_for_the_living()
        if self.observer is not None:
            self.observer.begin()

    def _look_for_the_living(self) -> None:
        """Note where the live hypotheses are, as places of their sentences and as copies."""
        self.living = (self.log_probs > -math.inf).nonzero()

    def rows(self) -> tuple[Ints, Ints]:
        """Return the rows of live hypotheses and the newest piece of each."""
        sentence, copy = self.living
        steps = self.steps[sentence]
        newest = np.where(steps > 0, self.ids[sentence, copy, steps - 1], START_ID)
        return self.slots[sentence] * self.copies + copy, newest

    def advance(self, logits: Float[Tensor, "R V"]) -> Advance:
        """Choose the next hypotheses of each sentence."""
        sentence, copy = self.living
        num, size = self.log_probs.shape
        log_probs, ids = self._observed_candidates(logits, sentence, copy)
        width = log_probs.shape[1]
        totals = log_probs + self.log_probs[sentence, copy, None]
        if len(totals) < num * size:
            of_the_living, totals = totals, np.full((num, size, width), -math.inf)
            totals[sentence, copy] = of_the_living
            pieces, ids = ids, np.full((num, size, width), END_ID)
            ids[sentence, copy] = pieces
        totals, ids = totals.reshape(num, -1), ids.reshape(num, -1)
        best = self._rank(totals, ids, width)  # (N, 2 K)
        if self.observer is not None:
            self.observer.rank(_ranks(totals[0], ids[0], best[0], width))
        rows = np.arange(num)[:, None]
        totals, pieces, parents = totals[rows, best], ids[rows, best], best // width
        ends = pieces == END_ID
        self._finish(totals, parents, ends)
        # The stable sort puts extensions that go on before those that end, best first in each.
        order = ends.argsort(axis=1, kind="stable")[:, :size]  # (N, K or fewer)
        totals[ends] = -math.inf
        totals, parents, pieces = totals[rows, order], parents[rows, order], pieces[rows, order]
        if self.observer is not None:
            self.observer.go_on(_living(totals[0], parents[0], pieces[0]))
        self._go_on(totals, parents, pieces)
        return self._give_back(parents)

    def _observed_candidates(
        self, logits: Float[Tensor, "R V"], sentence: Ints, copy: Ints
    ) -> tuple[Floats, Ints]:
        """Return what `_candidates` does, and show it to the observer."""
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
        """Return log-probabilities and ids of the pieces that each live hypothesis may take."""
        forced = [r.only_choice(int(s)) for r, s in zip(self.requests, self.steps, strict=True)]
        pasts = self._pasts(sentence, copy) if self.rules else ()
        return candidates(logits, self.width, [forced[s] for s in sentence], self.rules, pasts)

    def _pasts(self, sentence: Ints, copy: Ints) -> list[Past]:
        return [
            Past(self.requests[s], self.ids[s, c, : self.steps[s]].tolist())
            for s, c in zip(sentence, copy, strict=True)
        ]

    def _rank(self, totals: Floats, ids: Ints, width: int) -> Ints:
        """Return the places of each sentence's best 2 K extensions, best first, (N, 2 K)."""
        return (-totals).argsort(axis=1, kind="stable")[:, : 2 * self.copies]

    def _finish(self, totals: Floats, parents: Ints, ends: np.ndarray) -> None:
        """Collect the ended extensions among the first K of each sentence."""
        size = self.copies
        if np.count_nonzero(ends[:, :size]):
            ended = ends[:, :size] & (totals[:, :size] > -math.inf)
            for row, rank in zip(*ended.nonzero(), strict=True):
                self._keep(int(row), int(parents[row, rank]), float(totals[row, rank]))
        for row in (totals[:, 0] == -math.inf).nonzero()[0]:  # the best comes first
            if not self.finished[row]:
                best = int(self.log_probs[row].argmax())
                self._keep(int(row), best, float(self.log_probs[row, best]), complete=False)

    def _keep(self, row: int, copy: int, log_prob: float, *, complete: bool = True) -> None:
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
        """Let the hypotheses live on that these extensions make."""
        num, width = totals.shape
        self.log_probs = np.full((num, self.copies), -math.inf)
        self.log_probs[:, :width] = totals
        if self.steps.max() == self.ids.shape[2]:
            self.ids = np.concatenate([self.ids, np.zeros_like(self.ids)], axis=2)
        each = np.arange(num)
        self.ids[:, :width] = self.ids[each[:, None], parents]
        self.ids[each, :width, self.steps] = pieces
        self.steps = self.steps + 1

    def _give_back(self, parents: Ints) -> Advance:
        """Forget the sentences that are done; tell which row goes on from which.

        Done are those without a live hypothesis, and those of which enough have finished and that
        no live one can improve.
        """
        if self.drops_hopeless:
            self.log_probs[self.log_probs < self.worst[:, None]] = -math.inf
        best = self.log_probs.max(axis=1)
        done = best == -math.inf
        for row, found in enumerate(self.finished):
            if done[row] or len(found) >= self.finished_needed:
                done[row] = not self._can_improve(row, float(best[row]))
        finished = [
            (int(self.slots[row]), self.finished[row].best_first()[: self.options.n_best])
            for row in done.nonzero()[0]
        ]
        if self.observer is not None and finished:
            self.observer.finish(self.finished[0].hypotheses)
        if finished:
            kept = ~done
            parents = parents[kept]
            self.slots, self.log_probs = self.slots[kept], self.log_probs[kept]
            self.worst = self.worst[kept]
            self.steps, self.ids = self.steps[kept], self.ids[kept]
            self.requests = [r for r, keep in zip(self.requests, kept, strict=True) if keep]
            self.finished = [f for f, keep in zip(self.finished, kept, strict=True) if keep]
        self._look_for_the_living()
        sentence, copy = self.living
        first = self.slots[sentence] * self.copies
        return Advance(finished, first + copy, first + parents[sentence, copy])

    def possible(self, slot: int) -> list[Sequence[int]]:
        """Return what the best hypothesis may begin with: one that lives, or a finished one."""
        return [
            ids
            for row in (self.slots == slot).nonzero()[0]
            for ids in (
                *self.ids[row, self.log_probs[row] > -math.inf, : self.steps[row]].tolist(),
                *(h.ids for h in self.finished[row].perhaps_best()),
            )
        ]

    def _can_improve(self, row: int, best: float) -> bool:
        """Tell whether a live hypothesis may still be among those that will be returned.

        best: the largest log-probability of one, minus infinity without any.
        """
        if best == -math.inf:
            return False
        score = self.options.score(best, int(self.steps[row]))
        return self.finished[row].would_take(score, self.options.n_best)


def _ranks(totals: Floats, ids: Ints, best: Ints, width: int) -> dict[Extension, tuple[int, float]]:
    """Return the place and the total of each possible extension among the best of a sentence."""
    possible = [place for place in best.tolist() if totals[place] > -math.inf]
    return {
        (place // width, int(ids[place])): (rank, float(totals[place]))
        for rank, place in enumerate(possible, 1)
    }


def _living(totals: Floats, parents: Ints, pieces: Ints) -> dict[int, tuple[Extension, float]]:
    """Return the extension and the total of each hypothesis of a sentence that lives on."""
    return {
        copy: ((int(parents[copy]), int(pieces[copy])), total)
        for copy, total in enumerate(totals.tolist())
        if total > -math.inf
    }
