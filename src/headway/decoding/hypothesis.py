"""A candidate translation in a search."""

from collections.abc import Iterable
from typing import NamedTuple


class Hypothesis(NamedTuple):
    """Pieces with their score; the score includes the end symbol, the ids do not."""

    ids: tuple[int, ...]
    log_prob: float
    """Sum of the log-probabilities of all pieces and of the end symbol."""
    score: float
    """log_prob divided by the length penalty, plus the coverage penalty; higher is better."""
    complete: bool = True
    """False if the output limit forced the end symbol, or rules forbade every piece."""


def best_first(hypotheses: Iterable[Hypothesis]) -> list[Hypothesis]:
    """Return the hypotheses by score, highest first; equal scores keep their order."""
    return sorted(hypotheses, key=lambda hypothesis: hypothesis.score, reverse=True)
