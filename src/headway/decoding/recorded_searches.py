"""Recording a search: greedy and beam search that tell a recorder what they decide.

They are subclasses which look and pass on, so that a search nobody records has not one line more,
and one that is recorded decides the same.
"""

import math
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from headway.data.tokenizer import END_ID
from headway.decoding.attention import Attend
from headway.decoding.beam import BeamSearch
from headway.decoding.candidates import Floats
from headway.decoding.engine import Engine, Ints
from headway.decoding.greedy import GreedySearch
from headway.decoding.hypothesis import Hypothesis
from headway.decoding.options import Sampling, SearchOptions
from headway.decoding.recorder import Recorder
from headway.decoding.request import Request
from headway.decoding.rules import NO_RULES, Past, Rule, Rules, rules_of
from headway.decoding.run_search import Advance, Search, run_search
from headway.decoding.sampling import SamplingSearch
from headway.decoding.terms import TermsBeamSearch
from headway.errors import ConfigError


class RecordedGreedySearch(GreedySearch):
    """Greedy search for one sentence, recorded."""

    def __init__(
        self,
        recorder: Recorder,
        options: SearchOptions,
        rules: Rules = NO_RULES,
        attend: Attend | None = None,
    ) -> None:
        """Tell this recorder; the rest as in `GreedySearch`."""
        super().__init__(options, rules, attend)
        self.recorder = recorder

    def begin(self, slots: Sequence[int], requests: Sequence[Request]) -> None:
        """Start the sentence."""
        super().begin(slots, requests)
        self.recorder.begin()

    def advance(self, logits: Float[Tensor, "R V"]) -> Advance:
        """Take the best piece."""
        ((_, running),) = self.running.items()
        pasts = [Past(running.request, running.ids)] if self.rules else ()
        self.recorder.look([0], logits, [running.only_choice()], self.rules, pasts)
        before = running.log_prob
        advance = super().advance(logits)
        _decided(self.recorder, advance, running.ids, before, running.log_prob)
        return advance


class RecordedSamplingSearch(SamplingSearch):
    """One sample of one sentence, recorded: the piece that was drawn has the rank 1."""

    def __init__(
        self,
        recorder: Recorder,
        options: SearchOptions,
        sampling: Sampling,
        rules: Rules = NO_RULES,
        attend: Attend | None = None,
    ) -> None:
        """Tell this recorder; the rest as in `SamplingSearch`."""
        super().__init__(options, sampling, rules, attend)
        self.recorder = recorder

    def begin(self, slots: Sequence[int], requests: Sequence[Request]) -> None:
        """Start the sentence."""
        super().begin(slots, requests)
        self.recorder.begin()

    def advance(self, logits: Float[Tensor, "R V"]) -> Advance:
        """Draw the next piece."""
        (sample,) = self._active()
        pasts = [Past(sample.request, sample.ids)] if self.rules else ()
        only = [sample.request.only_choice(len(sample.ids))]
        self.recorder.look([0], logits, only, self.rules, pasts)
        before = sample.log_prob
        advance = super().advance(logits)
        _decided(self.recorder, advance, sample.ids, before, sample.log_prob)
        return advance


