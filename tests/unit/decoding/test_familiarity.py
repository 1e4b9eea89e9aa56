"""What a model knows: the doubt about a translation, and the parts of a text beyond the limit."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headway.bundle import Bundle
from headway.config.decoding import DecodingConfig
from headway.config.model import Architecture
from headway.data.tokenizer import Tokenizer, train_tokenizer
from headway.decoding.familiarity import (
    FAMILIARITY,
    NEW_PAIR,
    Familiarity,
    pairs_within_words,
)
from headway.decoding.translator import TextTranslator
from headway.model.transformer import Transformer

TEXT = ["ab ba! ab", "ba ab! ba", "a b! b a"]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(TEXT, kind="char", vocabulary_size=20)


@pytest.fixture(scope="module")
def bundle(tokenizer: Tokenizer) -> Bundle:
    torch.manual_seed(3)
    sizes = {"d_model": 6, "d_ff": 7, "num_heads": 2, "num_encoder_layers": 1,
             "num_decoder_layers": 1}  # fmt: skip
    config = Architecture.parse(sizes).with_vocabulary(len(tokenizer))
    decoding = DecodingConfig.parse({"beam_size": 2, "max_extra_pieces": 3})
    return Bundle(config, Transformer.from_config(config).eval(), tokenizer, tokenizer, decoding)


def test_pairs_are_within_words(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode("ab ba")
    words = [[tokenizer.piece(i) for i in pair] for pair in pairs_within_words(tokenizer, ids)]
    assert words == [["▁", "a"], ["a", "b"], ["▁", "b"], ["b", "a"]]


def test_doubt_is_the_mean_log_probability_and_what_is_new(tokenizer: Tokenizer) -> None:
    known = tokenizer.encode("ab ab")
    familiarity = Familiarity(1.0, frozenset(pairs_within_words(tokenizer, known)))
    assert familiarity.doubt(tokenizer, known, -0.6, 4) == pytest.approx(0.15)
    # "▁b" and "ba" are new, "▁a" is not; a pair that occurs twice is counted once.
    new = tokenizer.encode("ba ab ba")
    assert familiarity.doubt(tokenizer, new, -0.6, 4) == pytest.approx(0.15 + 2 * NEW_PAIR)
    assert familiarity.doubt(tokenizer, tokenizer.encode("aüb"), -0.1, 4) == math.inf


@given(
    st.floats(0, 100),
    st.frozensets(st.tuples(st.integers(0, 2**31), st.integers(0, 2**31)), max_size=9),
)
def test_a_record_gives_the_limits_back(limit: float, pairs: frozenset[tuple[int, int]]) -> None:
    familiarity = Familiarity(limit, pairs)
    bundle = object.__new__(Bundle)
    object.__setattr__(bundle, "record", {FAMILIARITY: familiarity.record()})
    assert Familiarity.of(bundle) == familiarity


def limited(bundle: Bundle, limit: float, text: str = "ab ba! ab") -> TextTranslator:
    tokenizer = bundle.source_tokenizer
    pairs = frozenset(pairs_within_words(tokenizer, tokenizer.encode(text)))
    record = {FAMILIARITY: Familiarity(limit, pairs).record()}
    return TextTranslator(replace(bundle, record=record), "reference")


def end_of(translator: TextTranslator, text: str, **demands: Any) -> int:
    fragments = translator.stream(text, **demands)
    while True:
        try:
            next(fragments)
        except StopIteration as end:
            return end.value.unfamiliar_parts


def test_parts_beyond_the_limit_are_counted(bundle: Bundle) -> None:
    text = "ab ba! üb ab! ba ab!"
    for limit, count in ((-1.0, 3), (math.inf, 0), (1e9, 1)):
        translator = limited(bundle, limit)
        assert translator.translate(text).unfamiliar_parts == count
        assert end_of(translator, text) == count
    assert limited(bundle, -1.0).translate("  ").unfamiliar_parts == 0
    uncalibrated = TextTranslator(bundle, "reference")
    assert uncalibrated.translate(text).unfamiliar_parts == end_of(uncalibrated, text) == 0


def test_a_forced_word_is_not_held_against_its_sentence(bundle: Bundle) -> None:
    free = TextTranslator(bundle, "reference").translate("ab ba").hypotheses[0]
    translator = limited(bundle, -free.log_prob / (len(free.pieces) + 1) + 1e-6)
    demands: list[dict[str, Any]] = [
        {"terms": ["bbab"]}, {"glossary": {"ab": "bbab"}}, {"prefix": "bbab"}
    ]  # fmt: skip
    for demand in demands:
        result = translator.translate("ab ba", **demand)
        best = result.hypotheses[0]
        assert best.log_prob / (len(best.pieces) + 1) < free.log_prob / (len(free.pieces) + 1)
        assert result.unfamiliar_parts == end_of(translator, "ab ba", **demand) == 0
        assert translator.translate("aüb ab", **demand).unfamiliar_parts == 1


def test_the_doubt_of_a_translation_decides(bundle: Bundle) -> None:
    best = TextTranslator(bundle, "reference").translate("ab ba").hypotheses[0]
    doubt = -best.log_prob / (len(best.pieces) + 1)
    assert limited(bundle, doubt + 1e-6).translate("ab ba").unfamiliar_parts == 0
    assert limited(bundle, doubt - 1e-6).translate("ab ba").unfamiliar_parts == 1
    assert limited(bundle, doubt + 1e-6, "a b").translate("ab ba").unfamiliar_parts == 1
