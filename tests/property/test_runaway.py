"""Models with random weights run away often; what `translate` returns never does."""

from collections.abc import Generator, Sequence
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.bundle import Bundle
from headway.config.model import Architecture
from headway.data.tokenizer import Tokenizer, train_tokenizer
from headway.decoding.options import Sampling, SearchOptions
from headway.decoding.request import Request
from headway.decoding.rules import Past
from headway.decoding.runaway import runs_away
from headway.decoding.terms import has_all_terms
from headway.decoding.translation import StreamEnd, Translation
from headway.decoding.translator import TextTranslator
from headway.model.transformer import Transformer

WORDS = ["cat", "dog", "mat", "J-10", "........", "ha ha ha ha ha", "7", "A", "🙂"]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    lines = [f"the {word} sat on a {other}." for word in WORDS for other in WORDS]
    return train_tokenizer(lines, kind="bpe", vocabulary_size=60)


@pytest.fixture(scope="module")
def translators(tokenizer: Tokenizer) -> list[TextTranslator]:
    sizes = {"d_model": 12, "d_ff": 17, "num_heads": 2, "num_encoder_layers": 1,
             "num_decoder_layers": 1}  # fmt: skip
    made = []
    for seed in range(6):
        torch.manual_seed(seed)
        config = Architecture.parse(sizes).with_vocabulary(len(tokenizer))
        model = Transformer.from_config(config)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(torch.randn_like(parameter), alpha=0.2)
        made.append(TextTranslator(Bundle(config, model.eval(), tokenizer, tokenizer)))
    return made


texts = st.lists(st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join), min_size=1, max_size=4)


@st.composite
def some_options(draw: st.DrawFn) -> SearchOptions:
    beam_size = draw(st.sampled_from([1, 2, 4]))
    groups = draw(st.sampled_from([1, beam_size]))
    least = draw(st.sampled_from([0, 0, 40]))
    return SearchOptions(
        beam_size,
        draw(st.sampled_from([0.0, 0.6, 1.0])),
        draw(st.integers(1, beam_size)),
        groups=groups,
        coverage_penalty=draw(st.sampled_from([0.0, 0.2])),
        max_length=draw(st.sampled_from([None, None, 45])),
        min_length=least,
        no_repeat_ngram=draw(st.sampled_from([0, 0, 2, 5])),
        repetition_penalty=draw(st.sampled_from([1.0, 1.2])),
    )


def only_requests(
    translator: TextTranslator, sources: Sequence[str], options: SearchOptions, **way: Any
) -> list[Request | None]:
    """Return the request of each source; None for a blank one."""
    maker, found = translator.requests, []
    for source in sources:
        parts = [maker.parts(source)]
        found.append((*maker.make(parts, options, **way), None)[0])
    return found


def streamed(fragments: Generator[str, None, StreamEnd]) -> tuple[str, StreamEnd]:
    text = ""
    while True:
        try:
            text += next(fragments)
        except StopIteration as end:
            return text, end.value


def ran_away(
    translator: TextTranslator,
    requests: Sequence[Request | None],
    options: SearchOptions,
    translations: Sequence[Translation],
) -> list[bool]:
    tokenizer = translator.bundle.source_tokenizer
    pieces = (translator.requests.target_ids(translation.pieces) for translation in translations)
    return [
        request is not None and runs_away(ids, request, options, tokenizer)
        for request, ids in zip(requests, pieces, strict=True)
    ]


@settings(max_examples=60)
@given(st.integers(0, 5), texts, some_options(), st.sampled_from(["", "", "the cat"]))
def test_no_translation_runs_away_and_those_that_did_are_flagged(
    translators: list[TextTranslator],
    number: int,
    sources: list[str],
    options: SearchOptions,
    prefix: str,
) -> None:
    translator = translators[number]
    way: dict[str, Any] = {"options": options, "prefix": prefix, "split_sentences": False}
    plain = translator.translate(sources, mend_runaways=False, **way)
    mended = translator.translate(sources, **way)
    requests = only_requests(translator, sources, options, prefix=prefix)
    away = ran_away(translator, requests, options, plain)
    assert not any(ran_away(translator, requests, options, mended))
    for before, after, ran in zip(plain, mended, away, strict=True):
        assert ran == ("repeated" in before.flags) == ("repeated" in after.flags)
        assert ran or after == before
    alone = [translator.translate(source, **way) for source in sources]
    assert [one.pieces for one in alone] == [one.pieces for one in mended]


@settings(max_examples=20)
@given(st.integers(0, 5), texts, st.sampled_from([["mat"], ["cat cat cat cat"], ["a", "dog 7"]]))
def test_terms_occur_whatever_ran_away(
    translators: list[TextTranslator], number: int, sources: list[str], terms: list[str]
) -> None:
    translator, options = translators[number], SearchOptions(2)
    translations = translator.translate(
        sources, options=options, terms=terms, split_sentences=False
    )
    requests = only_requests(translator, sources, options, terms=terms)
    for request, translation in zip(requests, translations, strict=True):
        ids = translator.requests.target_ids(translation.pieces)
        assert request is None or has_all_terms(Past(request, ids))


@settings(max_examples=20)
@given(st.integers(0, 5), texts)
def test_samples_streams_and_records_stay_the_plain_search_and_are_flagged(
    translators: list[TextTranslator], number: int, sources: list[str]
) -> None:
    translator = translators[number]
    drawn = SearchOptions(n_best=2, sampling=Sampling(seed=1, temperature=0.3))
    kept = translator.translate(sources, mend_runaways=False, options=drawn)
    assert translator.translate(sources, options=drawn) == kept
    for source in filter(str.strip, sources):
        plain = translator.translate(source, mend_runaways=False, split_sentences=False)
        assert translator.search(source).translation == plain
        text, end = streamed(translator.stream(source, split_sentences=False))
        assert (text, end.flags) == (plain.text, plain.flags)
