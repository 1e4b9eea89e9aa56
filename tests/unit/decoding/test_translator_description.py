"""A translator, its bundle and a translation say what they are where they are printed."""

from typing import Any

import pytest

from headway.bundle import Bundle
from headway.config.model import ModelConfig
from headway.data.tokenizer import train_tokenizer
from headway.decoding.translator import TextTranslator
from headway.model.transformer import Transformer


@pytest.fixture
def bundle(tiny: Transformer, sizes: dict[str, Any]) -> Bundle:
    text = " ".join("abcdefghijklmnopqr")
    tokenizer = train_tokenizer([text], kind="char", vocabulary_size=sizes["source_vocab_size"])
    assert len(tokenizer) == sizes["source_vocab_size"]
    return Bundle(ModelConfig.parse(sizes), tiny, tokenizer, tokenizer)


def test_what_is_printed_says_languages_sizes_and_how_it_computes(bundle: Bundle) -> None:
    translator = TextTranslator(bundle, engine="reference")
    parameters = sum(weights.numel() for weights in bundle.model.parameters())
    shown = repr(translator)
    assert shown.startswith("TextTranslator(source to target, ")
    assert f"width {bundle.config.d_model}, {parameters:,} parameters" in shown
    assert shown.endswith("reference engine, float32, cpu)")
    assert "packed engine, int8" in repr(TextTranslator(bundle, precision="int8"))
    chosen = TextTranslator(bundle, precision="auto").engine.backend.precision  # type: ignore
    assert f"packed engine, {chosen}, " in repr(TextTranslator(bundle, precision="auto"))
    assert "ensemble of 2 models" in repr(TextTranslator(bundle, ensemble=[bundle]))
    assert repr(bundle).startswith("Bundle(source to target, ")
    assert len(repr(bundle)) < 200


def test_a_translation_shows_its_text_and_what_is_to_be_known(bundle: Bundle) -> None:
    found = TextTranslator(bundle).translate("a b")
    shown = repr(found)
    assert shown.startswith(f"Translation(text={found.text!r}, score={found.score!r}, num_parts=")
    assert f"complete={found.complete}, unknown_pieces={found.unknown_pieces}, " in shown
    assert "pieces=(" not in shown
    assert "hypotheses=" not in shown


@pytest.mark.parametrize("name", ["beam", "num_beams", "nbest", "prefx"])
def test_a_wrong_argument_is_answered_with_the_right_one(bundle: Bundle, name: str) -> None:
    with pytest.raises(TypeError, match=f"no argument '{name}'. Did you mean '"):
        TextTranslator(bundle).translate("a", **{name: 2})  # type: ignore[call-overload]


def test_an_option_of_the_search_is_answered_with_its_place(bundle: Bundle) -> None:
    with pytest.raises(TypeError, match=r"Did you mean 'options=SearchOptions\(max_length=…\)'"):
        TextTranslator(bundle).translate("a", max_length=2)  # type: ignore[call-overload]


def test_loading_is_answered_too() -> None:
    with pytest.raises(TypeError, match=r"load\(\) has no argument 'precison'. Did you mean 'prec"):
        TextTranslator.load("x", precison="int8")  # type: ignore[call-arg]
