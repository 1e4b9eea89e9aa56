"""The Translator: any text in, one line out, in order, with every trouble flagged."""

import copy
import math
import multiprocessing
import pickle
import unicodedata
from collections.abc import Callable, Generator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.reduction import ForkingPickler
from typing import Any, Literal

import pytest
import torch

from headway.bundle import Bundle
from headway.config.decoding import DecodingConfig
from headway.config.model import Architecture
from headway.data.tokenizer import END_ID, START_ID, Tokenizer, train_tokenizer
from headway.decoding.options import Sampling, SearchOptions
from headway.decoding.translation import StreamEnd
from headway.decoding.translator import TextTranslator, load
from headway.errors import BundleError, ConfigError, HeadwayError
from headway.inspection.edit import zero
from headway.inspection.trace import trace
from headway.model.transformer import Transformer
from headway.runtime.devices import resolve_device

TEXT = [
    "나는 학생입니다.",
    "너는 학교에 갑니다. 나는 집에 갑니다.",
    "I am a student.",
    "You go to school. I go home.",
    "the cat sat on the mat",
]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(TEXT, kind="bpe", vocabulary_size=70)


def translator_of(tokenizer: Tokenizer, seed: int = 3, **settings: object) -> TextTranslator:
    torch.manual_seed(seed)
    architecture = {
        "d_model": 12, "d_ff": 17, "num_heads": 2, "num_encoder_layers": 1,
        "num_decoder_layers": 1,
    }  # fmt: skip
    decoding = {"beam_size": 2, "max_extra_pieces": 4, "max_source_pieces": 24}
    for key, value in settings.items():
        (decoding if key in DecodingConfig.model_fields else architecture)[key] = value
    config = Architecture.parse(architecture).with_vocabulary(len(tokenizer))
    model = Transformer.from_config(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.2)
    return TextTranslator(
        Bundle(config, model.eval(), tokenizer, tokenizer, DecodingConfig.parse(decoding))
    )


@pytest.fixture(scope="module")
def translator(tokenizer: Tokenizer) -> TextTranslator:
    return translator_of(tokenizer)


def test_one_sentence_gives_one_translation_and_a_list_a_list(translator: TextTranslator) -> None:
    one = translator.translate("I am a student.")

    assert translator.translate(["I am a student."]) == [one]
    assert translator.translate([]) == []
    assert translator.translate(iter(["I am a student."])) == [one]
    assert one.text == one.hypotheses[0].text
    assert (one.score, one.pieces) == (one.hypotheses[0].score, one.hypotheses[0].pieces)


def _first_text(translator: TextTranslator) -> str:
    return translator.translate(TEXT[2]).text


def _by_pool(translator: TextTranslator) -> str:
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply(_first_text, (translator,))


def _by_executor(translator: TextTranslator) -> str:
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(1, mp_context=context) as executor:
        return executor.submit(_first_text, translator).result()


def _by_queue(translator: TextTranslator) -> str:
    queue = multiprocessing.get_context("fork").Queue()
    queue.put(translator)
    return _first_text(queue.get())


def _as_spawned_processes_get_it(translator: TextTranslator) -> str:
    return _first_text(pickle.loads(ForkingPickler.dumps(translator)))


def _its_bundle_by_pickle(translator: TextTranslator) -> str:
    return _first_text(TextTranslator(pickle.loads(ForkingPickler.dumps(translator.bundle))))


@pytest.mark.parametrize(
    "send",
    [_by_pool, _by_executor, _by_queue, _as_spawned_processes_get_it, _its_bundle_by_pickle],
)
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_translator_that_was_sent_to_another_process_goes_on(
    tokenizer: Tokenizer, send: Callable[[TextTranslator], str]
) -> None:
    translator = translator_of(tokenizer)
    text = _first_text(translator)
    places = [weight.data_ptr() for weight in translator.models[0].parameters()]

    assert send(translator) == text

    assert _first_text(translator) == text
    # No weight was moved while another thread may read it.
    assert [weight.data_ptr() for weight in translator.models[0].parameters()] == places


