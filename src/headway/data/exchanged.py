"""Find lines on the wrong side of parallel text, by their language."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from headway.data.corpus import Pair
from headway.data.finding import Finding, on_lines
from headway.data.two_languages import TwoLanguages

_MOST = 0.7  # share of the clear pairs, above which the whole text is exchanged
_FEWEST = 3  # clear pairs that are needed


def on_the_wrong_side(pairs: Sequence[Pair], languages: TwoLanguages | None) -> list[Finding]:
    """Return the lines with exchanged sides, and those with a side in the other's language.

    languages: learned from these pairs or from training text; None if they cannot be told apart.
    A finding may have no lines.
    """
    if languages is None:
        return []
    judged = languages.judge(pairs)
    return [
        on_lines("exchanged", "source and target seem exchanged", _lines(judged.exchanged)),
        on_lines(
            "wrong-language-source",
            "source seems to be in the language of the targets",
            _lines(judged.wrong(0)),
        ),
        on_lines(
            "wrong-language-target",
            "target seems to be in the language of the sources",
            _lines(judged.wrong(1)),
        ),
    ]


def exchanged_as_a_whole(
    pairs: Sequence[Pair], languages: TwoLanguages | None, where: str = "training text"
) -> list[Finding]:
    """Return a finding if most lines have their sides exchanged.

    languages: those of the text that these pairs should resemble. where: the name of that text.
    """
    if languages is None:
        return []
    judged = languages.judge(pairs)
    is_exchanged = judged.tells & (judged.unshared.sum(axis=0) < 0)
    if judged.tells.sum() < _FEWEST or is_exchanged.sum() < _MOST * judged.tells.sum():
        return []
    problem = f"source and target seem exchanged in the whole text, as {where} has them"
    return [on_lines("exchanged-files", problem, _lines(is_exchanged))]


def _lines(is_meant: NDArray[np.bool_]) -> list[int]:
    return (np.flatnonzero(is_meant) + 1).tolist()
