"""Coverage penalty (Wu et al. 2016, section 7) for translations that omit parts of the source.

The penalty is never above 0, so the score without it is an upper bound of the score with it. The
attention is therefore computed only if it decides whether a sentence is done (`Finished`).
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from headway.decoding.attention import Attend
from headway.decoding.hypothesis import Hypothesis, best_first
from headway.decoding.options import SearchOptions
from headway.decoding.request import Request
from headway.errors import ConfigError


def coverage_penalty(weights: Float[Tensor, "T S"], beta: float) -> float:
    """Compute beta * sum_i log(min(sum_j p_ij, 1)) (Wu et al. 2016, equation 14).

    p_ij is the attention of target piece j, the end symbol included, to source piece i. The last
    column, the end symbol of the source, needs no translation and is left out. A piece without any
    attention counts with the smallest number of float32, a penalty of about -87 beta, so that
    scores stay finite.

    >>> weights = torch.tensor([[0.5, 0.25, 0.25], [1.0, 0.0, 0.0]])
    >>> round(coverage_penalty(weights, 0.2), 4)  # 0.2 * (log 1 + log .25)
    -0.2773
    """
    covered = weights[:, :-1].double().sum(dim=0)  # (S - 1,)
    smallest = torch.finfo(torch.float32).tiny
    return beta * float(covered.clamp(smallest, 1.0).log().sum())


class Coverage:
    """Add the coverage penalty of the options to the scores of hypotheses."""

    def __init__(self, options: SearchOptions, attend: Attend | None) -> None:
        """Use the attention of `attend`, which is never called without a penalty."""
        self.beta = options.coverage_penalty
        self.attend = attend
        if self.beta and attend is None:
            raise ConfigError(
                f"coverage_penalty is {self.beta}, but the search has no attention.",
                "Give the search `attend`, an AttentionReader of the model.",
            )

    def count(self, request: Request, hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
        """Return the hypotheses of one sentence with the penalty added to their scores."""
        if not self.beta or self.attend is None or not hypotheses:
            return list(hypotheses)
        targets = [request.pieces(h.ids) for h in hypotheses]
        all_weights = self.attend(request.source_ids, targets)
        return [
            h._replace(score=h.score + coverage_penalty(weights, self.beta))
            for h, weights in zip(hypotheses, all_weights, strict=True)
        ]


class Finished:
    """The finished hypotheses of one sentence, in order of completion."""

    def __init__(self, request: Request, coverage: Coverage) -> None:
        """Collect for this sentence."""
        self.request = request
        self.coverage = coverage
        self.hypotheses: list[Hypothesis] = []
        self.counted = 0  # this many, the first ones, have their coverage in the score

    def __len__(self) -> int:
        """Return the number of hypotheses."""
        return len(self.hypotheses)

    def add(self, hypothesis: Hypothesis) -> None:
        """Add a hypothesis, whose score is without coverage."""
        self.hypotheses.append(hypothesis)

    def best_first(self) -> list[Hypothesis]:
        """Return all hypotheses, ranked by their scores with coverage."""
        self._count()
        return best_first(self.hypotheses)

    def would_take(self, score: float, rank: int) -> bool:
        """Return True if this score would be among the first `rank`.

        Coverage lowers scores. It is counted only if the answer without it is no.
        """
        if score > best_first(self.hypotheses)[rank - 1].score:
            return True
        return self._count() and score > best_first(self.hypotheses)[rank - 1].score

    def perhaps_best(self) -> list[Hypothesis]:
        """Return those that can be the best: all whose coverage is unknown, and the best other."""
        num_counted = len(self.hypotheses) if not self.coverage.beta else self.counted
        return [*best_first(self.hypotheses[:num_counted])[:1], *self.hypotheses[num_counted:]]

    def _count(self) -> bool:
        """Add the coverage of new hypotheses; return True if a score changed."""
        fresh = self.hypotheses[self.counted :]
        counted = self.coverage.count(self.request, fresh)
        self.hypotheses[self.counted :] = counted
        self.counted = len(self.hypotheses)
        return counted != fresh