@pytest.mark.parametrize("share", ["share_memory()", "sent by itself"])
def test_a_translator_goes_on_when_its_weights_were_moved(tokenizer: Tokenizer, share: str) -> None:
    translator = translator_of(tokenizer)
    texts = [found.text for found in translator.translate(TEXT)]
    model = translator.bundle.model

    if share == "share_memory()":
        model.share_memory()
    else:
        ForkingPickler.dumps(model)  # as a pool does
    assert all(weight.is_shared() for weight in model.parameters())

    assert [found.text for found in translator.translate(TEXT)] == texts
    with torch.no_grad():
        next(model.parameters()).zero_()
    with pytest.raises(ConfigError, match="its weights have changed"):
        translator.translate(TEXT)


def test_weights_that_were_written_again_are_refused_even_if_they_are_the_same(
    tokenizer: Tokenizer,
) -> None:
    translator = translator_of(tokenizer)
    model = translator.bundle.model

    model.load_state_dict(model.state_dict())

    with pytest.raises(ConfigError, match="or its weights have changed"):
        translator.translate(TEXT)


@pytest.mark.parametrize("engine", ["reference", "packed"])
def test_a_copy_and_what_another_process_unpickles_translate_the_same(
    translator: TextTranslator, engine: Literal["reference", "packed"]
) -> None:
    precision = "int8" if engine == "packed" else "float32"
    translator = TextTranslator(translator.bundle, engine, precision, ensemble=[translator.bundle])
    expected = translator.translate(TEXT)

    def kinds(translator: TextTranslator) -> list[tuple[type, object]]:
        engines: Any = getattr(translator.engine, "engines", None)
        all_kernels = [getattr(each, "backend", None) for each in engines]
        return [
            (type(each), getattr(kernels, "precision", None))
            for each, kernels in zip(engines, all_kernels, strict=True)
        ]

    assert all(own == (precision if engine == "packed" else None) for _, own in kinds(translator))

    for other in (copy.deepcopy(translator), pickle.loads(pickle.dumps(translator))):
        assert other.translate(TEXT) == expected
        assert kinds(other) == kinds(translator)
        assert len(other.models) == 2
        assert other.models[0] is not translator.models[0]


@pytest.mark.parametrize("engine", ["reference", "packed"])
def test_a_model_in_training_mode_does_not_translate(
    translator: TextTranslator, engine: Literal["reference", "packed"]
) -> None:
    translator = TextTranslator(copy.deepcopy(translator.bundle), engine)
    translator.bundle.model.train()
    with pytest.raises(ConfigError, match=r"in training mode.*Call its eval\(\)"):
        translator.translate("I am a student.")

    translator.bundle.model.eval()
    assert translator.translate("I am a student.").pieces


@pytest.mark.parametrize("blank", ["", " ", "\t \u3000", "\n"], ids=ascii)
def test_blank_stays_blank(translator: TextTranslator, blank: str) -> None:
    (result, other) = translator.translate([blank, "I am"], n_best=2)

    assert (result.text, result.pieces, result.score) == ("", (), 0.0)
    assert [h.text for h in result.hypotheses] == ["", ""]
    alone = translator.translate("I am", n_best=2)
    assert [h.text for h in other.hypotheses] == [h.text for h in alone.hypotheses]


@pytest.mark.parametrize("beam_size", [1, 3], ids=["greedy", "beam"])
def test_order_and_result_do_not_depend_on_batching(
    translator: TextTranslator, beam_size: int
) -> None:
    sentences = [TEXT[1], "", TEXT[0], "I", TEXT[4], TEXT[1], " ", TEXT[2]]

    results = translator.translate(sentences, beam_size=beam_size)

    alone = [translator.translate(sentence, beam_size=beam_size) for sentence in sentences]
    one_by_one = translator.translate(sentences, beam_size=beam_size, batch_tokens=1)
    backwards = translator.translate(sentences[::-1], beam_size=beam_size)[::-1]
    for other in (alone, one_by_one, backwards):
        assert [r.text for r in results] == [r.text for r in other]
        assert [r.score for r in results] == pytest.approx([r.score for r in other], abs=1e-5)
    assert len({result.text for result in results}) > 3  # the sentences differ in translation


