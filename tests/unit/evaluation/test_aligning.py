"""Alignments of given pairs: what a single pass says, in every layer, in any batch."""

import copy
from dataclasses import replace
from typing import Any

import pytest
import torch

import headway
from headway.bundle import Bundle
from headway.config.decoding import DecodingConfig
from headway.config.model import ModelConfig
from headway.data.tokenizer import END_ID, START_ID, train_tokenizer
from headway.data.words import number_words
from headway.decoding.alignment import word_alignment
from headway.decoding.translator import TextTranslator
from headway.errors import ConfigError, DataError
from headway.evaluation.aligning import Reading, align_by, align_pairs, all_readings, usual_reading
from headway.model.attention import MultiHeadAttention
from headway.model.probe import listening

KOREAN = ["너는 학교에 갑니다. 나는 집에 갑니다.", "", "나는 학생입니다.", "고양이가 앉았다"]
ENGLISH = ["You go to school.", "the cat sat on the mat", "I am a student.", ""]


@pytest.fixture(scope="module")
def bundle(build: Any) -> Bundle:
    source = train_tokenizer(KOREAN, kind="bpe", vocabulary_size=60)
    target = train_tokenizer(ENGLISH, kind="bpe", vocabulary_size=50)
    sizes = {
        "source_vocab_size": len(source), "target_vocab_size": len(target),
        "shared_embeddings": "none",
    }  # fmt: skip
    layers = {"num_encoder_layers": 1, "num_decoder_layers": 3}
    widths = {"d_model": 14, "d_ff": 19, "num_heads": 3, "d_k": 5, "d_v": 4}
    config = ModelConfig.parse(widths | sizes | layers)
    return Bundle(config, build(3, **sizes, **layers), source, target, DecodingConfig())


def by_trace(bundle: Bundle, source: str, target: str, reading: Reading) -> tuple:
    """Align one pair with a trace of one ordinary pass."""
    source_ids = [*bundle.source_tokenizer.encode(source), END_ID]
    target_ids = [START_ID, *bundle.target_tokenizer.encode(target)]
    with torch.no_grad(), headway.trace(bundle.model) as seen:
        bundle.model(torch.tensor([source_ids]), torch.tensor([target_ids]))
    weights = seen[f"decoder.layers.{reading.layer}.cross_attention.weights"][0]
    weights = weights.mean(0) if reading.head is None else weights[reading.head]
    first = 1 if reading.moment == "read" else 0
    return word_alignment(
        weights[first : first + len(target_ids) - 1, :-1],
        number_words(bundle.source_tokenizer, source),
        number_words(bundle.target_tokenizer, target),
    )


@pytest.mark.parametrize("batch_tokens", [1, 4096])
def test_every_reading_is_that_of_a_single_pass(bundle: Bundle, batch_tokens: int) -> None:
    readings = all_readings(bundle.model)
    assert readings == [Reading(n, m) for n in range(3) for m in ("written", "read")]

    found = align_by(bundle, KOREAN, ENGLISH, readings, batch_tokens)

    for reading in readings:
        expected = [
            by_trace(bundle, source, target, reading)
            for source, target in zip(KOREAN, ENGLISH, strict=True)
        ]
        assert found[reading] == expected
        assert [len(alignment) for alignment in expected] == [4, 0, 4, 0]
    assert len({tuple(alignments) for alignments in found.values()}) > 1
    assert not listening()


def test_the_default_is_the_last_layer_while_a_piece_is_written(bundle: Bundle) -> None:
    readings = align_by(bundle, KOREAN, ENGLISH, [Reading(2), Reading(0, "read")])

    assert align_pairs(bundle, KOREAN, ENGLISH) == readings[Reading(2)]
    assert (
        align_pairs(TextTranslator(bundle), KOREAN, ENGLISH, layer=0, moment="read")
        == (readings[Reading(0, "read")])
    )


def test_a_bundle_names_the_head_that_aligns(bundle: Bundle) -> None:
    named = replace(
        bundle, decoding=bundle.decoding.replace({"alignment_layer": 1, "alignment_head": 2})
    )
    guided = Reading(1, "written", 2)
    heads = [Reading(layer, "written", head) for layer in range(3) for head in range(3)]
    readings = align_by(bundle, KOREAN, ENGLISH, [*heads, Reading(0)])

    assert usual_reading(named) == usual_reading(named, 1) == guided
    assert align_pairs(named, KOREAN, ENGLISH) == readings[guided]
    assert align_pairs(named, KOREAN, ENGLISH, layer=0) == readings[Reading(0)]
    for reading in heads:
        for source, target, alignment in zip(KOREAN, ENGLISH, readings[reading], strict=True):
            assert alignment == by_trace(bundle, source, target, reading)
    assert len({tuple(alignments) for alignments in readings.values()}) > 2
    wrong = replace(bundle, decoding=bundle.decoding.replace({"alignment_head": 9}))
    with pytest.raises(ConfigError, match="The head is 9, but a layer has heads 0 to 2"):
        align_pairs(wrong, KOREAN, ENGLISH)


def test_a_translation_is_aligned_as_it_was_when_it_was_made(bundle: Bundle) -> None:
    translator = TextTranslator(bundle)
    translations = translator.translate(KOREAN, attention=True, beam_size=2, split_sentences=False)
    # A text may be cut into other pieces than it was made of.
    same = [
        (source, translation)
        for source, translation in zip(KOREAN, translations, strict=True)
        if tuple(bundle.target_tokenizer.pieces(bundle.target_tokenizer.encode(translation.text)))
        == translation.pieces
        and translation.pieces
    ]
    assert same

    ours = align_pairs(translator, [s for s, _ in same], [t.text for _, t in same])

    assert ours == [translation.alignment for _, translation in same]


def test_an_attention_that_does_not_tell_its_weights_is_named(bundle: Bundle) -> None:
    class Silent(MultiHeadAttention):
        def forward(self, query: torch.Tensor, *_: Any, **__: Any) -> torch.Tensor:
            return query

    changed = copy.deepcopy(bundle)
    changed.model.decoder.layers[1].cross_attention = Silent(14, 2)

    with pytest.raises(
        ConfigError, match=r"layers\.1\.cross_attention, of class .*Silent, does not"
    ):
        align_pairs(changed, KOREAN, ENGLISH)


def test_nothing_to_align_is_no_alignment(bundle: Bundle) -> None:
    assert align_pairs(bundle, [], []) == []
    assert align_pairs(bundle, [" "], [" "]) == [()]


def test_what_does_not_go_is_said(bundle: Bundle) -> None:
    with pytest.raises(ConfigError, match="attention_layer is 3, but the decoder has layers 0 to"):
        align_pairs(bundle, KOREAN, ENGLISH, layer=3)
    with pytest.raises(ConfigError, match=r"no moment 'red'.*Did you mean 'read'"):
        align_pairs(bundle, KOREAN, ENGLISH, moment="red")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="4 sources and 1 targets"):
        align_pairs(bundle, KOREAN, ENGLISH[:1])
