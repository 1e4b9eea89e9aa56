"""What can be asked of a translation beside the beam: each wish holds in the text itself."""

import itertools
import re
from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any

import pytest
import torch

import headway
from headway.bundle import Bundle, save_bundle
from headway.config.decoding import DecodingConfig
from headway.config.model import Architecture
from headway.data.tokenizer import Tokenizer, train_tokenizer
from headway.decoding.options import Sampling, SearchOptions
from headway.decoding.request import Request
from headway.decoding.translation import StreamEnd
from headway.decoding.translator import TextTranslator
from headway.errors import ConfigError
from headway.model.transformer import Transformer

TEXT = [
    "나는 학생입니다.",
    "너는 학교에 갑니다. 나는 집에 갑니다.",
    "I am a student.",
    "You go to school. I go home.",
    "the cat sat on the mat",
]
Make = Callable[..., Bundle]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(TEXT, kind="bpe", vocabulary_size=70)


@pytest.fixture(scope="module")
def make(tokenizer: Tokenizer) -> Make:
    def make_bundle(seed: int = 3, **decoding: Any) -> Bundle:
        torch.manual_seed(seed)
        config = Architecture(
            d_model=12, d_ff=17, num_heads=2, num_encoder_layers=1, num_decoder_layers=1
        ).with_vocabulary(len(tokenizer))
        model = Transformer.from_config(config)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(torch.randn_like(parameter), alpha=0.2)
        values = {"beam_size": 2, "max_extra_pieces": 4, "max_source_pieces": 24} | decoding
        return Bundle(config, model.eval(), tokenizer, tokenizer, DecodingConfig.parse(values))

    return make_bundle


@pytest.fixture(scope="module")
def translator(make: Make) -> TextTranslator:
    return TextTranslator(make())


def test_the_options_of_the_bundle_are_the_start_and_what_is_given_changes_them(
    translator: TextTranslator,
) -> None:
    assert translator.options == SearchOptions(2, 0.6)
    expected = translator.translate(TEXT, beam_size=3, length_penalty=1.0, n_best=2)

    options = replace(translator.options, beam_size=3, length_penalty=1.0, n_best=2)

    assert translator.translate(TEXT, options=options) == expected
    other = replace(options, beam_size=2, n_best=1)
    again = translator.translate(TEXT, options=other, beam_size=3, n_best=2)
    assert again == expected


@pytest.mark.parametrize("beam_size", [1, 3])
def test_lengths_hold_in_pieces(translator: TextTranslator, beam_size: int) -> None:
    options = SearchOptions(beam_size, min_length=5, max_length=7)

    for result in translator.translate(TEXT, options=options, split_sentences=False):
        assert 5 <= len(result.pieces) <= 7
        assert result.complete == (len(result.pieces) < 7)
    # The limit that the model has gives way to a minimum beyond it.
    long = translator.translate("I", options=SearchOptions(beam_size, min_length=20))
    assert len(long.pieces) >= 20


@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_banned_text_is_not_in_any_hypothesis(translator: TextTranslator, beam_size: int) -> None:
    free = translator.translate(TEXT, beam_size=beam_size, n_best=beam_size)
    words = sorted({word for t in free for h in t.hypotheses for word in h.text.split()})[:4]
    banned = [*words, words[0][:1], " " + words[1][:2]]

    found = translator.translate(TEXT, beam_size=beam_size, n_best=beam_size, banned=banned)

    texts = [f" {h.text}" for t in found for h in t.hypotheses]
    assert not [(text, ban) for text in texts for ban in banned if ban in text]
    assert [t.text for t in found] != [t.text for t in free]


def test_terms_are_in_every_hypothesis_for_all_or_for_each(translator: TextTranslator) -> None:
    everywhere = translator.translate(
        TEXT, beam_size=3, n_best=3, terms=["cat", "school"], split_sentences=False
    )
    assert all("cat" in h.text and "school" in h.text for t in everywhere for h in t.hypotheses)

    each = translator.translate(TEXT, beam_size=3, terms=[["cat"], [], ["student", "I am"], [], []])
    free = translator.translate(TEXT, beam_size=3)
    assert "cat" in each[0].text
    assert "student" in each[2].text
    assert "I am" in each[2].text
    assert [t.text for t in each[3:]] == [t.text for t in free[3:]]