def test_the_defaults_of_the_bundle_stand_until_told_otherwise(tokenizer: Tokenizer) -> None:
    wide = translator_of(tokenizer, beam_size=5, length_penalty=2.0)
    narrow = translator_of(tokenizer, beam_size=1, length_penalty=0.0)

    assert wide.translate(TEXT) == narrow.translate(TEXT, beam_size=5, length_penalty=2.0)
    assert wide.translate(TEXT) != narrow.translate(TEXT)


def test_the_n_best_are_sorted_and_widen_the_beam_when_they_must(
    translator: TextTranslator,
) -> None:
    result = translator.translate(TEXT[0], n_best=4)

    scores = [h.score for h in result.hypotheses]
    assert 2 < len(scores) <= 4
    assert scores == sorted(scores, reverse=True)
    assert len({h.pieces for h in result.hypotheses}) == len(scores)
    assert result == translator.translate(TEXT[0], n_best=4, beam_size=4)


@pytest.mark.parametrize("beam_size", [1, 3], ids=["greedy", "beam"])
def test_a_translation_begins_with_its_prefix(translator: TextTranslator, beam_size: int) -> None:
    results = translator.translate(TEXT, prefix="the cat", beam_size=beam_size, n_best=beam_size)

    assert all(h.text.startswith("the cat") for r in results for h in r.hypotheses)


@pytest.mark.parametrize("beam_size", [1, 3], ids=["greedy", "beam"])
def test_the_score_is_what_the_model_says_of_the_pieces_after_a_source_with_its_end(
    translator: TextTranslator, beam_size: int
) -> None:
    model, tokenizer = translator.bundle.model, translator.bundle.source_tokenizer

    result = translator.translate(TEXT[2], beam_size=beam_size, length_penalty=1.0)

    ids = [tokenizer.id(piece) for piece in result.pieces]
    source = torch.tensor([[*tokenizer.encode(TEXT[2]), END_ID]])
    logits = model(source, torch.tensor([[START_ID, *ids]]))
    log_probs = logits[0].log_softmax(-1).gather(1, torch.tensor([*ids, END_ID])[:, None])
    assert result.hypotheses[0].log_prob == pytest.approx(log_probs.sum().item(), abs=1e-4)
    assert result.score == pytest.approx(log_probs.sum().item() * 6 / (6 + len(ids)), abs=1e-4)


def test_each_sentence_can_have_its_own_prefix(translator: TextTranslator) -> None:
    first, second = translator.translate(TEXT[:2], prefix=["You go", ""])

    assert first.text.startswith("You go")
    alone = translator.translate(TEXT[1])
    assert second.text == alone.text
    assert second.score == pytest.approx(alone.score, abs=1e-4)


def test_another_number_of_prefixes_is_refused(translator: TextTranslator) -> None:
    with pytest.raises(ConfigError, match="There are 1 prefixes for 2 sentences"):
        translator.translate(TEXT[:2], prefix=["You"])


def test_a_sentence_that_is_too_long_is_split_at_a_sentence_end_and_flagged(
    tokenizer: Tokenizer,
) -> None:
    first, second = "나는 학생입니다. 나는 집에 갑니다.", "너는 학교에 갑니다."
    longest = len(tokenizer.encode(first)) + 2
    translator = translator_of(tokenizer, max_source_pieces=longest)

    whole = translator.translate(f"{first} {second}", n_best=2, split_sentences=False)

    parts = translator.translate([first, second], n_best=2, split_sentences=False)
    assert (whole.num_parts, whole.num_sentences, parts[0].num_parts) == (2, 1, 1)
    assert whole.text == " ".join(part.text for part in parts)
    assert whole.pieces == parts[0].pieces + parts[1].pieces
    assert whole.score == pytest.approx(parts[0].score + parts[1].score, abs=1e-5)
    assert whole.complete == (parts[0].complete and parts[1].complete)


