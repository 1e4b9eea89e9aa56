"""What a shortlist costs, counted by hand and against the library's own translations."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import headway
from headway.bundle import Bundle
from headway.config.decoding import DecodingConfig
from headway.config.model import Architecture
from headway.data.shortlist import Shortlist, learn_shortlist
from headway.data.tokenizer import train_tokenizer
from headway.decoding.options import SearchOptions
from headway.decoding.translator import TextTranslator
from headway.errors import ConfigError, DataError
from headway.evaluation.shortlists import coverage, effect, with_shortlist
from headway.model.transformer import Transformer

WORDS = "a b c d e f g h"


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    tokenizer = train_tokenizer([WORDS], kind="word", vocabulary_size=20)
    config = Architecture(
        d_model=12, d_ff=17, num_heads=2, num_encoder_layers=1, num_decoder_layers=1
    ).with_vocabulary(len(tokenizer))
    torch.manual_seed(1)
    model = Transformer.from_config(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.3)
    # For every sentence `a`; for the source piece `b` also `c` and `d`, for `c` also `e`.
    lists = {"b": "c d", "c": "e"}
    found = [
        [tokenizer.id(f"▁{w}") for w in lists.get(p.removeprefix("▁"), "").split()]
        for p in tokenizer.pieces(range(len(tokenizer)))
    ]
    shortlist = Shortlist(
        np.array([0, 1, 2, 3, tokenizer.id("▁a")]),
        np.cumsum([0, *map(len, found)]),
        np.array([i for own in found for i in own]),
        len(tokenizer),
    )
    decoding = DecodingConfig(beam_size=2, max_extra_pieces=4)
    return Bundle(config, model.eval(), tokenizer, tokenizer, decoding, shortlist=shortlist)


def test_coverage_by_hand(bundle: Bundle) -> None:
    found = coverage(bundle, ["b", "b c", ""], ["a c e", "e d", "a a"])

    assert found.pieces == 3 + 2 + 2
    assert found.covered_pieces == pytest.approx((2 + 2 + 2) / 7)
    assert found.covered_sentences == pytest.approx(2 / 3)
    assert found.mean_size == pytest.approx((7 + 8 + 5) / 3)
    assert (found.largest_size, found.vocabulary, found.sentences) == (8, 12, 3)
    assert "85.71% of 7 tokens" in found.lines()[0]


def test_what_is_learned_is_that_of_the_pieces_and_stands_in_the_record(bundle: Bundle) -> None:
    sources, targets = ["a b", "b c"], ["c b", "a c"]
    encoded = [side.encode_batch for side in (bundle.source_tokenizer, bundle.target_tokenizer)]
    ids = list(zip(encoded[0](sources), encoded[1](targets), strict=True))
    numbers = {"frequent": 1, "per_piece": 2, "min_probability": 0.1}
    expected = learn_shortlist(
        ids, bundle.source_tokenizer, bundle.target_tokenizer,
        frequent=1, per_piece=2, min_probability=0.1,
    )  # fmt: skip

    found = with_shortlist(bundle, sources, targets, frequent=1, per_piece=2, min_probability=0.1)

    assert found.shortlist is not None
    assert found.shortlist.to_bytes() == expected.to_bytes()
    assert found.record["shortlist"] == {"pairs": 2, "pairs_given": 2, **numbers}
    assert "shortlist" not in bundle.record
    with pytest.raises(DataError, match="1 sources and 2 targets"):
        with_shortlist(bundle, ["a"], targets)


def test_an_unknown_piece_of_a_reference_cannot_be_written(bundle: Bundle) -> None:
    found = coverage(bundle, ["b", "b"], ["a zebra", "a"])

    assert found.covered_pieces == pytest.approx(2 / 3)
    assert found.covered_sentences == 1 / 2


def test_the_effect_is_what_the_translator_does(bundle: Bundle) -> None:
    translator = TextTranslator(bundle)
    sources, references = ["b", "b c", "d e f", ""], ["c d", "e d", "a a a", "a"]

    found = effect(translator, sources, references, metrics=["chrf", "exact"])

    free = translator.translate(sources, mend_runaways=False)
    options = replace(translator.options, shortlist=True)
    own = translator.translate(sources, mend_runaways=False, options=options)
    assert found.changed == sum(f.text != o.text for f, o in zip(free, own, strict=True)) / 4 > 0
    for scores, translations in ((found.without, free), (found.restricted, own)):
        texts = [t.text for t in translations]
        assert scores == headway.score_texts(texts, references, ["chrf", "exact"])
    assert set(own[2].text.split()) <= {"a"}
    assert set(own[1].text.split()) <= set("acde")
    assert found.as_dict()["changed"] == found.changed
    assert "chrf" in found.lines()[1]


@pytest.mark.parametrize("options", [SearchOptions(1, shortlist=True), SearchOptions(shortlist=1)])
def test_wishes_go_with_a_shortlist(bundle: Bundle, options: SearchOptions) -> None:
    translator = TextTranslator(bundle)

    (first,) = translator.translate(["b"], options=options, prefix="g")
    assert first.text.startswith("g")
    (second,) = translator.translate(["b"], options=options, banned=["c", "a"])
    assert set(second.text.split()) <= {"d"}
    (third,) = translator.translate(["b"], options=options, terms=["h f"])
    assert "h f" in third.text
    assert "".join(translator.stream("b c", options=options)) == (
        translator.translate("b c", mend_runaways=False, options=options).text
    )


def test_alternatives_are_of_the_list(bundle: Bundle) -> None:
    translator, tokenizer = TextTranslator(bundle), bundle.target_tokenizer
    options = SearchOptions(1, shortlist=True)

    found = translator.alternatives("b", ["▁h"], count=99, options=options)

    assert {a.piece for a in found} == {"▁a", "▁c", "▁d", "▁h", "</s>"}
    pieces = [*range(4), *(tokenizer.id(f"▁{w}") for w in "acdh")]
    source = torch.tensor([[*tokenizer.encode("b"), 3]])
    with torch.inference_mode():
        logits = bundle.model(source, torch.tensor([[2, tokenizer.id("▁h")]]))[0, -1, pieces]
    expected = dict(zip(tokenizer.pieces(pieces), logits.softmax(-1).tolist(), strict=True))
    for a in found:
        assert a.probability == pytest.approx(expected[a.piece], abs=1e-5)
        assert a.translation.pieces[:1] == ("▁h",)


def test_without_a_shortlist_it_is_said_what_to_do(bundle: Bundle) -> None:
    none = replace(bundle, shortlist=None)
    with pytest.raises(ConfigError, match=r"has no shortlist\. Learn one .*`headway shortlist`"):
        TextTranslator(none).translate("b", options=SearchOptions(shortlist=True))
    with pytest.raises(ConfigError, match="has no shortlist"):
        coverage(none, ["a"], ["a"])
    assert TextTranslator(none).translate("").text == ""


def test_what_cannot_be_counted_is_refused(bundle: Bundle) -> None:
    with pytest.raises(DataError, match="There are 2 sources and 1 references"):
        coverage(bundle, ["a", "b"], ["a"])
    with pytest.raises(DataError, match="The references have no token"):
        coverage(bundle, ["a"], [""])
    with pytest.raises(ConfigError, match="There is no metric 'blue'"):
        effect(TextTranslator(bundle), ["a"], ["a"], metrics=["blue"])
