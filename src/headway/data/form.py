"""Compare the form of two texts: spaces before punctuation, capitals, and end marks."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headway.data.corpus import Pair
from headway.data.finding import Finding, on_lines

_MOST = 20_000  # pairs that show the form of a text, chosen evenly
_FEWEST = 50  # lines of each text that are needed
_OTHER_SHARE = 0.3  # two texts differ if their shares of lines differ by more
_TIMES, _FEW_CAPITALS = 4.0, 0.01  # how many times as many capitals, and which share at least
# French has a space before ! ? : ; but only tokenized text has one before these.
_APART = re.compile(r"\S\s+[.,](?=\s|$)")
_ATTACHED = re.compile(r"\w[.,](?=\s|$)")
_ENDED = re.compile(r"[.!?…。！？।؟۔።]['\"”’»›)\]」』\s]*$")


class _Lines(NamedTuple):
    """Properties of each line of one side; nan if a line does not show one."""

    tokenized: NDArray[np.float64]
    """1 if a period or comma follows a space, 0 if it follows a word."""
    capitals: NDArray[np.float64]
    """How many letters are capitals."""
    letters: NDArray[np.float64]
    """How many letters have a case."""
    ended: NDArray[np.float64]
    """1 if the line ends in an end mark, 0 if it does not."""

    @property
    def capital_share(self) -> float:
        """Return the share of capitals among the letters that have a case; 0 without any."""
        return _ratio(self.capitals.sum(), self.letters.sum())


class Form:
    """The form of both sides of usual text."""

    def __init__(self, pairs: Sequence[Pair]) -> None:
        """Look at 20,000 of the pairs at most."""
        chosen = pairs[:: -(-len(pairs) // _MOST) or 1]
        self.sides = [_look([pair[side] for pair in chosen]) for side in (0, 1)]

    def unlike(self, pairs: Sequence[Pair]) -> list[Finding]:
        """Return how the form of other text differs from that of this training text."""
        findings = []
        for side, name in enumerate(("source", "target")):
            here = _look([pair[side] for pair in pairs])
            findings += _compared(name, self.sides[side], here)
        return findings


def _compared(side: str, usual: _Lines, here: _Lines) -> Iterator[Finding]:
    for id, words, lines_before, lines_now in (
        ("tokenized", "with a space before . and ,", usual.tokenized, here.tokenized),
        ("end-marks", "with an end mark such as . or ?", usual.ended, here.ended),
    ):
        seen_before = lines_before[~np.isnan(lines_before)]
        seen_now = lines_now[~np.isnan(lines_now)]
        if min(len(seen_before), len(seen_now)) < _FEWEST:
            continue
        now, before = float(seen_now.mean()), float(seen_before.mean())
        if abs(now - before) > _OTHER_SHARE:
            problem = f"{side} {words} in {now:.0%} of lines (training text: {before:.0%})"
            yield on_lines(f"{id}-{side}", problem, _lines(lines_now == (now > before)))
    least = min((usual.letters > 0).sum(), (here.letters > 0).sum())
    now, before = here.capital_share, usual.capital_share
    if least >= _FEWEST and max(now, before) > max(_FEW_CAPITALS, _TIMES * min(now, before)):
        problem = f"{side} with {now:.1%} of its letters capitalized (training text: {before:.1%})"
        more = here.capitals > (now + before) / 2 * here.letters
        is_meant = (here.letters > 0) & (more == (now > before))
        yield on_lines(f"capitals-{side}", problem, _lines(is_meant))


def _look(texts: Sequence[str]) -> _Lines:
    texts = [text.strip() for text in texts]
    return _Lines(
        np.array([_tokenized(text) for text in texts], dtype=np.float64),
        np.array([sum(map(str.isupper, text)) for text in texts], dtype=np.float64),
        np.array([sum(map(_has_case, text)) for text in texts], dtype=np.float64),
        np.array([bool(_ENDED.search(text)) if text else np.nan for text in texts]),
    )


def _has_case(letter: str) -> bool:
    return letter.isupper() or letter.islower()


def _tokenized(text: str) -> float:
    if _APART.search(text):
        return 1.0
    return 0.0 if _ATTACHED.search(text) else np.nan


def _ratio(part: float, whole: float) -> float:
    return float(part / whole) if whole else 0.0


def _lines(is_meant: NDArray[np.bool_]) -> list[int]:
    return (np.flatnonzero(is_meant) + 1).tolist()
