"""The messages of the process that translates."""

import gc
import io
import itertools
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.decoding.translator import TextTranslator
from headway.service.engine.process import Engine


def _answers(translator: TextTranslator, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    torch.set_num_threads(2)
    out = io.StringIO()
    Engine(translator, out, None).run(json.dumps(message) for message in messages)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_each_text_of_a_job_is_answered(translator: TextTranslator) -> None:
    texts = ["나는 본다.", "", "너"]
    answers = _answers(translator, [{"job": 7, "client": "a", "texts": texts, "wish": {}}])
    assert sorted(answer["item"] for answer in answers) == [0, 1, 2]
    by_item = {answer["item"]: answer["translation"]["text"] for answer in answers}
    assert by_item == dict(enumerate(t.text for t in translator.translate(texts)))
    assert all(answer["job"] == 7 for answer in answers)


def test_a_bad_text_is_refused_alone_and_a_bad_wish_refuses_all(
    translator: TextTranslator,
) -> None:
    texts = ["나는 본다. 너는 본다.", "나"]
    job = {"job": 1, "client": "a", "texts": texts, "wish": {"terms": ["see"]}}
    answers = {answer["item"]: answer for answer in _answers(translator, [job])}
    assert "sentences" in answers[0]["error"]["message"]
    assert answers[0]["error"]["fault"] is False
    assert "see" in answers[1]["translation"]["text"]
    bad = {**job, "wish": {"n_best": 0}}
    assert ["error" in answer for answer in _answers(translator, [bad])] == [True, True]


def test_a_prefix_belongs_to_its_text(translator: TextTranslator) -> None:
    job = {"job": 1, "client": "a", "texts": ["나", "너"], "wish": {}, "prefixes": ["", "you"]}
    answers = {answer["item"]: answer for answer in _answers(translator, [job])}
    assert answers[1]["translation"]["text"].startswith("you")


def test_a_cancelled_job_is_not_answered_and_measures_are(translator: TextTranslator) -> None:
    job = {"job": 1, "client": "a", "texts": ["나는 너를 본다. " * 20] * 50, "wish": {}}
    answers = _answers(translator, [job, {"cancel": 1}, {"cancel": 9}, {"measure": 3}])
    (measured,) = [answer for answer in answers if "measured" in answer]
    assert (measured["measured"], measured["waiting"]) == (3, 0)
    assert len(answers) < 51


def test_messages_are_read_while_a_text_begins_and_jobs_begin_in_turn(
    translator: TextTranslator, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = io.StringIO()
    engine = Engine(translator, out, None)
    read, begun, units = threading.Event(), [], engine.maker.units

    def after_all_messages(job: int, *rest: Any) -> Any:
        assert read.wait(60)
        begun.append(job)
        return units(job, *rest)

    def messages() -> Iterator[str]:
        for job, texts in ((1, ["나", "너", "본다"]), (2, ["나는"]), (3, ["너는", "나"])):
            yield json.dumps({"job": job, "client": "a", "texts": texts, "wish": {}})
        yield json.dumps({"cancel": 3})
        yield json.dumps({"measure": 4})
        read.set()

    monkeypatch.setattr(engine.maker, "units", after_all_messages)
    engine.run(messages())
    assert begun == [1, 2, 1, 1]
    first, *answers = map(json.loads, out.getvalue().splitlines())
    assert first["measured"] == 4
    assert sorted((answer["job"], answer["item"]) for answer in answers) == [
        (1, 0), (1, 1), (1, 2), (2, 0),
    ]  # fmt: skip


@settings(max_examples=20)
@given(
    st.lists(st.lists(st.text("나는너보 ", min_size=1, max_size=9), max_size=5), max_size=4),
    st.integers(1, 3),
)
def test_the_parts_of_a_text_are_its_translation(
    translator: TextTranslator, texts: list[list[str]], n_best: int
) -> None:
    """Each comes before the whole, in order; some sentences are longer than the model takes."""
    joined = [". ".join(sentences) for sentences in texts]
    wish = {"parts": True, "n_best": n_best}
    told = [""] * len(texts)
    for answer in _answers(translator, [{"job": 1, "client": "a", "texts": joined, "wish": wish}]):
        if "part" in answer:
            told[answer["item"]] += answer["part"]
        else:
            assert told[answer["item"]] == answer["translation"]["text"]


class _Sent(io.StringIO):
    """Keeps the messages of each flush."""

    def __init__(self) -> None:
        super().__init__()
        self.groups: list[list[dict[str, Any]]] = []

    def flush(self) -> None:
        lines = self.getvalue().splitlines()[sum(map(len, self.groups)) :]
        self.groups += [[json.loads(line) for line in lines]] if lines else []


def test_answers_are_sent_when_their_job_is_complete(translator: TextTranslator) -> None:
    """So few messages are sent; if each answer is waited for, it is sent at once."""
    texts = ["", "나는 본다.", "너", "나는 너를 본다.", "본다"]

    def sent(wish: dict[str, Any], times: Iterator[float]) -> list[list[dict[str, Any]]]:
        out = _Sent()
        engine = Engine(translator, out, None, clock=lambda: next(times))
        engine.run(iter([json.dumps({"job": 1, "client": "a", "texts": texts, "wish": wish})]))
        return out.groups

    (all_,) = sent({}, itertools.repeat(0.0))
    assert sorted(answer["item"] for answer in all_) == [0, 1, 2, 3, 4]
    assert len(sent({}, itertools.count())) > 1  # much time passes
    with_parts = sent({"parts": True}, itertools.repeat(0.0))
    assert len(with_parts) > 1
    assert {answer["item"] for group in with_parts for answer in group} == set(range(5))


def test_a_short_text_does_not_wait_until_a_long_one_has_begun(
    translator: TextTranslator, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = io.StringIO()
    engine = Engine(translator, out, None)
    short_has_begun, units = threading.Event(), engine.maker.units

    def in_order(job: int, client: str, source: str, *rest: Any) -> Any:
        if len(source) > 5000:
            assert short_has_begun.wait(60)
        else:
            short_has_begun.set()
        return units(job, client, source, *rest)

    monkeypatch.setattr(engine.maker, "units", in_order)
    jobs = [{"job": n, "client": str(n), "texts": [text], "wish": {}}
            for n, text in enumerate((" " * 5001, "나는"))]  # fmt: skip
    engine.run(map(json.dumps, jobs))
    answers = map(json.loads, out.getvalue().splitlines())
    assert sorted((answer["job"], "translation" in answer) for answer in answers) == [
        (0, True), (1, True),
    ]  # fmt: skip


def test_a_document_is_that_of_the_translator(translator: TextTranslator) -> None:
    from headway.documents import translate_text

    texts = ["  나는 <b>본다</b>.\n\n너는 12 https://a.example/ <i>나</i>!\n", "<p>", "나"]
    for form in ("text", "html"):
        wish = {"form": form, "keep": ["12"]}
        job = {"job": 1, "client": "a", "texts": texts, "wish": wish}
        answers = {answer["item"]: answer for answer in _answers(translator, [job])}
        for item, text in enumerate(texts):
            expected = translate_text(translator, text, form, keep=["12"])
            told = answers[item]["translation"]
            assert told["text"] == expected.content
            assert told["flags"] == sorted(expected.flags)
            assert told["num_sentences"] == expected.sentences


def test_a_file_comes_and_goes_in_base64(translator: TextTranslator) -> None:
    from base64 import b64decode, b64encode

    from headway.documents import translate_file

    content = "나는 본다.\n\n  너\n".encode("utf-16")
    texts = [b64encode(data).decode() for data in (content, b"PK")]
    job = {"job": 1, "client": "a", "texts": texts[:1], "wish": {"form": "text", "file": True}}
    (answer,) = _answers(translator, [job])
    expected = translate_file(translator, content, "text").content
    assert b64decode(answer["translation"]["text"]) == expected
    job = {"job": 1, "client": "a", "texts": texts[1:], "wish": {"form": "docx", "file": True}}
    (answer,) = _answers(translator, [job])
    assert answer["error"]["fault"] is False


def test_a_cancelled_document_is_not_answered(translator: TextTranslator) -> None:
    wish = {"form": "html"}
    job = {"job": 1, "client": "a", "texts": ["<p>나는 너를 본다.</p>" * 300] * 9, "wish": wish}
    assert len(_answers(translator, [job, {"cancel": 1}])) < 9


def test_a_process_starts_translates_and_ends(bundle_path: Path) -> None:
    import asyncio

    from headway.service.model_process import ModelProcess, ProcessEndedError

    async def run() -> None:
        process = await ModelProcess.start([str(bundle_path), "--device", "cpu"])
        assert process.facts["source_language"] == "Korean"
        seen: list[int] = []
        answered = await process.translate(
            ["나", "너"], {}, each=lambda place, item: seen.append(place)
        )
        assert [item["item"] for item in answered] == [0, 1]
        assert sorted(seen) == [0, 1]
        long = asyncio.create_task(process.translate(["나는 너를 본다. " * 300] * 30, {}))
        await asyncio.sleep(0)
        long.cancel()
        await asyncio.gather(long, return_exceptions=True)
        assert (await process.measure())["waiting"] == 0  # after the cancellation, in order
        last = asyncio.create_task(process.translate(["나는"] * 9, {}))
        await asyncio.sleep(0)
        await process.close()
        assert len(await last) == 9  # what was accepted is finished
        assert process.process.returncode == 0
        try:
            await process.translate(["나"], {})
        except ProcessEndedError:
            return
        raise AssertionError

    asyncio.run(run())


def test_a_killed_process_fails_what_it_has(bundle_path: Path) -> None:
    import asyncio

    from headway.service.model_process import ModelProcess, ProcessEndedError

    problems: list[Any] = []

    async def run() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, told: problems.append(told))
        process = await ModelProcess.start([str(bundle_path), "--device", "cpu"])
        waiting = [
            asyncio.create_task(process.translate(["나는 너를 본다. " * 300] * 30, {})),
            asyncio.create_task(process.measure()),
        ]
        await asyncio.sleep(0)
        process.kill()
        results = await asyncio.gather(*waiting, return_exceptions=True)
        assert isinstance(results[0], ProcessEndedError)
        assert not process.is_alive

    asyncio.run(run())
    gc.collect()
    assert problems == []  # which a server would have in its log


def test_a_bundle_that_cannot_be_loaded_is_said(tmp_path: Path) -> None:
    import asyncio

    from headway.errors import BundleError
    from headway.service.model_process import ModelProcess

    async def run() -> str:
        try:
            await ModelProcess.start([str(tmp_path / "none")])
        except BundleError as error:
            return error.message
        return ""

    assert asyncio.run(run()).startswith("There is no bundle")
