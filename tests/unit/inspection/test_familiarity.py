"""A trace is beyond what a model knows if the translation of its sentence is."""

from dataclasses import replace

import pytest

from headway.decoding.familiarity import FAMILIARITY, Familiarity, pairs_within_words
from headway.inspection.familiarity import is_unfamiliar_trace
from headway.inspection.translator import Translator

from .conftest import Make

SOURCE = "나는 너를 본다 ."


@pytest.mark.parametrize("margin", [-1e-3, 1e-3])
@pytest.mark.parametrize("source", [SOURCE, "나는 龍 본다 ."])
def test_a_trace_agrees_with_the_translation(make: Make, margin: float, source: str) -> None:
    translator = make()
    tokenizer = translator.bundle.source_tokenizer
    best = translator.translate(SOURCE, mend_runaways=False).hypotheses[0]
    pairs = frozenset(pairs_within_words(tokenizer, tokenizer.encode(SOURCE)))
    limit = -best.log_prob / (len(best.pieces) + 1) + margin
    record = {FAMILIARITY: Familiarity(limit, pairs).record()}
    calibrated = Translator(replace(translator.bundle, record=record), engine="reference")

    beyond = is_unfamiliar_trace(calibrated.bundle, calibrated.trace(source))

    assert beyond == (margin < 0 or source != SOURCE)
    plain = calibrated.translate(source, mend_runaways=False)
    assert beyond == (plain.unfamiliar_parts == 1)
    begun = calibrated.trace(source, prefix=translator.bundle.target_tokenizer.decode([9]))
    assert is_unfamiliar_trace(calibrated.bundle, begun, forced=True) == (source != SOURCE)
    assert not is_unfamiliar_trace(translator.bundle, translator.trace(source))
