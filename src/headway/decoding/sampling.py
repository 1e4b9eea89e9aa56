"""Sampling: pieces are drawn by their probabilities."""

import math
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from headway.data.tokenizer import END_ID, START_ID
from headway.decoding.attention import Attend
from headway.decoding.candidates import NEVER_CHOSEN, check_numbers, steer
from headway.decoding.coverage import Coverage
from headway.decoding.engine import Ints
from headway.decoding.hypothesis import Hypothesis, best_first
from headway.decoding.options import Sampling, SearchOptions
from headway.decoding.request import Request
from headway.decoding.rules import NO_RULES, Past, Rules
from headway.decoding.search import Advance, SearchObserver


class SamplingSearch:
    """Draw `n_best` samples a sentence, each in a row; scores are those of the model."""

    def __init__(
        self,
        options: SearchOptions,
        sampling: Sampling,
        rules: Rules = NO_RULES,
        attend: Attend | None = None,
        observer: SearchObserver | None = None,
    ) -> None:
        """Draw with the options `sampling`; attend: needed for a coverage penalty.

        observer: follows the search, which then draws one sample of one sentence.
        """
        self.options = options
        self.coverage = Coverage(options, attend)
        self.sampling = sampling
        self.rules = rules
        self.copies = options.n_best
        self.observer = observer
        self.running: dict[int, list[_Sample]] = {}

    def begin(self, slots: Sequence[int], requests: Sequence[Request]) -> None:
        """Start new sentences in free slots."""
        for slot, request in zip(slots, requests, strict=True):
            limited = request.under(self.options)
            self.running[slot] = [
                _Sample(
                    slot * self.copies + copy, limited, [self.sampling.seed, *limited.place, copy]
                )
                for copy in range(self.copies)
            ]
        self.running = dict(sorted(self.running.items()))
        if self.observer is not None:
            self.observer.begin()

    def rows(self) -> tuple[Ints, Ints]:
        """Return the rows to compute, only the first of a new sentence, and the newest pieces."""
        active = [sample for sample in self._active() if sample.ids or self._is_first(sample)]
        newest = [sample.ids[-1] if sample.ids else START_ID for sample in active]
        return np.array([s.row for s in active], dtype=np.int64), np.array(newest, dtype=np.int64)

    def _active(self) -> list["_Sample"]:
        return [s for samples in self.running.values() for s in samples if not s.finished]

    def _is_first(self, sample: "_Sample") -> bool:
        return sample.row % self.copies == 0

    def advance(self, logits: Float[Tensor, "R V"]) -> Advance:
        """Draw the next piece of each sample; for an observer the drawn piece has rank 1."""
        if self.observer is None:
            return self._draw(logits)
        (sample,) = self._active()
        pasts = [Past(sample.request, sample.ids)] if self.rules else ()
        only = [sample.request.only_choice(len(sample.ids))]
        self.observer.look([0], logits, only, self.rules, pasts)
        before = sample.log_prob
        advance = self._draw(logits)
        self.observer.decide(advance, sample.ids, before, sample.log_prob)
        return advance

    def _draw(self, logits: Float[Tensor, "R V"]) -> Advance:
        active = self._active()
        # The samples of a new sentence all draw from its first row.
        row = np.cumsum([bool(s.ids) or self._is_first(s) for s in active]) - 1
        fresh = [sample for sample in active if not sample.ids]
        logits = logits[torch.from_numpy(row).to(logits.device)]
        only = [s.request.only_choice(len(s.ids)) for s in active]
        pasts = [Past(s.request, s.ids) for s in active] if self.rules else ()
        logits, forced_logits, sums = steer(logits, only, self.rules, pasts)
        totals = logits.logsumexp(dim=1).cpu().numpy() if sums is None else sums
        check_numbers(totals)
        logits[:, NEVER_CHOSEN] = -math.inf
        pieces = draw(logits, self.sampling, np.array([s.stream.random() for s in active]))
        values = logits.gather(1, torch.from_numpy(pieces)[:, None].to(logits.device))[:, 0]
        for index, (sample, value) in enumerate(zip(active, values.tolist(), strict=True)):
            choice = only[index]
            piece = int(pieces[index]) if choice is None else choice
            sample.take(
                piece, (value if choice is None else forced_logits[index]) - float(totals[index])
            )
        return self._return_finished(fresh)

    def possible(self, slot: int) -> list[Sequence[int]]:
        """Return the pieces of all samples."""
        return [sample.ids for sample in self.running[slot]]

    def _return_finished(self, fresh: list["_Sample"]) -> Advance:
        """Return the sentences whose samples all ended; give new sentences all their rows."""
        finished = []
        for slot, samples in list(self.running.items()):
            if all(sample.finished for sample in samples):
                hypotheses = [sample.hypothesis(self.options) for sample in samples]
                scored = self.coverage.count(samples[0].request, hypotheses)
                finished.append((slot, best_first(scored)))
                del self.running[slot]
        rows = np.array([sample.row for sample in fresh if not sample.finished], dtype=np.int64)
        if self.copies == 1 or not len(rows):
            return Advance(finished)
        return Advance(finished, rows, rows // self.copies * self.copies)


class _Sample:
    """One sample that is being drawn."""

    def __init__(self, row: int, request: Request, seed: list[int]) -> None:
        self.row = row
        self.request = request
        self.stream = np.random.default_rng(seed)
        self.ids: list[int] = []
        self.log_prob = 0.0
        self.finished = False
        self.complete = True

    def take(self, piece: int, log_prob: float) -> None:
        """Append a piece, or end."""
        if log_prob == -math.inf:  # rules forbid all pieces: it ends here
            self.finished, self.complete = True, False
            return
        self.log_prob += log_prob
        if piece == END_ID:
            self.finished, self.complete = True, len(self.ids) < self.request.max_length
        else:
            self.ids.append(piece)

    def hypothesis(self, options: SearchOptions) -> Hypothesis:
        score = options.score(self.log_prob, len(self.ids) + 1)
        return Hypothesis(tuple(self.ids), self.log_prob, score, self.complete)


def draw(
    logits: Float[Tensor, "R V"], sampling: Sampling, uniform: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Draw a piece of each row with a uniform number in [0, 1), (R,).

    In the order of ids, the pieces divide [0, 1) in proportion to their probabilities; the number
    selects one. Rows without any probability give piece 0.
    """
    shares = narrow(logits, sampling).cumsum(dim=1)
    target = torch.from_numpy(uniform).to(shares.device) * shares[:, -1]
    # Rounding may move a number to the end of the last share.
    last = (shares < shares[:, -1:]).sum(dim=1)
    place = torch.searchsorted(shares, target[:, None], right=True)[:, 0]
    return torch.minimum(place, last).cpu().numpy()


def narrow(logits: Float[Tensor, "R V"], sampling: Sampling) -> Float[Tensor, "R V"]:
    """Return probabilities, not normalized, after temperature, top_k, min_p and top_p.

    Each is applied to the result of the one before; top_p is a share of that.
    """
    logits = logits.double() / sampling.temperature
    if 0 < sampling.top_k < logits.size(1):
        values, ids = logits.topk(sampling.top_k, dim=1)
        logits = torch.full_like(logits, -math.inf).scatter(1, ids, values)
    top = logits.amax(dim=1, keepdim=True)
    shares = (logits - top.clamp_min(torch.finfo(top.dtype).min)).exp()
    shares = shares.where(shares >= sampling.min_p, 0.0)
    if sampling.top_p < 1:
        ordered, ids = shares.sort(dim=1, descending=True, stable=True)
        before = ordered.cumsum(dim=1) - ordered
        enough = before >= sampling.top_p * ordered.sum(dim=1, keepdim=True)
        shares = torch.zeros_like(shares).scatter(1, ids, ordered.masked_fill(enough, 0.0))
    return shares
