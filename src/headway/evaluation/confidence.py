"""Calibrate the confidence in translations, on text that the model was not trained on."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import NDArray

from headway.data.corpus import Pair
from headway.decoding.confidence import Confidence
from headway.decoding.translation import Translation
from headway.decoding.translator import TextTranslator
from headway.evaluation.comparing import sentence_chrf

WITHIN_REACH = 50.0
"""The chrF from which a translation is within reach of its reference.

There it has half of the words of the reference, on Multi30k (51 % on average from 48 to 52).
"""
FEWEST = 100
"""Translated sentences, below which there is no calibration."""
_NONSENSE = 100
_RIDGE = 0.01
_BINS = 10

Numbers = Float[NDArray[np.float64], "N"]
Truths = Bool[NDArray[np.bool_], "N"]


def measured_confidence(
    translator: TextTranslator, pairs: Sequence[Pair], translations: Sequence[Translation]
) -> dict[str, Any] | None:
    """Return the calibration of a model for the record of its bundle.

    translations: those of the sources of the pairs, each taken as one sentence. They are joined by
    those of nonsense, which are out of any reach: a model that is always right on its own text
    would not learn from that what it cannot do. Returns None for fewer than 100 pairs with text in
    one part.
    """
    single = [
        (pair, translation)
        for pair, translation in zip(pairs, translations, strict=True)
        if pair.source.strip() and translation.num_parts == 1
    ]
    if len(single) < FEWEST:
        return None
    nonsense = shuffled_letters(
        [pair.source for pair, _ in single[:: -(-len(single) // _NONSENSE)]], translator.bundle.tags
    )
    senseless = translator.translate(nonsense, split_sentences=False)
    texts = [translation.text for _, translation in single]
    chrf = np.array(sentence_chrf(texts, [pair.target for pair, _ in single]))
    within = np.concatenate([chrf >= WITHIN_REACH, np.zeros(len(senseless), bool)])
    calibration = fitted([*(translation for _, translation in single), *senseless], within)
    return {
        "bias": calibration.bias,
        "score": calibration.score,
        "length": calibration.length,
        "chrf": WITHIN_REACH,
        "sentences": len(single),
        "nonsense": len(senseless),
        "within_reach": round(float(within[: len(single)].mean()), 4),
    }


def shuffled_letters(texts: Sequence[str], tags: Sequence[str] = ()) -> list[str]:
    """Return the texts with their letters in random order, across all texts; spaces stay.

    tags: words that stay at the beginning of a text. The order is the same in every call.
    """
    split = [_without_tags(text, tags) for text in texts]
    letters = [letter for _, text in split for letter in text if not letter.isspace()]
    order = iter(np.random.default_rng(0).permutation(len(letters)))
    return [
        begin + "".join(c if c.isspace() else letters[next(order)] for c in text)
        for begin, text in split
    ]


def _without_tags(text: str, tags: Sequence[str]) -> tuple[str, str]:
    """Return the tags that begin a text, with their spaces, and the rest."""
    remaining = text
    while (word := remaining.split(maxsplit=1)[:1]) and word[0] in tags:
        remaining = remaining[remaining.index(word[0]) + len(word[0]) :]
    return text[: len(text) - len(remaining)], remaining


def fitted(translations: Sequence[Translation], within: Sequence[bool] | Truths) -> Confidence:
    """Return the calibration that makes these facts most probable; deterministic.

    Both outcomes count as seen once more than they were (Platt 1999, section 2.2), so that the
    confidence is never 0 or 1.
    """
    log_probs = np.array([t.hypotheses[0].log_prob for t in translations])
    counts = np.array([len(t.pieces) + 1.0 for t in translations])
    columns = np.stack([np.ones(len(counts)), log_probs / counts, np.log(counts)], axis=1)
    seen = np.asarray(within, bool)
    targets = np.where(seen, (seen.sum() + 1) / (seen.sum() + 2), 1 / ((~seen).sum() + 2))
    weights = _logistic(columns, targets)
    if weights[1] < 0:  # a model whose probabilities say nothing
        weights = np.insert(_logistic(columns[:, ::2], targets), 1, 0.0)
    return Confidence(*(float(f"{weight:.6g}") for weight in weights))


def _logistic(columns: Float[NDArray[np.float64], "N K"], targets: Numbers) -> NDArray[np.float64]:
    """Return the K weights of a logistic regression, by Newton's method with short steps."""
    weights = np.zeros(columns.shape[1])
    penalty = np.diag([1e-9] + [_RIDGE] * (len(weights) - 1))  # not on the first, the bias
    for _ in range(100):
        values = (1 + np.tanh(columns @ weights / 2)) / 2
        gradient = columns.T @ (values - targets) + penalty @ weights
        curvature = (columns.T * (values * (1 - values))) @ columns + penalty
        step = np.linalg.solve(curvature, gradient)
        largest = float(abs(step).max())
        weights = weights - step * min(1.0, 5 / max(largest, 1e-300))
        if largest < 1e-9:
            break
    return weights


def calibration_error(confidences: Sequence[float], within: Sequence[bool]) -> float:
    """Return the expected calibration error in ten bins of equal width (Guo et al. 2017).

    It is the mean distance between the confidence of a bin and the share within reach there,
    weighted by the sentences of each bin.
    """
    values, seen = np.array(confidences), np.array(within, float)
    bins = np.minimum((values * _BINS).astype(int), _BINS - 1)
    errors = (abs((values[bins == k] - seen[bins == k]).sum()) for k in range(_BINS))
    return float(sum(errors)) / len(values)