def test_a_term_is_a_whole_word_and_particles_may_follow_it(translator: TextTranslator) -> None:
    for beam_size in (1, 4):
        for term in ("stu", "scho", "I a"):
            text = translator.translate(TEXT[4], terms=[term], beam_size=beam_size).text
            assert re.search(rf"\b{term}(?![A-Za-z])", text), text
    make = translator.requests.make
    (request,) = make([translator.requests.parts("I am")], translator.options, terms=["am"])
    continuing = {translator.bundle.target_tokenizer.piece(i) for i in request.continuing}
    assert continuing
    assert all(piece[0].isalnum() and not "가" <= piece[0] <= "힣" for piece in continuing)


def test_terms_that_cannot_be_placed_or_written_are_refused(translator: TextTranslator) -> None:
    with pytest.raises(ConfigError, match="There are 1 lists of terms for 2 sentences"):
        translator.translate(TEXT[:2], terms=[["cat"]])
    with pytest.raises(ConfigError, match="The term '龍' has 1 token that the vocabulary"):
        translator.translate("I am", terms=["龍"])
    with pytest.raises(ConfigError, match="The sentence is too long"):
        translator.translate(TEXT[1] * 4, terms=["cat"], split_sentences=False)
    with pytest.raises(ConfigError, match="The terms are one string"):
        translator.translate("I am", terms="cat")


def test_a_favoured_prefix_is_kept_by_strong_bias_and_left_by_weak(
    translator: TextTranslator,
) -> None:
    strong, weak = (
        [
            t.text.startswith("the cat")
            for t in translator.translate(
                TEXT, prefix="the cat", options=SearchOptions(1, prefix_bias=bias)
            )
        ]
        for bias in (0.999, 0.0001)
    )
    assert all(strong)
    assert not any(weak)


def test_samples_differ_by_seed_and_place_and_can_be_had_again(translator: TextTranslator) -> None:
    same = ["I am a student."] * 6
    options = SearchOptions(n_best=2, sampling=Sampling(seed=1))

    found = translator.translate(same, options=options)

    assert found == translator.translate(same, options=options)
    assert len({t.text for t in found}) > 3
    # In two groups, as a file is read, or split otherwise: the place in the input decides.
    later = translator.translate(same[2:], options=options, first=2, batch_tokens=1)
    assert [t.text for t in later] == [t.text for t in found[2:]]
    other = replace(options, sampling=Sampling(seed=2))
    assert [t.text for t in translator.translate(same, options=other)] != [t.text for t in found]


def test_the_number_of_earlier_parts_does_not_matter_to_what_is_drawn(
    translator: TextTranslator,
) -> None:
    options = SearchOptions(sampling=Sampling())
    _, after_long = translator.translate([TEXT[1] * 3, TEXT[0]], options=options)
    _, after_short = translator.translate(["I", TEXT[0]], options=options)
    assert after_long.text == after_short.text


@pytest.mark.parametrize(
    "options",
    [
        SearchOptions(1),
        SearchOptions(4),
        SearchOptions(4, 2.0, patience=2.0),
        SearchOptions(4, groups=2, n_best=2),
        SearchOptions(sampling=Sampling(seed=3)),
        SearchOptions(3, min_length=6, no_repeat_ngram=2),
        SearchOptions(4, coverage_penalty=1.5),
        SearchOptions(4, groups=2, coverage_penalty=1.5),
        SearchOptions(n_best=3, sampling=Sampling(seed=3), coverage_penalty=1.5),
    ],
    ids=str,
)
@pytest.mark.parametrize("text", [*TEXT, "", TEXT[1] * 3])
def test_the_bits_of_a_stream_are_the_translation(
    translator: TextTranslator, options: SearchOptions, text: str
) -> None:
    bits = list(translator.stream(text, options=options))

    whole = translator.translate(text, mend_runaways=False, options=options)
    assert "".join(bits) == whole.text
    assert all(bits)


def test_greedy_search_streams_piece_by_piece_and_a_beam_what_is_certain(make: Make) -> None:
    translator = TextTranslator(make(max_extra_pieces=12))
    greedy = [len(list(translator.stream(t, options=SearchOptions(1)))) for t in TEXT]
    beam = [len(list(translator.stream(t, options=SearchOptions(4)))) for t in TEXT]
    assert min(greedy) >= 5
    assert 1 < max(beam) <= max(greedy)


def test_streams_take_prefix_terms_and_bans(translator: TextTranslator) -> None:
    wishes: dict[str, Any] = {"prefix": "the", "terms": ["cat"], "banned": ["s"]}
    bits = "".join(translator.stream(TEXT[2], **wishes))
    assert bits == translator.translate(TEXT[2], mend_runaways=False, **wishes).text
    assert bits.startswith("the")
    assert "cat" in bits
    assert "s" not in bits


