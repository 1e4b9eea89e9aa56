"""Coverage (Wu et al. 2016, section 7): a translation that leaves out some of its source loses.

The penalty is never above 0. So what a search knows of a hypothesis without it, its score so far,
is a bound for its score with it, and the pass that reads the attention is only made for sentences
that would otherwise be done, see `Finished`.
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

    p_ij is the attention of target piece j, the end symbol included, to source piece i. The end
    symbol of the source, the last column, needs no translation and is not among the i. A piece
    without any attention counts as if it had the smallest number of float32, about -87 beta: a
    score stays a number.

    >>> weights = torch.tensor([[0.5, 0.25, 0.25], [1.0, 0.0, 0.0]])
    >>> round(coverage_penalty(weights, 0.2), 4)  # 0.2 * (log 1 + log .25)
    -0.2773
    """
    covered = weights[:, :-1].double().sum(dim=0)  # (S - 1,)
    least = torch.finfo(torch.float32).tiny
    return beta * float(covered.clamp(least, 1.0).log().sum())


class Coverage:
    """Count coverage in the scores of hypotheses, where the options ask for it."""

    def __init__(self, options: SearchOptions, attend: Attend | None) -> None:
        """Use the attention that `attend` tells; without a penalty it is never asked."""
        self.beta = options.coverage_penalty
        self.attend = attend
        if self.beta and attend is None:
            raise ConfigError(
                f"coverage_penalty is {self.beta}, but nothing tells the attention.",
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
    """The hypotheses of one sentence that have ended, in the order in which they did."""

    def __init__(self, request: Request, coverage: Coverage) -> None:
        """Collect for this sentence."""
        self.request = request
        self.coverage = coverage
        self.hypotheses: list[Hypothesis] = []
        self.counted = 0  # the first so many have their coverage in the score

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.hypotheses)

    def add(self, hypothesis: Hypothesis) -> None:
        """Add one, whose score is without coverage."""
        self.hypotheses.append(hypothesis)

    def best_first(self) -> list[Hypothesis]:
        """Return all of them, ranked by their scores with coverage."""
        self._count()
        return best_first(self.hypotheses)

    def would_take(self, score: float, rank: int) -> bool:
        """Tell whether this score would be among the first `rank`.

        Scores fall when coverage is counted, so that is put off while the answer is yes anyway.
        """
        if score > best_first(self.hypotheses)[rank - 1].score:
            return True
        return self._count() and score > best_first(self.hypotheses)[rank - 1].score

    def perhaps_best(self) -> list[Hypothesis]:
        """Return those of which one is the best: all whose coverage is not known, and one more."""
        known = len(self.hypotheses) if not self.coverage.beta else self.counted
        return [*best_first(self.hypotheses[:known])[:1], *self.hypotheses[known:]]

    def _count(self) -> bool:
        """Count the coverage of those that have come since; tell whether any score changed."""
        fresh = self.hypotheses[self.counted :]
        counted = self.coverage.count(self.request, fresh)
        self.hypotheses[self.counted :] = counted
        self.counted = len(self.hypotheses)
        return counted != fresh
