"""Attention and alignment that come with a translation fit its words, whole or in parts."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

import headway
from headway.bundle import Bundle
from headway.config.decoding import DecodingConfig
from headway.config.model import Architecture
from headway.data.tokenizer import Tokenizer, train_tokenizer
from headway.decoding.alignment import word_alignment
from headway.decoding.assemble import TranslationBuilder
from headway.decoding.attention import AttentionReader
from headway.decoding.build_search import search_all
from headway.decoding.options import Sampling, SearchOptions
from headway.decoding.translation import Translation
from headway.decoding.translator import TextTranslator
from headway.errors import ConfigError
from headway.model.transformer import Transformer

TEXT = [
    "나는 학생입니다.",
    "너는 학교에 갑니다. 나는 집에 갑니다.",
    "You go to school.",
    "the cat sat",
]
LONG = "the cat sat on the mat . " * 3 + "I go"
Make = Callable[..., Bundle]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer([*TEXT, LONG], kind="bpe", vocabulary_size=75, symbols=["<2ko>"])


@pytest.fixture(scope="module")
def make(tokenizer: Tokenizer) -> Make:
    def make_bundle(seed: int = 3, layers: int = 2, **decoding: Any) -> Bundle:
        torch.manual_seed(seed)
        config = Architecture(
            d_model=12, d_ff=17, num_heads=2, num_encoder_layers=1, num_decoder_layers=layers
        ).with_vocabulary(len(tokenizer))
        model = Transformer.from_config(config)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(torch.randn_like(parameter), alpha=0.2)
        values = {"beam_size": 3, "max_extra_pieces": 4, "max_source_pieces": 24} | decoding
        return Bundle(config, model.eval(), tokenizer, tokenizer, DecodingConfig.parse(values))

    return make_bundle


@pytest.fixture(scope="module")
def translator(make: Make) -> TextTranslator:
    return TextTranslator(make())


def assert_aligned(translation: Translation, source: str) -> None:
    """Each word of the text has one word of the source."""
    for h in translation.hypotheses:
        assert sorted(word for _, word in h.alignment) == list(range(len(h.text.split())))
        assert list(h.alignment) == sorted(h.alignment)
        assert {word for word, _ in h.alignment} <= set(range(len(source.split())))


@pytest.mark.parametrize("layer", [0, 1, None])
def test_the_attention_is_that_of_a_trace_and_its_axes_have_names(
    translator: TextTranslator, layer: int | None
) -> None:
    options = replace(translator.options, n_best=3, attention_layer=layer)
    model, tokenizer = translator.bundle.model, translator.bundle.source_tokenizer

    several = translator.translate(TEXT, options=options, attention=True, split_sentences=False)
    for text, found in zip(TEXT, several, strict=True):
        assert found.attentions == found.hypotheses[0].attentions
        assert found.alignment == found.hypotheses[0].alignment
        for h in found.hypotheses:
            (attention,) = h.attentions
            source, target = tokenizer.encode(text), [tokenizer.id(p) for p in h.pieces]
            with torch.no_grad(), headway.trace(model) as seen:
                model(torch.tensor([[*source, 3]]), torch.tensor([[2, *target]]))
            name = f"decoder.layers.{1 if layer is None else layer}.cross_attention.weights"
            torch.testing.assert_close(attention.weights, seen[name][0].mean(dim=0))
            assert attention.target_pieces == (*h.pieces, "</s>")
            assert attention.source_pieces == (*tokenizer.pieces(source), "</s>")
        assert_aligned(found, text)


def words_of(tokenizer: Tokenizer, ids: Sequence[int]) -> list[int | None]:
    """Count the words of ever longer beginnings; a blank piece belongs to what comes next."""
    numbers: list[int | None] = []
    for place, piece in enumerate(tokenizer.pieces(ids)):
        count = len(tokenizer.decode(ids[: place + 1]).split())
        numbers.append(count if piece == "▁" else count - 1)
    total = len(tokenizer.decode(ids).split())
    return [None if number == total else number for number in numbers]


@pytest.mark.parametrize("longest", [40, 12, 6])
def test_words_are_numbered_through_all_parts(make: Make, longest: int) -> None:
    # What is drawn has more different words than what a random model likes best.
    translator = TextTranslator(make(max_source_pieces=longest))
    options = SearchOptions(n_best=4, sampling=Sampling(seed=1))
    tokenizer, text = translator.bundle.target_tokenizer, LONG
    source_words = words_of(tokenizer, tokenizer.encode(text))

    found = translator.translate(text, options=options, attention=True, split_sentences=False)

    assert found.num_parts == {40: 1, 12: 3, 6: 4}[longest]
    assert_aligned(found, text)
    for h in found.hypotheses:
        assert len(h.attentions) == found.num_parts
        begin, before, expected = 0, 0, []
        for attention in h.attentions:
            ids = [tokenizer.id(piece) for piece in attention.target_pieces[:-1]]
            end = begin + len(attention.source_pieces) - 1
            own = word_alignment(
                attention.weights[:-1, :-1], source_words[begin:end], words_of(tokenizer, ids)
            )
            expected += [(source, before + target) for source, target in own]
            begin, before = end, before + len(tokenizer.decode(ids).split())
        assert begin == len(source_words)
        assert list(h.alignment) == sorted(expected)
    assert max(len(h.alignment) for h in found.hypotheses) > 4


def test_the_attention_of_each_part_is_computed_once(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[Sequence[int]]] = []
    look = AttentionReader.__call__

    def heard(self: AttentionReader, source: Sequence[int], targets: Any, /) -> Any:
        asked.append(list(targets))
        return look(self, source, targets)

    monkeypatch.setattr(AttentionReader, "__call__", heard)
    translator = TextTranslator(make(max_source_pieces=6))
    found = translator.translate(LONG, n_best=6, attention=True, split_sentences=False)

    assert len(found.hypotheses) == 6
    assert len(asked) == found.num_parts == 4
    assert all(len(set(targets)) == len(targets) for targets in asked)
    assert sum(map(len, asked)) < 6 * 4
    assert_aligned(found, LONG)


def test_nothing_is_kept_unless_asked_for_and_nothing_else_changes(
    translator: TextTranslator,
) -> None:
    plain = translator.translate([*TEXT, LONG, " "], n_best=2)
    asked = translator.translate([*TEXT, LONG, " "], n_best=2, attention=True)

    assert not any(h.attentions or h.alignment for t in plain for h in t.hypotheses)
    assert [[replace(h, attentions=(), alignment=()) for h in t.hypotheses] for t in asked] == [
        list(t.hypotheses) for t in plain
    ]
    assert not any(h.attentions or h.alignment for h in asked[-1].hypotheses)


@pytest.mark.parametrize("n_best", [1, 2, 3, 5])
def test_the_n_best_of_a_sentence_are_the_best_ways_to_join_its_parts(
    make: Make, n_best: int
) -> None:
    translator = TextTranslator(make(max_source_pieces=12))
    parts = translator.requests.parts(LONG)
    assert len(parts) >= 3
    options = replace(translator.options, beam_size=5, n_best=n_best)
    requests = [translator.requests.make_one(part.ids, [], options) for part in parts]
    each = search_all(translator.engine, options, requests)

    found = translator.translate(
        LONG, mend_runaways=False, options=options, split_sentences=False
    ).hypotheses

    every = sorted((sum(h.score for h in chosen) for chosen in product(*each)), reverse=True)
    assert [h.score for h in found] == pytest.approx(every[:n_best])
    assert len({h.pieces for h in found}) == n_best


def test_parts_that_became_nothing_are_counted(make: Make) -> None:
    translator = TextTranslator(make(max_source_pieces=12))
    parts = translator.requests.parts(LONG)
    requests = [translator.requests.make_one(part.ids, [], translator.options) for part in parts]
    found = [list(each) for each in search_all(translator.engine, translator.options, requests)]
    builder = TranslationBuilder(translator.bundle, translator.options)
    assert builder.join("the", parts, found, [False] * len(parts)).empty_parts == 0
    found[1] = [found[1][0]._replace(ids=())]
    assert builder.join("the", parts, found, [False] * len(parts)).empty_parts == 1


def test_samples_of_parts_are_joined_one_to_one(make: Make) -> None:
    translator = TextTranslator(make(max_source_pieces=12))
    options = SearchOptions(n_best=4, sampling=Sampling(seed=2))
    parts = translator.requests.parts(LONG)
    requests = translator.requests.make([parts], options)
    each = search_all(translator.engine, options, requests)
    pieces = translator.bundle.target_tokenizer.pieces

    found = translator.translate(LONG, options=options, split_sentences=False).hypotheses

    # Each sample of a part is in one sample of the whole.
    for number, part in enumerate(each):
        drawn = sorted(tuple(pieces(h.ids)) for h in part)
        used = [
            tuple(pieces(chosen[number].ids))
            for chosen in product(*each)
            if tuple(p for h in chosen for p in pieces(h.ids)) in {h.pieces for h in found}
        ]
        assert set(drawn) <= set(used)
    assert [h.score for h in found] == sorted((h.score for h in found), reverse=True)
    assert sum(h.score for h in found) == pytest.approx(sum(h.score for part in each for h in part))


def test_samples_of_one_part_say_nothing_of_those_of_another(make: Make) -> None:
    translator = TextTranslator(make(max_source_pieces=12))
    options = SearchOptions(n_best=60, sampling=Sampling(seed=2))
    parts = translator.requests.parts(LONG)
    requests = translator.requests.make([parts], options)
    first, second, *_ = search_all(translator.engine, options, requests)

    joined = TranslationBuilder(translator.bundle, options)._joined_samples([first, second])

    scores = np.array([[h.score for h in chosen] for chosen in joined])
    # Sorted with sorted it would be nearly 1; of 60 independent pairs it has a deviation of 0.13.
    assert abs(np.corrcoef(scores.T)[0, 1]) < 0.5


@pytest.mark.parametrize("count", [3, 4])
def test_which_samples_go_together_hangs_on_what_was_drawn(make: Make, count: int) -> None:
    translator = TextTranslator(make(max_source_pieces=12))
    parts = translator.requests.parts(LONG)
    ways = set()
    for seed in range(12):
        options = SearchOptions(n_best=count, sampling=Sampling(seed=seed))
        requests = translator.requests.make([parts], options)
        first, second, *_ = search_all(translator.engine, options, requests)
        joined = TranslationBuilder(translator.bundle, options)._joined_samples([first, second])
        again = TranslationBuilder(translator.bundle, options)._joined_samples([first, second])
        assert joined == again
        ranks = [
            ([*map(id, first)].index(id(a)), [*map(id, second)].index(id(b))) for a, b in joined
        ]
        assert (0, 0) in ranks  # what a stream has told
        assert sorted(r for r, _ in ranks) == sorted(r for _, r in ranks) == list(range(count))
        ways.add(tuple(sorted(ranks)))

    assert len(ways) > 1


def test_it_does_not_depend_on_the_batch(translator: TextTranslator) -> None:
    together = translator.translate([LONG, *TEXT], attention=True)
    for text, found in zip([LONG, *TEXT], together, strict=True):
        alone = translator.translate(text, attention=True)
        assert alone.alignment == found.alignment
        for ours, theirs in zip(alone.attentions, found.attentions, strict=True):
            assert torch.equal(ours.weights, theirs.weights)


def test_a_tag_that_all_parts_have_is_the_first_word(make: Make) -> None:
    translator = TextTranslator(make(max_source_pieces=12))
    parts = translator.requests.parts("<2ko> " + LONG)
    words = translator.requests.source_words("<2ko> " + LONG, parts)

    assert len(words) > 2
    assert all(part[:2] == [0, 0] for part in words)  # ▁ <2ko>
    rest = [word for part in words for word in part[2:]]
    assert rest == sorted(rest)
    assert set(rest) == set(range(1, 1 + len(LONG.split())))
    options = SearchOptions(n_best=9, sampling=Sampling(seed=1))
    found = translator.translate("<2ko> " + LONG, options=options, attention=True)
    assert_aligned(found, "<2ko> " + LONG)


def test_members_of_an_ensemble_look_together(make: Make) -> None:
    first, second = make(3, layers=1), make(4, layers=2)
    options = SearchOptions(2, attention_layer=0)
    together = TextTranslator(first, ensemble=[second])

    found = together.translate("the cat", options=options, attention=True)

    ids = [first.target_tokenizer.id(piece) for piece in found.pieces]
    source = torch.tensor([[*first.source_tokenizer.encode("the cat"), 3]])
    each = []
    for bundle in (first, second):
        with torch.no_grad(), headway.trace(bundle.model) as seen:
            bundle.model(source, torch.tensor([[2, *ids]]))
        each.append(seen["decoder.layers.0.cross_attention.weights"][0].mean(dim=0))
    torch.testing.assert_close(found.attentions[0].weights, (each[0] + each[1]) / 2)
    with pytest.raises(
        ConfigError, match="attention_layer is 1, but the decoder has layers 0 to 0"
    ):
        together.translate("the cat", options=replace(options, attention_layer=1))


def test_a_coverage_penalty_ranks_what_a_translator_finds(translator: TextTranslator) -> None:
    options = SearchOptions(4, n_best=4, coverage_penalty=2.0)

    way: dict[str, Any] = {"mend_runaways": False, "split_sentences": False}
    free = translator.translate(TEXT, options=replace(options, coverage_penalty=0.0), **way)
    found = translator.translate(TEXT, options=options, attention=True, **way)

    for translation in found:
        for h in translation.hypotheses:
            sums = h.attentions[0].weights[:, :-1].sum(dim=0).clamp(max=1)
            own = options.score(h.log_prob, len(h.pieces) + 1)
            assert h.score == pytest.approx(own + 2 * float(sums.log().sum()), abs=1e-4)
    ranked = [[[h.pieces for h in t.hypotheses] for t in each] for each in (free, found)]
    assert ranked[0] != ranked[1]
    assert len(translator.alternatives(TEXT[0], options=options)) == 5


def test_samples_have_their_attention_too(translator: TextTranslator) -> None:
    options = SearchOptions(n_best=3, sampling=Sampling(seed=2))
    for text in TEXT:
        assert_aligned(translator.translate(text, options=options, attention=True), text)