class RecordedBeamSearch(BeamSearch):
    """Beam search for one sentence, recorded: the whole beam, to the end of its last hypothesis."""

    def __init__(
        self,
        recorder: Recorder,
        options: SearchOptions,
        rules: Rules = NO_RULES,
        attend: Attend | None = None,
    ) -> None:
        """Tell this recorder; the rest as in `BeamSearch`."""
        super().__init__(options, rules, attend)
        self.recorder = recorder
        self.drops_hopeless = False

    def begin(self, slots: Sequence[int], requests: Sequence[Request]) -> None:
        """Start the sentence."""
        super().begin(slots, requests)
        self.recorder.begin()

    def _candidates(
        self, logits: Float[Tensor, "R V"], sentence: Ints, copy: Ints
    ) -> tuple[Floats, Ints]:
        copies = copy.tolist()
        only = [self.requests[0].only_choice(int(self.steps[0]))] * len(copies)
        pasts = self._pasts(sentence, copy) if self.rules else ()
        self.recorder.look(copies, logits, only, self.rules, pasts)
        found, pieces = super()._candidates(logits, sentence, copy)
        for row, own in enumerate(copies):
            self.recorder.count_for(own, pieces[row], found[row])
        return found, pieces

    def _rank(self, totals: Floats, ids: Ints, width: int) -> Ints:
        best = super()._rank(totals, ids, width)
        possible = [place for place in best[0].tolist() if totals[0, place] > -math.inf]
        self.recorder.now.ranks = {
            (place // width, int(ids[0, place])): (rank, float(totals[0, place]))
            for rank, place in enumerate(possible, 1)
        }
        return best

    def _keep(self, row: int, copy: int, log_prob: float, *, complete: bool = True) -> None:
        super()._keep(row, copy, log_prob, complete=complete)
        now = self.recorder.now
        (now.ended if complete else now.stopped).append(copy)

    def _go_on(self, totals: np.ndarray, parents: Ints, pieces: Ints) -> None:
        self.recorder.now.living = {
            copy: ((int(parents[0, copy]), int(pieces[0, copy])), float(total))
            for copy, total in enumerate(totals[0].tolist())
            if total > -math.inf
        }
        self.recorder.close_step()
        super()._go_on(totals, parents, pieces)

    def _give_back(self, parents: Ints) -> Advance:
        finished = self.finished[0]
        advance = super()._give_back(parents)
        if advance.finished:
            self.recorder.close(finished.hypotheses)
        return advance


class RecordedTermsBeamSearch(RecordedBeamSearch, TermsBeamSearch):
    """Beam search with terms for one sentence, recorded."""


def record_search(
    engine: Engine,
    recorder: Recorder,
    options: SearchOptions,
    *,
    attend: Attend | None = None,
    banned: Rule | None = None,
) -> list[Hypothesis]:
    """Search for the recorder's sentence; return what any search returns, best first.

    Raises ConfigError where several samples are drawn or the beam has groups: of these there is no
    record.
    """
    search = _build(recorder, options, attend, banned)
    with torch.inference_mode():
        ((_, hypotheses),) = run_search(engine, search, [(0, recorder.request)], slots=1)
    return hypotheses


def _build(
    recorder: Recorder, options: SearchOptions, attend: Attend | None, banned: Rule | None
) -> Search:
    if options.groups > 1 or (options.sampling and (options.n_best > 1 or recorder.request.terms)):
        raise ConfigError(
            "The beam has groups, or several samples are drawn, or one with terms; of these there "
            "is no record.",
            "Leave out groups and terms, and draw one sample.",
        )
    rules = rules_of(options)
    if banned is not None:
        rules = rules.and_forbid(banned)
    if options.sampling:
        return RecordedSamplingSearch(recorder, options, options.sampling, rules, attend)
    kind = RecordedBeamSearch
    if recorder.request.terms:
        kind = RecordedTermsBeamSearch
    elif options.beam_size == 1:
        kind = RecordedGreedySearch
    return kind(recorder, options, rules, attend)


def _decided(
    recorder: Recorder, advance: Advance, ids: Sequence[int], before: float, after: float
) -> None:
    """Record what the only hypothesis took; before, after: its log-probability."""
    now = recorder.now
    if not now.looks[0].counted:
        now.stopped.append(0)
    else:
        piece = END_ID if advance.finished else ids[-1]
        # What was drawn need not be among the pieces that were looked at.
        total = before + now.looks[0].counted.setdefault(piece, after - before)
        now.ranks[0, piece] = (1, total)
        if advance.finished:
            now.ended.append(0)
        else:
            now.living[0] = ((0, piece), total)
    recorder.close_step()
    for _, hypotheses in advance.finished:
        recorder.close(hypotheses)
