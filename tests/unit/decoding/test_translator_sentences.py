"""A text of several sentences: each is translated as it is alone, and nothing of it is lost."""

from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any

import pytest
import torch

from headway.bundle import Bundle
from headway.config.decoding import DecodingConfig
from headway.config.model import Architecture
from headway.data.sentences import split_sentences
from headway.data.tokenizer import Tokenizer, train_tokenizer
from headway.decoding.glossary import Glossary
from headway.decoding.options import Sampling, SearchOptions
from headway.decoding.request_maker import RequestMaker
from headway.decoding.translation import StreamEnd
from headway.decoding.translator import TextTranslator
from headway.errors import ConfigError
from headway.model.transformer import Transformer

SENTENCES = ["나는 학생입니다.", "너는 학교에 갑니다!", "I go home.", "“The cat sat.”", "You?"]
PARAGRAPH = "나는 학생입니다. 너는 학교에 갑니다!  I go home. “The cat sat.” You?"


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(
        [*SENTENCES, "我买窗户。", "school"], kind="bpe", vocabulary_size=85, symbols=["<2ko>"]
    )


@pytest.fixture(scope="module")
def translator(tokenizer: Tokenizer) -> TextTranslator:
    torch.manual_seed(5)
    config = Architecture(
        d_model=12, d_ff=17, num_heads=2, num_encoder_layers=1, num_decoder_layers=1
    ).with_vocabulary(len(tokenizer))
    model = Transformer.from_config(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.2)
    values = {"beam_size": 2, "max_extra_pieces": 4, "max_source_pieces": 24}
    decoding = DecodingConfig.parse(values)
    return TextTranslator(Bundle(config, model.eval(), tokenizer, tokenizer, decoding))


def test_a_paragraph_is_its_sentences_joined_with_their_spaces(translator: TextTranslator) -> None:
    whole = translator.translate(PARAGRAPH, attention=True)

    each = translator.translate(SENTENCES)
    assert whole.text == f"{each[0].text} {each[1].text}  " + " ".join(t.text for t in each[2:])
    assert whole.num_parts == whole.num_sentences == 5
    assert whole.score == pytest.approx(sum(t.score for t in each), abs=1e-5)
    assert whole.complete == all(t.complete for t in each)
    assert whole.unknown_pieces == sum(t.unknown_pieces for t in each)
    assert whole.empty_parts == sum(t.empty_parts for t in each)
    assert len(whole.attentions) == 5
    words = sorted(target for _, target in whole.alignment)
    assert words == list(range(len(whole.text.split())))
    assert {source for source, _ in whole.alignment} <= set(range(len(PARAGRAPH.split())))
    assert max(source for source, _ in whole.alignment) >= len(PARAGRAPH.split()) - 3


def test_a_text_is_one_sentence_where_that_is_asked_for(translator: TextTranslator) -> None:
    one = translator.translate("I go home. You?", mend_runaways=False, split_sentences=False)

    assert (one.num_parts, one.num_sentences) == (1, 1)
    record = translator.search("I go home. You?")
    assert record.translation == one
    with pytest.raises(ConfigError, match="split_sentences is of type str"):
        translator.translate("I go.", split_sentences="no")  # type: ignore[arg-type]


@pytest.mark.parametrize("share", [None, "unknown", 0.0, 0.25, 0.26, 1.0])
def test_a_model_of_paragraphs_is_given_paragraphs(translator: TextTranslator, share: Any) -> None:
    bundle = replace(translator.bundle, record={"several_sentences": share} if share else {})
    other = TextTranslator(bundle)
    expected = isinstance(share, float) and share > 0.25

    assert bundle.trained_on_paragraphs == expected
    assert other.translate("I go home. You?").num_sentences == (1 if expected else 2)
    assert other.translate("I go home. You?", split_sentences=True).num_sentences == 2


