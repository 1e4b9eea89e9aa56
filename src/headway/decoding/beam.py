"""Beam search (section 6.1): several hypotheses a sentence, ranked with a length penalty.

Each step extends the K live hypotheses of a sentence by every piece and looks at the best 2 K
extensions. Those among the first K that end the sentence are finished; the best K others live
on. A sentence is done when none is alive, or when K hypotheses have finished and no live one
scores better, at its present length, than the worst that will be returned. Without the second
condition a sharp model stops too early: beside its one good hypothesis all others are equally
bad, some of them end at once, and K of these would close the sentence before the good one ends.
Each hypothesis must end: at the output limit the end symbol is the only choice, and its
probability counts.
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from headway.data.tokenizer import END_ID
from headway.decoding.engine import Engine, State
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.length import length_penalty
from headway.decoding.search import SearchOptions, next_log_probs, start_ids


def beam_search(
    engine: Engine[State], source_ids: Int[Tensor, "B S"], options: SearchOptions
) -> list[list[Hypothesis]]:
    """Return the n_best hypotheses of each sentence, best first, sentences in order."""
    beam = _Beam(source_ids.size(0), options, source_ids.device)
    state = engine.encode(source_ids, copies=options.beam_size)
    previous = start_ids(source_ids.size(0) * options.beam_size, source_ids.device)
    while beam.sentences:
        logits = engine.step(state, previous)  # (R, V), R = sentences * K
        parents, previous, keep = beam.advance(logits)
        engine.reorder(state, parents)
        if keep is not None:
            engine.compact(state, keep)
    return [
        sorted(finished, key=lambda h: h.score, reverse=True)[: options.n_best]
        for finished in beam.finished
    ]


class _Beam:
    """The live hypotheses of all running sentences, and the finished ones."""

    def __init__(self, num_sentences: int, options: SearchOptions, device: torch.device) -> None:
        self.options = options
        self.size = options.beam_size
        self.sentences = list(range(num_sentences))
        self.finished: list[list[Hypothesis]] = [[] for _ in self.sentences]
        # All K rows start from the same hypothesis, so only the first of them counts.
        self.log_probs = torch.full((num_sentences, self.size), -math.inf, device=device)
        self.log_probs[:, 0] = 0.0
        self.ids = torch.empty((num_sentences, self.size, 0), dtype=torch.long, device=device)

    @property
    def step(self) -> int:
        return self.ids.size(2)

    def advance(
        self, logits: Float[Tensor, "R V"]
    ) -> tuple[Int[Tensor, "R"], Int[Tensor, "R"], Int[Tensor, "R"] | None]:
        """Choose the next hypotheses; return parent rows, newest pieces, and rows to keep.

        Rows to keep is None while no sentence is done. Newest pieces are of the kept rows.
        """
        num, vocabulary = len(self.sentences), logits.size(-1)
        owners = [sentence for sentence in self.sentences for _ in range(self.size)]
        extended = next_log_probs(logits, owners, self.step, self.options)
        extended = extended.view(num, self.size, vocabulary) + self.log_probs[:, :, None]
        width = min(2 * self.size, self.size * vocabulary)
        totals, flat = extended.flatten(1).topk(width, dim=1)  # (num, 2 K)
        parents, pieces = flat // vocabulary, flat % vocabulary
        self._finish(totals, parents, pieces)
        # The stable sort puts extensions that go on before those that end, best first in each.
        ends = (pieces == END_ID).long()
        order = ends.argsort(dim=1, stable=True)[:, : self.size]
        self.log_probs = totals.gather(1, order).masked_fill(ends.gather(1, order) == 1, -math.inf)
        parents, pieces = parents.gather(1, order), pieces.gather(1, order)  # (num, K)
        own = self.ids.gather(1, parents[:, :, None].expand(-1, -1, self.step))
        self.ids = torch.cat([own, pieces[:, :, None]], dim=2)
        first_rows = torch.arange(num, device=logits.device)[:, None] * self.size
        return (first_rows + parents).flatten(), *self._drop_done(pieces)

    def _finish(self, totals: Tensor, parents: Tensor, pieces: Tensor) -> None:
        """Collect the ended extensions among the first K of each sentence."""
        ended = (pieces[:, : self.size] == END_ID) & (totals[:, : self.size] > -math.inf)
        penalty = length_penalty(self.step + 1, self.options.length_penalty)
        for row, rank in ended.nonzero().tolist():
            sentence = self.sentences[row]
            total = float(totals[row, rank])
            self.finished[sentence].append(
                Hypothesis(
                    tuple(self.ids[row, parents[row, rank]].tolist()),
                    total,
                    total / penalty,
                    self.step < self.options.max_lengths[sentence],
                )
            )

    def _score_to_beat(self, sentence: int) -> float:
        """Return the worst score that will be returned, once K hypotheses have finished."""
        if len(self.finished[sentence]) < self.size:
            return -math.inf
        scores = sorted((h.score for h in self.finished[sentence]), reverse=True)
        return scores[self.options.n_best - 1]

    def _drop_done(self, pieces: Tensor) -> tuple[Tensor, Tensor | None]:
        """Forget sentences that are done; return the newest pieces and rows of the others."""
        penalty = length_penalty(self.step, self.options.length_penalty)
        live = (self.log_probs.max(dim=1).values / penalty).tolist()
        running = [
            row
            for row, sentence in enumerate(self.sentences)
            if live[row] > self._score_to_beat(sentence)
        ]
        if len(running) == len(self.sentences):
            return pieces.flatten(), None
        kept = torch.tensor(running, dtype=torch.long, device=pieces.device)
        self.sentences = [self.sentences[row] for row in running]
        self.log_probs, self.ids = self.log_probs[kept], self.ids[kept]
        rows = kept[:, None] * self.size + torch.arange(self.size, device=pieces.device)
        return pieces[kept].flatten(), rows.flatten()