def test_alternatives_have_the_models_probabilities_and_the_translations_that_go_on(
    translator: TextTranslator,
) -> None:
    best = translator.translate(TEXT[2], beam_size=1, mend_runaways=False)
    model, tokenizer = translator.bundle.model, translator.bundle.target_tokenizer
    before = best.pieces[:2]

    found = translator.alternatives(TEXT[2], before, count=99, options=SearchOptions(1))

    ids = [tokenizer.id(piece) for piece in before]
    source = torch.tensor([[*tokenizer.encode(TEXT[2]), 3]])
    with torch.inference_mode():
        own = model(source, torch.tensor([[2, *ids]]))[0, -1].softmax(-1)
    assert len(found) == len(own) - 3  # no padding, start and unknown
    assert [a.probability for a in found] == sorted((a.probability for a in found), reverse=True)
    for a in found:
        assert a.probability == pytest.approx(float(own[tokenizer.id(a.piece)]), abs=1e-5)
        ends = a.piece == "</s>"
        assert a.translation.pieces[:3] == (before if ends else (*before, a.piece))
    assert found[0].piece == best.pieces[2]
    assert found[0].translation.pieces == best.pieces


def test_alternatives_of_what_is_not_there_are_refused(translator: TextTranslator) -> None:
    with pytest.raises(ConfigError, match="The vocabulary has no token 'xyz'"):
        translator.alternatives("I am", ["xyz"])
    with pytest.raises(ConfigError, match="The sentence has 0 parts"):
        translator.alternatives(" ")
    with pytest.raises(ConfigError, match="count is 0, but must be at least 1"):
        translator.alternatives("I am", count=0)


def test_alternatives_after_the_end_of_a_translation_are_refused(make: Make) -> None:
    translator = TextTranslator(make())
    piece = translator.bundle.target_tokenizer.piece(9)
    for special in ("</s>", "<unk>", "<s>", "<pad>"):
        with pytest.raises(
            ConfigError, match=f"A translation that contains {special} cannot be continued"
        ):
            translator.alternatives(TEXT[2], [piece, special])
    translator.requests.position_limit = 3
    assert translator.alternatives("the", [piece] * 2)
    with pytest.raises(ConfigError, match="There are 3 tokens, as many as the model has positions"):
        translator.alternatives("the", [piece] * 3)


def test_terms_that_another_wish_forbids_are_refused(translator: TextTranslator) -> None:
    with pytest.raises(ConfigError, match="'cat' must occur, but a banned text forbids it"):
        translator.translate(TEXT[4], terms=["the", "cat"], banned=[" ca"])
    once = SearchOptions(2, no_repeat_ngram=1)
    with pytest.raises(ConfigError, match="'the the' must occur, but no_repeat_ngram 1 forbids it"):
        list(translator.stream(TEXT[4], terms=["the the"], options=once))
    twice = replace(once, no_repeat_ngram=99)
    assert "the the" in translator.translate(TEXT[4], terms=["the the"], options=twice).text


def test_a_mixture_of_terms_for_all_and_for_each_is_refused(translator: TextTranslator) -> None:
    with pytest.raises(ConfigError, match="Some terms are words and others lists of words"):
        translator.translate(TEXT[:2], terms=[["cat"], "home"])  # type: ignore[list-item]


def test_more_hypotheses_widen_a_beam_by_whole_groups(translator: TextTranslator) -> None:
    grouped = SearchOptions(4, groups=2)
    found = translator.translate(TEXT[4], options=grouped, n_best=5)
    assert found == translator.translate(TEXT[4], options=replace(grouped, beam_size=6, n_best=5))


@pytest.mark.parametrize("sampling", [None, Sampling()])
def test_sentences_have_no_number_below_0(
    translator: TextTranslator, sampling: Sampling | None
) -> None:
    with pytest.raises(ConfigError, match="first is -1, but must be at least 0"):
        translator.translate(TEXT, first=-1, options=SearchOptions(1, sampling=sampling))


@pytest.mark.parametrize("text", ["", "  ", "a"])
def test_a_stream_ends_with_as_many_parts_as_a_translation(make: Make, text: str) -> None:
    translator = TextTranslator(make())
    ends: list[StreamEnd] = []

    def bits() -> Generator[str]:
        ends.append((yield from translator.stream(text)))

    assert "".join(bits()) == translator.translate(text, mend_runaways=False).text
    assert ends[0].num_parts == translator.translate(text).num_parts == 1