@pytest.mark.parametrize(
    ("usual", "groups"),
    [(1, [1] * 5), (2, [1, 2, 2]), (3, [2, 3]), (4, [2, 3]), (5, [5]), (9, [5]), (None, [5])],
)
def test_more_sentences_than_a_model_of_paragraphs_is_used_to_are_translated_in_groups(
    translator: TextTranslator, usual: int | None, groups: list[int]
) -> None:
    record = {"several_sentences": 0.9} | ({"usual_sentences": usual} if usual else {})
    other = TextTranslator(replace(translator.bundle, record=record))

    whole = other.translate(PARAGRAPH)

    parts = other.requests.parts(PARAGRAPH, at_most=usual)
    texts = [part.sentence.text for part in parts]
    assert [len(split_sentences(text)) for text in texts] == groups
    assert "".join(texts).replace(" ", "") == PARAGRAPH.replace(" ", "")
    assert whole.num_parts == whole.num_sentences == len(groups)
    assert other.requests.count_sentences(PARAGRAPH) == len(groups)
    each = translator.translate(texts, split_sentences=False)
    assert whole.text.split() == " ".join(t.text for t in each).split()
    assert other.translate(PARAGRAPH, split_sentences=False).num_parts == 1
    assert other.translate(PARAGRAPH, split_sentences=True).num_parts == 5


@pytest.mark.parametrize(
    "text",
    [PARAGRAPH, "", " ", "我买窗户。我买窗户。", "I go home.\n\nYou?", "<2ko> I go home. You?"],
)
@pytest.mark.parametrize(
    "options", [SearchOptions(1), SearchOptions(3), SearchOptions(sampling=Sampling())]
)
def test_a_stream_is_the_translation(
    translator: TextTranslator, text: str, options: SearchOptions
) -> None:
    ends: list[StreamEnd] = []

    def streamed() -> Generator[str]:
        ends.append((yield from translator.stream(text, options=options)))

    bits = "".join(streamed())

    whole = translator.translate(text, mend_runaways=False, options=options)
    assert bits == whole.text
    assert (ends[0].num_parts, ends[0].num_sentences) == (whole.num_parts, whole.num_sentences)
    assert (ends[0].complete, ends[0].unknown_pieces) == (whole.complete, whole.unknown_pieces)


def test_each_sentence_has_the_tag(translator: TextTranslator) -> None:
    whole = translator.translate("<2ko> I go home. You?")

    each = translator.translate(["<2ko> I go home.", "<2ko> You?"])
    assert whole.text == " ".join(t.text for t in each)


def test_the_n_best_are_ways_to_join_those_of_the_sentences(translator: TextTranslator) -> None:
    first, second = translator.translate(["I go home.", "You?"], n_best=3)

    found = translator.translate("I go home. You?", n_best=3)

    ways = sorted(
        (a.score + b.score for a in first.hypotheses for b in second.hypotheses), reverse=True
    )
    assert [h.score for h in found.hypotheses] == pytest.approx(ways[:3], abs=1e-5)


def test_a_prefix_is_that_of_the_first_sentence(translator: TextTranslator) -> None:
    found = translator.translate("I go home. You?", prefix="The")

    second = translator.translate("You?")
    assert found.text.startswith("The")
    assert found.text.endswith(second.text)
    with pytest.raises(ConfigError, match="The prefix has 2 sentences"):
        translator.translate("I go home. You?", prefix="The cat sat. You")
    assert translator.translate("You?", prefix="The cat sat. You").text.startswith(
        "The cat sat. You"
    )


