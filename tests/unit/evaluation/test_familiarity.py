"""Limits of what a model knows, measured on held-out text."""

from dataclasses import replace

import pytest
import torch

from headway.bundle import Bundle
from headway.config.decoding import DecodingConfig
from headway.config.model import Architecture
from headway.data.tokenizer import train_tokenizer
from headway.decoding.familiarity import FAMILIARITY, Familiarity, pairs_within_words
from headway.decoding.translator import TextTranslator
from headway.errors import DataError
from headway.evaluation.familiarity import FALSE_ALARMS, measured_familiarity
from headway.model.transformer import Transformer

TRAINING = ["the cat sat", "a dog ran", "the dog sat on a mat"]
HELD_OUT = [f"the {who} {did}" for who in ("cat", "dog", "mat") for did in ("sat", "ran", "at")]


@pytest.fixture(scope="module")
def translator() -> TextTranslator:
    tokenizer = train_tokenizer(TRAINING, kind="char", vocabulary_size=30)
    torch.manual_seed(3)
    sizes = {"d_model": 6, "d_ff": 7, "num_heads": 2, "num_encoder_layers": 1,
             "num_decoder_layers": 1}  # fmt: skip
    config = Architecture.parse(sizes).with_vocabulary(len(tokenizer))
    model = Transformer.from_config(config).eval()
    decoding = DecodingConfig.parse({"beam_size": 2, "max_extra_pieces": 3})
    return TextTranslator(Bundle(config, model, tokenizer, tokenizer, decoding), "reference")


def test_held_out_text_is_within_the_measured_limits(translator: TextTranslator) -> None:
    record = measured_familiarity(translator, TRAINING, HELD_OUT)
    assert record["held_out"] == len(HELD_OUT)
    assert record["false_alarms"] <= FALSE_ALARMS

    bundle = replace(translator.bundle, record={FAMILIARITY: record})
    calibrated = TextTranslator(bundle, "reference")
    plain = calibrated.translate(HELD_OUT, mend_runaways=False, split_sentences=False)
    flags = [t.unfamiliar_parts for t in plain]
    assert sum(flags) == round(record["false_alarms"] * len(HELD_OUT))
    assert calibrated.translate("the ü").unfamiliar_parts == 1


@pytest.mark.parametrize("held_out", [[], ["ü", "the ä"]])
def test_text_of_unknown_tokens_decides_no_limit(
    translator: TextTranslator, held_out: list[str]
) -> None:
    with pytest.raises(DataError, match="has tokens that the model does not know"):
        measured_familiarity(translator, TRAINING, held_out)


def test_the_pairs_are_those_of_the_training_text(translator: TextTranslator) -> None:
    tokenizer = translator.bundle.source_tokenizer
    record = measured_familiarity(translator, TRAINING, HELD_OUT)
    limits = Familiarity.of(replace(translator.bundle, record={FAMILIARITY: record}))
    assert limits is not None
    assert limits.pairs == {
        pair for text in TRAINING for pair in pairs_within_words(tokenizer, tokenizer.encode(text))
    }