def test_an_empty_part_leaves_no_space_in_a_stream(
    translator: TextTranslator, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, make_one = f"{TEXT[1]} " * 5, translator.requests.make_one
    count = len(translator.requests.parts(text, at_most=1))
    assert count >= 3
    lengths = itertools.cycle([0, 3, *[0] * (count - 3), 2])  # 0: the end at once

    def limited(*arguments: Any, **named: Any) -> Request:
        return replace(make_one(*arguments, **named), max_length=next(lengths))

    monkeypatch.setattr(translator.requests, "make_one", limited)
    bits = "".join(translator.stream(text))

    assert bits == translator.translate(text).text
    assert bits == bits.strip() != ""


def test_weights_that_changed_after_they_were_prepared_are_refused(make: Make) -> None:
    bundle = make()
    packed, reference = TextTranslator(bundle), TextTranslator(bundle, engine="reference")
    before = reference.translate(TEXT[2])
    assert packed.translate(TEXT[2]).text == before.text
    with torch.no_grad():
        bundle.model.decoder.layers[0].feed_forward.w_1.weight.mul_(-3.0)  # type: ignore[union-attr]

    wishes: list[Callable[[], object]] = [
        lambda: packed.translate(TEXT),
        lambda: packed.alternatives(TEXT[2]),
        lambda: packed.search(TEXT[2]),
        lambda: list(packed.stream(TEXT[2])),
    ]
    for wish in wishes:
        with pytest.raises(ConfigError, match="The model or its weights have changed"):
            wish()
    after = TextTranslator(bundle).translate(TEXT[2])
    assert after.score == pytest.approx(reference.translate(TEXT[2]).score)
    assert after.score != pytest.approx(before.score)


def test_a_hook_that_came_after_the_weights_were_prepared_is_not_passed_by(make: Make) -> None:
    bundle = make()
    packed, reference = TextTranslator(bundle), TextTranslator(bundle, engine="reference")
    before = reference.translate(TEXT[2])
    hook = bundle.model.encoder.register_forward_hook(lambda _, __, y: -3 * y)

    with pytest.raises(ConfigError, match="The model or its weights have changed"):
        packed.translate(TEXT[2])

    assert reference.translate(TEXT[2]).score != pytest.approx(before.score)
    hook.remove()
    assert packed.translate(TEXT[2]).score == pytest.approx(before.score)


@pytest.mark.parametrize(
    "options", [SearchOptions(1), SearchOptions(3), SearchOptions(n_best=8, sampling=Sampling())]
)
def test_rows_of_the_table_without_a_piece_are_never_chosen(
    tokenizer: Tokenizer, make: Make, options: SearchOptions
) -> None:
    bundle, pieces = make(), len(tokenizer)
    config = bundle.config.model_copy(
        update={"source_vocab_size": pieces + 8, "target_vocab_size": pieces + 8}
    )
    torch.manual_seed(5)
    wider = replace(bundle, config=config, model=Transformer.from_config(config).eval())
    for text in TEXT:
        found = TextTranslator(wider).translate(text, options=options)
        assert all(tokenizer.id(piece) < pieces for h in found.hypotheses for piece in h.pieces)
        assert TextTranslator(wider).alternatives(text, count=99, options=options)
    requests = TextTranslator(wider).requests
    lists = {id(requests.make_one(ids, [], options).allowed) for ids in ([4], [5, 6])}
    assert len(lists) == 1  # shared, for it may be long


def test_an_ensemble_of_bundles(make: Make, tmp_path: Any) -> None:
    first, second = make(3), make(4)
    for name, bundle in (("a", first), ("b", second)):
        save_bundle(tmp_path / name, bundle)

    both = headway.load(tmp_path / "a", "cpu", ensemble=[tmp_path / "b"]).translate(TEXT)

    assert both == TextTranslator(first, ensemble=[second]).translate(TEXT)
    turned = TextTranslator(second, ensemble=[first]).translate(TEXT)
    assert [t.text for t in both] == [t.text for t in turned]
    assert both != TextTranslator(first).translate(TEXT)
    alike = TextTranslator(first, ensemble=[first]).translate(TEXT)
    assert [t.text for t in alike] == [t.text for t in TextTranslator(first).translate(TEXT)]


def test_models_of_other_vocabularies_cannot_be_averaged(make: Make) -> None:
    bundle = make()
    other = replace(bundle, target_tokenizer=train_tokenizer(TEXT, kind="char", vocabulary_size=40))
    with pytest.raises(ConfigError, match="Model 2 of the ensemble has another target vocabulary"):
        TextTranslator(bundle, ensemble=[other])


def test_what_is_refused_of_many_sentences_says_of_which(translator: TextTranslator) -> None:
    wishes = [[], [], ["the the"]]

    with pytest.raises(ConfigError, match=r"Sentence 3 \(counted from 1\): The term 'the the'"):
        translator.translate(TEXT[:3], terms=wishes, options=SearchOptions(2, no_repeat_ngram=1))
    with pytest.raises(ConfigError, match=r"Sentence 12 \(counted from 1\): The prefix"):
        translator.translate(TEXT[:2], prefix=["", "日"], first=10)
    with pytest.raises(ConfigError, match=r"^The prefix"):
        translator.translate(TEXT[0], prefix="日")


@pytest.mark.parametrize("wish", [{"prefix": "\u0001"}, {"terms": ["\u0001"]}])
def test_a_wish_of_which_nothing_is_left_is_not_forgotten(
    translator: TextTranslator, wish: dict[str, Any]
) -> None:
    with pytest.raises(ConfigError, match=r"The (prefix|term) '\\x01' has no tokens"):
        translator.translate(TEXT[0], **wish)


def test_rows_without_a_piece_in_any_model_of_an_ensemble_are_never_chosen(
    tokenizer: Tokenizer, make: Make
) -> None:
    plain = make()
    config = plain.config.model_copy(
        update={name: len(tokenizer) + 4 for name in ("source_vocab_size", "target_vocab_size")}
    )
    padded = replace(plain, config=config, model=Transformer.from_config(config).eval())

    found = [
        TextTranslator(first, ensemble=[second]).translate(TEXT)
        for first, second in ((plain, padded), (padded, plain))
    ]

    assert [t.text for t in found[0]] == [t.text for t in found[1]]


def replace_part(model: Transformer) -> None:
    """Put an attention of another class, with the very same weights, in the place of one."""
    layer = model.decoder.layers[0]
    other = type("Other", (type(layer.cross_attention),), {})(14, 3, d_k=5, d_v=4)
    other._modules.update(layer.cross_attention._modules)
    layer.cross_attention = other.eval()


def replace_forward(model: Transformer) -> None:
    model.encoder.layers[0].feed_forward.forward = lambda x: -x


def replace_weight(model: Transformer) -> None:
    w_1 = model.encoder.layers[0].feed_forward.w_1
    w_1.weight = torch.nn.Parameter(-w_1.weight.detach())


@pytest.mark.parametrize("change", [replace_part, replace_forward, replace_weight])
def test_a_part_that_was_replaced_afterwards_is_not_passed_by(
    make: Make, change: Callable[[Transformer], None]
) -> None:
    bundle = make()
    packed = TextTranslator(bundle)
    packed.translate(TEXT[2])

    change(bundle.model)

    with pytest.raises(ConfigError, match="The model or its weights have changed"):
        packed.translate(TEXT[2])


def test_a_hook_hears_every_sentence_in_this_process(make: Make) -> None:
    bundle = make()
    heard: list[int] = []
    bundle.model.encoder.register_forward_hook(lambda _, __, y: heard.append(len(y)))
    with pytest.warns(UserWarning, match="encoder has hooks") as caught:
        translator = TextTranslator(bundle)
    assert caught[0].filename == __file__  # the line of whoever calls this package

    for _ in range(2):
        heard.clear()
        translator.translate(TEXT[2:3] * 40, batch_tokens=1)
        assert sum(heard) == 40


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        ({"options": {"beam_size": 3}}, "options is of type dict. Give SearchOptions"),
        ({"beam_size": "4"}, "beam_size is of type str"),
        ({"n_best": 2.5}, "n_best is of type float"),
        ({"prefix": 3}, "prefix is of type int"),
        ({"prefix": [3]}, "A prefix is of type int"),
        ({"banned": [3]}, "A banned text is of type int"),
        ({"banned": 3}, "banned is of type int"),
        ({"terms": 3}, "terms is of type int. Give a list of words"),
    ],
)
def test_an_argument_of_another_type_is_named(
    translator: TextTranslator, wishes: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        translator.translate([TEXT[2]], **wishes)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: t.translate("a", first="2"), "first is of type str"),
        (lambda t: t.translate("a", batch_tokens=None), "batch_tokens is of type NoneType"),
        (lambda t: t.translate("a", terms=[None]), "A list of terms is of type NoneType"),
        (lambda t: t.alternatives("a", count=[]), "count is of type list"),
        (lambda t: t.alternatives("a", [None]), "A token is of type NoneType"),
        (lambda t: t.search("a", candidates=[]), "candidates is of type list"),
        (lambda t: t.search("a", options={"a": 1}), "options is of type dict"),
        (lambda t: next(t.stream("a", options={"a": 1})), "options is of type dict"),
        (lambda t: t.load([]), "A bundle is of type list"),
    ],
)
def test_arguments_of_another_type_are_refused_by_name(
    translator: TextTranslator, call: Callable[[Any], object], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        call(translator)
