"""Whether lines fit their own lines of another text better than the others, in short texts too."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from headway.data.line_words import words

FEWEST = 30
"""Lines that show it."""
MOST = 300
"""Lines that are compared with each other."""
BY_CHANCE = 4.0
"""A fit that lines by chance do not have."""

_SURE = 2.0  # standard deviations between two correlations
_PAIRED = 0.5  # a correlation of lengths that chance hardly reaches
_RUN = 4  # letters
_DIFFERENT = 0.5  # a share of different lines, below which they are labels rather than text


def evenly(lines: int, limit: int = MOST) -> list[int]:
    """Return the places of at most so many lines, at even distances."""
    return np.linspace(0, lines - 1, min(lines, limit)).astype(int).tolist()


def fit(agreement: NDArray[np.floating]) -> float:
    """Return how much better lines agree with their own lines than with those further on.

    The unit is the standard deviation of chance. agreement: (N, N), of each line with each line of
    the other text. Lines that agree with all others, such as long ones, show nothing.
    """
    lines = len(agreement)
    centred = agreement - agreement.mean(0) - agreement.mean(1)[:, None] + agreement.mean()
    places = np.arange(lines)
    means = np.array([centred[places, (places + far) % lines].mean() for far in range(lines)])
    spread = means[1:].std()
    return float(means[0] / spread) if spread > 1e-9 else 0.0


def shared_words(texts: Sequence[str], other_texts: Sequence[str]) -> NDArray[np.floating]:
    """Return the agreement of texts in one language: shared words and runs of letters, for `fit`.

    Rare ones count more.
    """
    sides = [list(map(_runs, side)) for side in (texts, other_texts)]
    known = {run: number for number, run in enumerate(sorted(set().union(*sides[1])))}
    matrices = []
    for side in sides:
        matrix = np.zeros((len(side), len(known)), dtype=np.float32)
        for row, runs in enumerate(side):
            matrix[row, [known[run] for run in runs if run in known]] = 1
        matrices.append(matrix)
    rarity = np.log(len(other_texts) / np.maximum(matrices[1].sum(0), 1))
    texts_weighed, others_weighed = (_of_length_one(matrix * rarity) for matrix in matrices)
    return texts_weighed @ others_weighed.T


def share_known(texts: Sequence[str], other_texts: Sequence[str]) -> float:
    """Return the share of the words and runs of letters that any of the other texts has."""
    known: set[str] = set().union(*map(_runs, other_texts))
    runs = [run for text in texts for run in _runs(text)]
    return sum(run in known for run in runs) / max(len(runs), 1)


def are_different(texts: Sequence[str]) -> bool:
    """Return True unless the texts are a few labels."""
    return len(set(texts)) > _DIFFERENT * len(texts)


def length_correlation(texts: Sequence[str], other_texts: Sequence[str]) -> float:
    """Return the correlation of the logarithms of lengths."""
    x, y = (np.log1p([len(text) for text in side]) for side in (texts, other_texts))
    return float(np.corrcoef(x, y)[0, 1]) if min(np.ptp(x), np.ptp(y)) > 0 else 0.0


def is_clearly_less(low: float, low_lines: int, high: float, high_lines: int) -> bool:
    """Return True if one correlation of lengths is surely lower than the other.

    By Fisher's transformation; each correlation with its number of lines.
    """
    spread = np.sqrt(1 / (low_lines - 3) + 1 / (high_lines - 3))
    difference = np.arctanh(min(high, 0.999)) - np.arctanh(min(low, 0.999))
    return bool(low < _PAIRED <= high and difference > _SURE * spread)


def _runs(text: str) -> set[str]:
    lower = text.casefold()
    return {*words(text), *(lower[start : start + _RUN] for start in range(len(lower) - _RUN + 1))}


def _of_length_one(matrix: NDArray[np.floating]) -> NDArray[np.floating]:
    return matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-9)
