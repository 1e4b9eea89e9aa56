"""Workers find what the translator finds, whatever shares their batches."""

import threading
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.bundle import Bundle
from headway.decoding.batch import StepwiseBatch
from headway.decoding.confidence import CONFIDENCE
from headway.decoding.glossary import Glossary
from headway.decoding.translator import TextTranslator
from headway.runtime import openmp
from headway.runtime.openmp import usable_cores
from headway.service.engine.texts import TextMaker, as_message
from headway.service.engine.waiting import WaitingLine
from headway.service.engine.wishes import Wish
from headway.service.engine.worker import Worker

WISHES: list[dict[str, Any]] = [
    {},
    {"n_best": 3},
    {"beam_size": 1},
    {"terms": ["see"], "split_sentences": False},
    {"banned": ["you"]},
    {"glossary": {"나*": "me"}},
    {"split_sentences": False, "alignments": True},
]
SOURCES = st.text("나는 너를 본다.!", max_size=12)


def _translated(
    translator: TextTranslator, asked: list[tuple[str, Mapping[str, Any]]], workers: int = 1
) -> list[Any]:
    """Translate through a line and workers; the results are in the order of the texts."""
    maker, line = TextMaker(translator), WaitingLine()
    done: dict[int, Any] = {}
    for number, (source, wish) in enumerate(asked):
        demands, take = maker.demands(Wish.of(wish)), partial(done.__setitem__, number)
        client = str(number % 3)
        text, units = maker.units(1, client, source, demands, take)
        if units:
            line.add(client, units)
        else:
            maker.finish(text)
    line.close()
    own = [Worker(maker, line, workers=workers) for _ in range(workers)]
    threads = [threading.Thread(target=worker.run) for worker in own]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [done[number] for number in range(len(asked))]


@settings(max_examples=12)
@given(st.lists(st.tuples(SOURCES, st.sampled_from(WISHES)), min_size=1, max_size=6))
def test_a_translation_does_not_depend_on_what_shares_its_batch(
    translator: TextTranslator, asked: list[tuple[str, dict[str, Any]]]
) -> None:
    for (source, wish), found in zip(asked, _translated(translator, asked), strict=True):
        names = {"alignments": "attention"}
        arguments = {names.get(name, name): value for name, value in wish.items()}
        expected = translator.translate(source, **arguments)
        assert [h.text for h in found.hypotheses] == [h.text for h in expected.hypotheses]
        assert found.score == pytest.approx(expected.score, abs=1e-4)
        assert found.alignment == expected.alignment
        assert as_message(found, alignments=False)["flags"] == list(expected.flags)


def test_several_workers_share_the_texts(translator: TextTranslator) -> None:
    asked = [(text, {}) for text in ["나는 본다.", "너", "너를 본다. 나는.", "", "나"] * 40]
    found = _translated(translator, asked, workers=2)
    expected = translator.translate([source for source, _ in asked])
    assert [t.text for t in found] == [t.text for t in expected]


def test_the_packed_engine_refills_its_batch(bundle: Bundle) -> None:
    packed = TextTranslator(bundle, engine="packed")
    asked = [(text, {}) for text in ["나는 본다.", "너", "너를 본다. 나는.", "나"] * 100]
    found = _translated(packed, asked)
    assert [t.text for t in found] == [t.text for t in packed.translate([s for s, _ in asked])]