def test_the_numbers_of_a_text_are_the_sums_of_those_of_its_sentences(
    tokenizer: Tokenizer,
) -> None:
    translator = translator_of(tokenizer, length_penalty=0.6)
    sentences = ["나는 학생입니다.", "Q 너는 학교에 갑니다."]

    whole = translator.translate(" ".join(sentences))

    alone = translator.translate(sentences)
    assert (whole.num_parts, whole.num_sentences) == (2, 2)
    assert whole.score == pytest.approx(sum(part.score for part in alone), abs=1e-5)
    log_probs = [part.hypotheses[0].log_prob for part in alone]
    assert whole.hypotheses[0].log_prob == pytest.approx(sum(log_probs), abs=1e-5)
    assert whole.score > sum(log_probs)  # the penalty of each length divides each sum
    assert whole.unknown_pieces == sum(part.unknown_pieces for part in alone) > 0
    assert whole.pieces == alone[0].pieces + alone[1].pieces


def test_a_prefix_belongs_to_the_first_part(tokenizer: Tokenizer) -> None:
    translator = translator_of(tokenizer, max_source_pieces=8)

    result = translator.translate(TEXT[1], prefix="the cat")

    assert result.num_parts > 1
    assert result.text.startswith("the cat")
    assert result.text.count("the cat") == 1


def test_the_output_limit_is_the_source_and_some_more_and_is_flagged(
    tokenizer: Tokenizer,
) -> None:
    translator = translator_of(tokenizer, max_extra_pieces=1, beam_size=1)
    lengths = [len(tokenizer.encode(sentence)) for sentence in TEXT]

    results = translator.translate(TEXT, split_sentences=False)

    for length, result in zip(lengths, results, strict=True):
        assert len(result.pieces) <= length + 1
        assert result.complete == (len(result.pieces) < length + 1)
    assert not all(result.complete for result in results)
    generous = translator_of(tokenizer, max_extra_pieces=200, beam_size=4)
    assert any(result.complete for result in generous.translate(TEXT))


def test_unknown_pieces_of_the_source_are_counted(translator: TextTranslator) -> None:
    known, unknown = translator.translate(["I am a student.", "I am 龍 a 鬱 student."])

    assert (known.unknown_pieces, unknown.unknown_pieces) == (0, 2)


def end_of(stream: Generator[str, None, StreamEnd]) -> StreamEnd:
    while True:
        try:
            next(stream)
        except StopIteration as ended:
            return ended.value


def test_characters_that_the_tokenizer_deletes_are_counted(translator: TextTranslator) -> None:
    texts = ["I am\u200b a student.", "I \ufffd\ud800 am \x07a student.", "\ufffd", "\u200b", " "]

    kept, *_, blank = results = translator.translate(texts)

    assert [result.deleted_characters for result in results] == [0, 3, 1, 0, 0]
    # Nothing is left of the third and fourth text; an empty line had nothing.
    assert [result.empty_parts for result in results[2:]] == [1, 1, 0]
    assert kept.unknown_pieces == blank.num_parts - 1 == 0
    for text, result in zip(texts, results, strict=True):
        end = end_of(translator.stream(text))
        assert end.deleted_characters == result.deleted_characters
        assert (end.empty_parts, end.num_parts) == (result.empty_parts, result.num_parts)
    assert translator.search(texts[1]).translation.deleted_characters == 3


@pytest.mark.parametrize(
    "option", [{"prefix": "나\x07"}, {"terms": ["나\ufffd"]}, {"glossary": {"I": "나\x07"}}]
)
def test_text_that_must_occur_has_no_characters_that_the_tokenizer_deletes(
    translator: TextTranslator, option: Any
) -> None:
    with pytest.raises(ConfigError, match=r"has '(\\x07|\ufffd)', which the tokenizer deletes"):
        translator.translate("I am a student.", **option)


