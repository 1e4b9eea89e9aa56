"""The confidence in a translation: how often one like it is within reach of its reference.

`headway train` fits it at its end, on validation text (`headway.evaluation.confidence`), and the
bundle keeps it. It is a logistic regression on two numbers: the mean log-probability of the tokens,
and the logarithm of their number.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from headway.bundle import Bundle
from headway.decoding.hypothesis import Hypothesis

CONFIDENCE = "confidence"
"""The name of the calibration in the record of a bundle."""

LOW = 0.5
"""Below it, a translation is more often out of reach than within: the flag `low_confidence`."""

UNFAMILIAR = 0.05
"""The most confidence in a part that is beyond what the model knows: the middle of the lowest
tenth."""


@dataclass(frozen=True, slots=True)
class Confidence:
    """A calibration; of two translations of one length the more probable has no less confidence."""

    bias: float
    score: float
    """Weight of the mean log-probability, at least 0."""
    length: float
    """Weight of the logarithm of the number of tokens."""

    @classmethod
    def of(cls, bundle: Bundle) -> Self | None:
        """Return the calibration of a bundle, or None if it has none."""
        values = bundle.record.get(CONFIDENCE)
        if values is None:
            return None
        return cls(*(float(values[name]) for name in ("bias", "score", "length")))

    def value(self, log_prob: float, count: int) -> float:
        """Return the confidence in a translation of one part, from 0 to 1.

        log_prob: of all `count` tokens, end included.
        """
        logit = self.bias + self.score * log_prob / count + self.length * math.log(count)
        return (1 + math.tanh(logit / 2)) / 2


def is_low(confidence: float | None) -> bool:
    """Return True for a confidence below a half."""
    return confidence is not None and confidence < LOW


def confidence_in(
    calibration: Confidence | None,
    hypotheses: Iterable[Hypothesis],
    forced: Iterable[bool],
    unfamiliar: Iterable[bool],
) -> float | None:
    """Return the least confidence in the parts of a text.

    It is None without a calibration, for a blank text, and if a prefix or terms were demanded:
    their probability says nothing about the translation.
    """
    if calibration is None or any(forced):
        return None
    values = (
        min(
            calibration.value(best.log_prob, len(best.ids) + 1),
            UNFAMILIAR if is_unfamiliar else 1.0,
        )
        for best, is_unfamiliar in zip(hypotheses, unfamiliar, strict=True)
    )
    return min(values, default=None)
