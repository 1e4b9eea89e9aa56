"""A traced sentence against the limits of what its model knows."""

import math

from headway.bundle import Bundle
from headway.decoding.familiarity import Familiarity
from headway.inspection.steps import target_rows
from headway.inspection.trace import Trace


def is_unfamiliar_trace(bundle: Bundle, trace: Trace, forced: bool = False) -> bool:
    """Return True if a sentence is beyond what a calibrated model knows.

    The target of the trace must be the translation that the model's search finds, because the
    limits are those of such translations. Without limits no sentence is beyond them. forced: the
    search was given a prefix, so only the source is judged.
    """
    familiarity, sentence = Familiarity.of(bundle), trace.sentence
    if familiarity is None or sentence is None:
        return False
    rows = target_rows(trace)
    log_prob = 0.0 if forced else sum(math.log(max(row.probability, 1e-30)) for row in rows)
    source = sentence.source_ids[:-1]  # without the end symbol
    doubt = familiarity.doubt(bundle.source_tokenizer, source, log_prob, len(rows))
    return doubt > familiarity.limit