def test_decomposed_hangul_is_translated_as_composed(translator: TextTranslator) -> None:
    decomposed = unicodedata.normalize("NFD", TEXT[0])
    assert decomposed != TEXT[0]

    assert translator.translate(decomposed) == translator.translate(TEXT[0])


ODD = {
    "emoji": "🙂👩\u200d👩\u200d👧🇰🇷",
    "control characters": "\x00\x07\x1b[31m\x7f",
    "other line ends": "a\u2028b\u0085c\rd\x0be",
    "two lines": "two\nlines",
    "lone surrogate": "\ud800",
    "invisible": "\ufeff\u200b\u202e",
    "special pieces": "<s> </s> <pad> <unk>",
    "combining": "e\u0301" * 50,
    "one long word": "나" * 20_000,
    "many sentences": "the cat. " * 2_222,
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_any_text_gives_exactly_one_line(translator: TextTranslator, odd: str) -> None:
    (result,) = translator.translate([odd], beam_size=1)

    assert "\n" not in result.text
    assert "\r" not in result.text
    assert result.num_parts >= 1
    if len(odd) >= 19_000:
        assert result.num_parts > 100
    result.text.encode("utf-8")


def test_learned_positions_limit_parts_and_output(tokenizer: Tokenizer) -> None:
    translator = translator_of(tokenizer, positions="learned", max_positions=9, max_extra_pieces=50)

    results = translator.translate([TEXT[1], "I am"])

    assert results[0].num_parts >= len(tokenizer.encode(TEXT[1])) / 8
    assert all(len(result.pieces) <= 8 * result.num_parts for result in results)
    with pytest.raises(ConfigError, match="the model has positions for 8"):
        translator.translate("I am", prefix=TEXT[1])


@pytest.mark.parametrize("name", ["beam_size", "n_best", "batch_tokens"])
def test_a_number_below_one_is_refused_by_name(translator: TextTranslator, name: str) -> None:
    with pytest.raises(ConfigError, match=f"^{name} is 0, but must be at least 1"):
        translator.translate("I am", **{name: 0})


def test_what_is_no_text_is_refused_with_its_place(translator: TextTranslator) -> None:
    with pytest.raises(
        ConfigError, match=r"Sentence 2 \(counted from 1\) is of type bytes, not text"
    ):
        translator.translate(["I am", b"bytes"])  # type: ignore[list-item]
    for odd in (None, b"bytes", 3):
        with pytest.raises(
            ConfigError, match=f"^The argument is of type {type(odd).__name__}, not text"
        ):
            translator.translate(odd)  # type: ignore[call-overload]


def test_a_device_that_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert resolve_device("cpu") == "cpu"
    assert resolve_device("auto") in ("cpu", "cuda", "mps")
    with pytest.raises(ConfigError, match=r"The device 'tpu' is not available here.*cpu"):
        resolve_device("tpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert [resolve_device(name) for name in ("auto", "cuda:1")] == ["cuda", "cuda:1"]
    for odd in ("cpu:1", "cpu:x", "cuda:2", "cuda:", "cuda:x", "cuda:01"):
        with pytest.raises(ConfigError, match=f"The device '{odd}' is not available here"):
            resolve_device(odd)


def test_a_bundle_that_is_not_there_is_refused() -> None:
    with pytest.raises(BundleError, match="There is no bundle"):
        load("no/such/folder", device="cpu")


def test_a_line_of_nothing_but_a_tag_of_the_model_is_blank() -> None:
    tokenizer = train_tokenizer(TEXT, kind="bpe", vocabulary_size=70, symbols=["<2ko>", "<br>"])
    translator = translator_of(tokenizer)
    corpora = [{"tag": "<2ko>"}, {"tag": ""}]
    translator.bundle.record["config"] = {"data": {"corpora": corpora}}
    tagged = TextTranslator(translator.bundle)

    assert [t.text for t in tagged.translate(["<2ko>", " <2ko>  ", ""])] == ["", "", ""]
    assert tagged.requests.parts("<2ko> I go")
    assert tagged.requests.parts("<br>")  # a piece in angle brackets, but no tag
    assert translator.requests.parts("<2ko>")


def test_each_part_of_a_long_sentence_keeps_its_tag() -> None:
    tokenizer = train_tokenizer(TEXT, kind="bpe", vocabulary_size=70, symbols=["<2ko>", "home"])
    translator = translator_of(tokenizer, max_source_pieces=9)
    long = "I am a student. You go to school. I go home."
    tag = tokenizer.encode("<2ko>")

    parts = [part.ids for part in translator.requests.parts(f"<2ko> {long}")]

    assert len(parts) > 1
    assert all(part[: len(tag)] == tag and len(part) <= 9 for part in parts)
    assert [i for part in parts for i in part[len(tag) :]] == tokenizer.encode(long)
    assert all(tag[-1] not in part.ids for part in translator.requests.parts(long))
    assert translator.translate(f"<2ko> {long}", split_sentences=False).num_parts == len(parts)


@pytest.mark.parametrize("number", [1, 9])
def test_an_edit_works_on_every_sentence_of_an_engine_that_calls_the_model(
    translator: TextTranslator, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 4)  # workers, if it were for that alone
    by_module = TextTranslator(translator.bundle, engine="reference")
    sentences = (TEXT * 4)[: 2 * number]
    plain = by_module.translate(sentences, beam_size=1)
    model = translator.bundle.model
    edit = {"decoder.layers.0.feed_forward.output": zero()}

    with trace(model, edit=edit) as seen:
        edited = by_module.translate(sentences, beam_size=1)
        assert "decoder.output" in seen  # heard in this process
        alone = [by_module.translate(sentence, beam_size=1) for sentence in sentences]

    assert [t.text for t in edited] == [t.text for t in alone]
    assert all(a.score != b.score for a, b in zip(edited, plain, strict=True))


def test_an_engine_that_calls_no_part_of_the_model_is_heard_by_nobody_and_says_so(
    translator: TextTranslator,
) -> None:
    with (
        trace(translator.bundle.model),
        pytest.raises(ConfigError, match=r"calls no part.*engine='reference'"),
    ):
        translator.translate(TEXT)


def test_lists_that_can_be_read_only_once_are_read_once(translator: TextTranslator) -> None:
    terms = [["go "], ["student"]]

    listed = translator.translate(TEXT[2:5:2], terms=terms)
    once = translator.translate(TEXT[2:5:2], terms=[map(str.strip, own) for own in terms])  # type: ignore[arg-type]

    assert [t.text for t in once] == [t.text for t in listed]
    assert "student" in once[1].text
    single = TextTranslator(translator.bundle, ensemble=[translator.bundle])
    drained = TextTranslator(translator.bundle, ensemble=(b for b in [translator.bundle]))  # type: ignore[arg-type]
    assert len(copy.copy(drained).models) == len(single.models) == 2


@pytest.mark.parametrize("engine", ["packed", "reference"])
@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_model_of_no_numbers_is_refused(
    tokenizer: Tokenizer, engine: Literal["packed", "reference"], beam_size: int
) -> None:
    bundle = translator_of(tokenizer).bundle
    with torch.no_grad():
        bundle.model.get_parameter("decoder.layers.0.feed_forward.w_1.weight")[2, 3] = math.nan
    translator = TextTranslator(bundle, engine=engine)

    with pytest.raises(HeadwayError, match=r"not a number \(NaN\)"):
        translator.translate(TEXT[:2], beam_size=beam_size)
    with pytest.raises(HeadwayError, match=r"not a number \(NaN\)"):
        list(translator.stream(TEXT[0], options=SearchOptions(beam_size)))
    with pytest.raises(HeadwayError, match=r"not a number \(NaN\)"):
        translator.translate(TEXT[0], options=SearchOptions(beam_size, sampling=Sampling()))
