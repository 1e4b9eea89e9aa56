"""Calibrate what a model knows, on text like that of its training."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from headway.decoding.familiarity import Familiarity, pairs_within_words
from headway.decoding.translator import TextTranslator
from headway.errors import DataError

FALSE_ALARMS = 0.01
"""The share of held-out text that may be beyond the limit."""


def measured_familiarity(
    translator: TextTranslator, training: Iterable[str], held_out: Sequence[str]
) -> dict[str, Any]:
    """Return the limits of a model for the record of its bundle.

    training: the sources that it was trained on. held_out: other sentences of the same kind; 1 %
    of them are beyond the limit. Raises DataError if each of them has unknown tokens.
    """
    tokenizer = translator.bundle.source_tokenizer
    encoded = tokenizer.encode_batch(training)
    pairs = frozenset(pair for ids in encoded for pair in pairs_within_words(tokenizer, ids))
    unlimited = Familiarity(float("inf"), pairs)
    translations = translator.translate(held_out, mend_runaways=False, split_sentences=False)
    doubts = np.array([
        unlimited.doubt(
            tokenizer,
            ids,
            translation.hypotheses[0].log_prob,
            len(translation.pieces) + 1,
        )
        for ids, translation in zip(tokenizer.encode_batch(held_out), translations, strict=True)
    ])  # fmt: skip
    finite_doubts = doubts[np.isfinite(doubts)]  # unknown tokens are beyond any limit
    if not len(finite_doubts):
        raise DataError(
            "Every held-out sentence has tokens that the model does not know.",
            "Give text like that of its training.",
        )
    limit = float(np.quantile(finite_doubts, 1 - FALSE_ALARMS, method="higher"))
    measured = {"held_out": len(held_out), "false_alarms": float(np.mean(doubts > limit))}
    return Familiarity(limit, pairs).record() | measured
