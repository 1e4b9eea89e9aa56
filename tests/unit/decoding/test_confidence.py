"""The confidence of a text: that of its worst part, and None where it means nothing."""

from collections.abc import Generator
from dataclasses import replace
from typing import Any

import pytest
import torch

from headway.bundle import Bundle
from headway.config.decoding import DecodingConfig
from headway.config.model import Architecture
from headway.data.tokenizer import train_tokenizer
from headway.decoding.confidence import CONFIDENCE, UNFAMILIAR, Confidence, is_low
from headway.decoding.familiarity import FAMILIARITY, Familiarity
from headway.decoding.options import SearchOptions
from headway.decoding.translation import StreamEnd
from headway.decoding.translator import TextTranslator
from headway.model.transformer import Transformer

TEXT = "Ab ba! Ba ab ab!"
CALIBRATION = {"bias": 3.0, "score": 1.5, "length": 0.25, "sentences": 200}
PLAIN: dict[str, Any] = {"mend_runaways": False}


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    tokenizer = train_tokenizer(["Ab ba! ab", "Ba ab! ba"], kind="char", vocabulary_size=20)
    torch.manual_seed(3)
    sizes = {"d_model": 6, "d_ff": 7, "num_heads": 2, "num_encoder_layers": 1,
             "num_decoder_layers": 1}  # fmt: skip
    config = Architecture.parse(sizes).with_vocabulary(len(tokenizer))
    decoding = DecodingConfig.parse({"beam_size": 2, "max_extra_pieces": 3})
    model = Transformer.from_config(config).eval()
    return Bundle(config, model, tokenizer, tokenizer, decoding, "English")


@pytest.fixture(scope="module")
def translator(bundle: Bundle) -> TextTranslator:
    return TextTranslator(replace(bundle, record={CONFIDENCE: CALIBRATION}), "reference")


def test_it_is_that_of_the_worst_part(translator: TextTranslator) -> None:
    whole = translator.translate(TEXT, split_sentences=True)
    parts = [translator.translate(part, split_sentences=False) for part in ("Ab ba!", "Ba ab ab!")]
    calibration = Confidence.of(translator.bundle)
    assert calibration == Confidence(3.0, 1.5, 0.25)
    values = [
        calibration.value(part.hypotheses[0].log_prob, len(part.pieces) + 1) for part in parts
    ]
    assert [part.confidence for part in parts] == values
    assert whole.confidence == pytest.approx(min(values), abs=1e-6)
    assert max(values) - min(values) > 1e-4
    for part in parts:
        assert is_low(part.confidence) == ("low_confidence" in part.flags)


def test_it_is_none_where_it_means_nothing(translator: TextTranslator, bundle: Bundle) -> None:
    assert TextTranslator(bundle, "reference").translate(TEXT).confidence is None
    assert translator.translate(" ").confidence is None
    assert translator.translate("ab", prefix="b").confidence is None
    assert translator.translate("ab", terms=["b"], beam_size=2).confidence is None
    both = TextTranslator(translator.bundle, "reference", ensemble=[translator.bundle])
    assert both.translate("ab").confidence is None
    assert not is_low(None)


def test_there_is_little_in_what_the_model_does_not_know(bundle: Bundle) -> None:
    sure = {**CALIBRATION, "bias": 90.0}
    limits = Familiarity(-1.0, frozenset()).record()  # everything is beyond them
    record = {CONFIDENCE: sure, FAMILIARITY: limits}
    unfamiliar = TextTranslator(replace(bundle, record=record), "reference").translate("ab")
    assert unfamiliar.confidence == UNFAMILIAR
    assert "low_confidence" in unfamiliar.flags
    known = TextTranslator(replace(bundle, record={CONFIDENCE: sure}), "reference").translate("ab")
    assert known.confidence == pytest.approx(1.0)
    assert "low_confidence" not in known.flags


@pytest.mark.parametrize("text", [TEXT, "", "ab"])
def test_a_stream_ends_with_the_same(translator: TextTranslator, text: str) -> None:
    options, ends = SearchOptions(2), list[StreamEnd]()

    def streamed() -> Generator[str]:
        ends.append((yield from translator.stream(text, options=options)))

    list(streamed())
    plain = translator.translate(text, options=options, **PLAIN)
    assert ends[0].flags == plain.flags
    assert ends[0].confidence == (plain.confidence and pytest.approx(plain.confidence, abs=1e-6))


def test_a_calibration_holds_far_from_what_it_was_measured_on() -> None:
    calibration = Confidence(0.0, 30.0, 0.0)
    assert calibration.value(-1e6, 2) == 0
    assert calibration.value(-1e-9, 2) == pytest.approx(0.5)