def test_a_full_batch_is_left_alone_until_it_is_refilled(
    bundle: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted: list[tuple[int, int]] = []
    advance = StepwiseBatch.advance

    def noted(batch: StepwiseBatch[Any], enough: int = 1) -> Any:
        wanted.append((len(batch.search.rows()[0]), enough))
        return advance(batch, enough)

    monkeypatch.setattr(StepwiseBatch, "advance", noted)
    translator = TextTranslator(bundle, engine="reference")
    _translated(translator, [("나", {"beam_size": 1})] * 129)  # one more than there is room for
    assert wanted[0] == (128, 32)
    _translated(translator, [("나", {"beam_size": 1})] * 3)
    assert wanted[-1][1] == 1
    assert (3, 1) in wanted


@pytest.mark.parametrize("other", ["idle", "busy"])
def test_products_use_the_core_of_a_worker_that_is_idle(
    bundle: Bundle, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    translator = TextTranslator(bundle, engine="reference")
    maker, line = TextMaker(translator), WaitingLine()
    cores: set[int] = set()
    computes = {name: getattr(translator.engine, name) for name in ("step", "encode")}

    def compute(name: str, *arguments: Any) -> Any:
        cores.add(usable_cores())
        return computes[name](*arguments)

    for name in computes:
        setattr(translator.engine, name, partial(compute, name))
    monkeypatch.setattr(openmp, "num_cores", lambda: 7)
    waits = threading.Thread(target=line.next_kind)
    if other == "idle":
        waits.start()
        while not line.only_works(2):  # it has not begun to wait
            pass
    done: list[str] = []
    demands, take = maker.demands(Wish()), partial(_note, done, "나")
    line.add("a", maker.units(1, "a", "나", demands, take)[1])
    line.close()
    Worker(maker, line, workers=2).run()
    if other == "idle":
        waits.join()
    assert cores == {7 if other == "idle" else 1}
    assert done == ["나"]


@pytest.mark.parametrize("moment", ["step", "encode"])
def test_a_unit_that_arrives_joins_a_batch_with_room(bundle: Bundle, moment: str) -> None:
    translator = TextTranslator(bundle, engine="reference")
    maker, line = TextMaker(translator), WaitingLine()
    done: list[str] = []
    worker = Worker(maker, line)
    line.arrived = worker.offer

    def add(source: str) -> None:
        demands, take = maker.demands(Wish()), partial(_note, done, source)
        line.add("a", maker.units(1, "a", source, demands, take)[1])

    computes = {name: getattr(translator.engine, name) for name in ("step", "encode")}
    at_work, arrived = list[int](), list[str]()

    def compute(name: str, *arguments: Any) -> Any:
        if name == moment and not arrived:
            arrived.append(name)
            add("너는")
        if name == "step":
            at_work.append(len(worker.at_work))
        return computes[name](*arguments)

    for name in computes:
        setattr(translator.engine, name, partial(compute, name))
    add("나는 너를 본다")
    line.close()
    worker.run()
    assert at_work[:2] == [1, 2]
    assert sorted(done) == ["나는 너를 본다", "너는"]


def test_a_part_that_runs_away_is_searched_again_as_the_translator_does(bundle: Bundle) -> None:
    """A model with random weights repeats itself for most texts."""
    calibration = {"bias": 3.0, "score": 1.5, "length": 0.25}
    bundle = replace(bundle, record={**bundle.record, CONFIDENCE: calibration})
    translator = TextTranslator(bundle, engine="packed")
    asked = [(text, {}) for text in ["나나나", "너는 나를 본다.", "보", "있다 있다", "! 나"] * 3]
    found = _translated(translator, asked)
    expected = translator.translate([source for source, _ in asked])
    assert any("repeated" in translation.flags for translation in expected)
    assert [(t.text, t.flags) for t in found] == [(t.text, t.flags) for t in expected]
    for ours, theirs in zip(found, expected, strict=True):
        assert as_message(ours, alignments=False)["confidence"] == pytest.approx(theirs.confidence)


def test_dropped_texts_free_their_places(bundle: Bundle) -> None:
    maker, line = TextMaker(TextTranslator(bundle, engine="packed")), WaitingLine()
    done: list[str] = []
    worker = Worker(maker, line)
    texts = {}
    for number, source in enumerate(["나는 너를 본다", "너는", "나"]):
        take = partial(_note, done, source)
        texts[source], units = maker.units(number, "a", source, maker.demands(Wish()), take)
        line.add("a", units)
    texts["너는"].drop()
    line.close()
    worker.run()
    assert sorted(done) == sorted(["나는 너를 본다", "나"])
    assert not worker.at_work


def _note(done: list[str], source: str, found: Any) -> None:
    done.append(f"{source} {type(found).__name__}" if isinstance(found, Exception) else source)


def test_an_error_of_the_model_fails_its_texts_alone(bundle: Bundle) -> None:
    translator = TextTranslator(bundle, engine="reference")
    maker, line = TextMaker(translator), WaitingLine()
    done: list[str] = []
    worker = Worker(maker, line)
    start, calls = translator.engine.start, []

    def start_badly(slots: int, copies: int) -> Any:
        calls.append(copies)
        if len(calls) == 1:
            state = start(slots, copies)
            translator.engine.step = _raise  # type: ignore[method-assign]
            return state
        if len(calls) == 2:
            del translator.engine.step  # type: ignore[attr-defined]
        return start(slots, copies)

    translator.engine.start = start_badly  # type: ignore[method-assign]
    for number, (source, wish) in enumerate([("나", Wish()), ("너", Wish(beam_size=1))]):
        take = partial(_note, done, source)
        _, units = maker.units(number, "a", source, maker.demands(wish), take)
        line.add("a", units)
    line.close()
    worker.run()
    assert done == ["나 MemoryError", "너"]


def test_texts_for_which_no_batch_can_be_made_are_answered(bundle: Bundle) -> None:
    translator = TextTranslator(bundle, engine="reference")
    maker, line = TextMaker(translator), WaitingLine()
    done: list[str] = []
    translator.engine.start = _raise  # type: ignore[method-assign]
    for source in ("나", "너"):
        take = partial(_note, done, source)
        _, units = maker.units(1, "a", source, maker.demands(Wish()), take)
        line.add("a", units)
    line.close()
    Worker(maker, line).run()
    assert done == ["나 MemoryError", "너 MemoryError"]


def test_a_glossary_of_the_server_holds_where_a_request_has_none(
    translator: TextTranslator,
) -> None:
    maker = TextMaker(translator, Glossary({"나*": "me"}))
    own = maker.demands(Wish.of({"glossary": {}}))
    assert (maker.demands(Wish()).glossary, own.glossary) == (maker.glossary, None)


def _raise(*arguments: Any) -> torch.Tensor:
    raise MemoryError


def test_a_wish_is_what_its_message_says() -> None:
    for values in WISHES:
        assert Wish.of(values).as_message() == Wish.of(Wish.of(values).as_message()).as_message()
    assert Wish().as_message() == {}
    with pytest.raises(TypeError):
        Wish.of({"unknown": 1})
