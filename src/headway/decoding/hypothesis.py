"""One candidate translation, as a search finds it."""

from collections.abc import Iterable
from typing import NamedTuple


class Hypothesis(NamedTuple):
    """Pieces with their score; the end symbol counts in the score and is not among the ids."""

    ids: tuple[int, ...]
    log_prob: float
    """Sum of the log-probabilities of all pieces and of the end symbol."""
    score: float
    """log_prob divided by the length penalty, plus the coverage penalty; higher is better."""
    complete: bool = True
    """False when the output limit ended it: the end symbol was forced."""


def best_first(hypotheses: Iterable[Hypothesis]) -> list[Hypothesis]:
    """Return them by score, the highest first; equal ones as they came."""
    return sorted(hypotheses, key=lambda hypothesis: hypothesis.score, reverse=True)