def test_a_glossary_is_for_the_sentence_that_has_the_term(translator: TextTranslator) -> None:
    glossary = {"home": "school", "You": "cat", "나는*": "home", "dog": "sat"}

    way: dict[str, Any] = {"beam_size": 4, "mend_runaways": False}
    whole = translator.translate("I go home. You?", glossary=glossary, **way)

    each = [
        translator.translate("I go home.", terms=["school"], **way),
        translator.translate("You?", terms=["cat"], **way),
    ]
    assert whole.text == " ".join(t.text for t in each)
    options = replace(translator.options, beam_size=4)
    assert (
        "".join(translator.stream("I go home. You?", glossary=glossary, options=options))
        == whole.text
    )
    assert "school" not in translator.translate("We go.", glossary=glossary).text
    both = translator.translate("I go home.", glossary=glossary, terms=["cat"], beam_size=4).text
    assert "school" in both
    assert "cat" in both


@pytest.mark.parametrize(
    ("text", "wish", "message"),
    [
        ("I go home. You?", {"terms": ["cat"]}, "The text has 2 sentences"),
        (
            "I go home.",
            {"glossary": {"home": "龍"}},
            "The term '龍' has 1 token that the vocabulary",
        ),
        (
            "I go.",
            {"glossary": {"a": "b"}, "options": SearchOptions(sampling=Sampling())},
            "A glossary cannot be combined",
        ),
        (
            "I go.",
            {"glossary": {"a": "b"}, "options": SearchOptions(2, groups=2)},
            "A glossary cannot be combined",
        ),
        ("I go.", {"glossary": "a"}, "glossary is of type str"),
        # A dict would be taken for its keys.
        ("I go.", {"terms": {"go": "cat"}}, r"terms is of type dict.*glossary="),
        ("I go.", {"terms": [{"go": "cat"}]}, r"A list of terms is of type dict.*glossary="),
        ("I go.", {"prefix": {"go": "cat"}}, "prefix is of type dict"),
        ("I go.", {"banned": {"go": "cat"}}, "banned is of type dict"),
    ],
)
def test_wishes_that_cannot_be_placed_are_refused(
    translator: TextTranslator, text: str, wish: dict[str, Any], message: str
) -> None:
    calls: list[Callable[[], object]] = [
        lambda: translator.translate(text, **wish),
        lambda: list(translator.stream(text, **wish)),
    ]
    for call in calls:
        with pytest.raises(ConfigError, match=message):
            call()


def test_a_term_of_a_glossary_may_be_in_any_part_but_not_between_two(
    translator: TextTranslator,
) -> None:
    long = "the cat sat " * 9 + "home"
    glossary = {"home": "school"}
    whole = translator.translate(long, glossary=glossary)
    assert whole.num_parts > whole.num_sentences == 1
    assert whole.text.count("school") >= 1
    with pytest.raises(ConfigError, match="its parts divide the term of the glossary"):
        translator.translate(long, glossary={long.strip(): "school"})


def test_a_term_of_a_long_sentence_is_found_as_it_is_written(
    translator: TextTranslator, tokenizer: Tokenizer
) -> None:
    folding = train_tokenizer(
        [*SENTENCES, "seoul"], kind="bpe", vocabulary_size=60, normalization="nmt_nfkc_cf"
    )
    long = "The cat sat " * 9 + "in Seoul and the cat sat"
    bundle = replace(translator.bundle, source_tokenizer=folding)
    requests = RequestMaker([bundle])
    parts = requests.parts(long)
    assert len(parts) > 1

    made = requests.make([parts], SearchOptions(), glossary=Glossary({"Seoul": "school"}))

    assert [len(request.terms) for request in made].count(1) == 1
    assert not any(
        request.terms
        for request in requests.make([parts], SearchOptions(), glossary=Glossary({"SeouL": "a"}))
    )


@pytest.mark.parametrize(
    ("text", "space"), [("我买窗户" * 30, ""), ("homehome" * 30, ""), ("go home " * 30, " ")]
)
def test_parts_of_a_long_sentence_are_joined_as_it_was(
    translator: TextTranslator, text: str, space: str
) -> None:
    parts = translator.requests.parts(text)

    assert len(parts) > 1
    assert all(part.joint is not None and part.joint.space == space for part in parts[1:])
