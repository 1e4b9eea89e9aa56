"""Texts of several sentences over HTTP: their sentences, and their translation as in Python."""

from dataclasses import replace
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.unit.serving.conftest import OWN

from headway.data.renumbered import renumbered
from headway.decoding.options import Sampling, SearchOptions
from headway.inspection.translator import Translator
from headway.serving.app import create_app
from headway.serving.models import Served
from headway.serving.paragraphs import sentences_of
from headway.serving.schemas import TextBody

TEXT = "나는 너를 본다.  너는 나를 본다. 나는 본다."
SENTENCES = ["나는 너를 본다.", "너는 나를 본다.", "나는 본다."]


def test_a_text_has_its_sentences_in_order(client: TestClient) -> None:
    answer = client.post("/api/sentences", json={"source": TEXT})
    assert answer.json() == {"sentences": SENTENCES}


@pytest.mark.parametrize(
    "body", [{"source": "나는 너를 본다 ."}, {"source": TEXT, "split_sentences": False}]
)
def test_a_text_that_is_not_split_is_returned_as_it_is(client: TestClient, body: Any) -> None:
    assert client.post("/api/sentences", json=body).json() == {"sentences": [body["source"]]}


@pytest.mark.parametrize(("usual", "count"), [(2, 2), (None, 1)])
def test_a_model_of_paragraphs_is_given_as_many_sentences_as_in_python(
    served: Served, usual: int | None, count: int
) -> None:
    bundle = served.translator.bundle
    record = {**bundle.record, "several_sentences": 0.9, "usual_sentences": usual}
    own = replace(served, translator=Translator(replace(bundle, record=record)))
    with TestClient(create_app([own]), base_url=OWN) as client:
        texts = client.post("/api/sentences", json={"source": TEXT}).json()["sentences"]
        answer = client.post("/api/paragraph", json={"source": TEXT}).json()
    assert len(texts) == len(answer["sentences"]) == count
    assert "".join(texts).replace(" ", "") == TEXT.replace(" ", "")
    assert answer["text"] == own.translator.translate(TEXT, mend_runaways=False).text


@pytest.mark.parametrize(
    ("asked", "options"),
    [
        ({}, None),
        ({"beam": 3, "length_penalty": 1.0}, SearchOptions(3, 1.0)),
        ({"beam": 1}, SearchOptions(1)),
    ],
    ids=str,
)
def test_the_translation_of_a_text_is_that_of_python(
    client: TestClient, translator: Translator, asked: Any, options: SearchOptions | None
) -> None:
    answer = client.post("/api/paragraph", json={"source": TEXT, **asked}).json()
    way: dict[str, Any] = {"mend_runaways": False, "options": options}
    whole = translator.translate(TEXT, **way)
    assert whole.num_sentences == len(SENTENCES)
    assert answer["text"] == whole.text
    assert [sentence["source"] for sentence in answer["sentences"]] == SENTENCES
    joined = "".join(own["space"] + own["translation"] for own in answer["sentences"])
    assert joined == whole.text
    for sentence in answer["sentences"]:
        alone = translator.translate(sentence["source"], **way)
        assert sentence["translation"] == alone.text


def test_each_sentence_of_a_text_is_what_a_search_for_it_finds_also_when_drawn(
    client: TestClient, translator: Translator
) -> None:
    sampling = {"temperature": 2.0, "top_k": 9, "top_p": 0.9, "seed": 5}
    body = {"beam": 1, "sampling": sampling}
    answer = client.post("/api/paragraph", json={"source": TEXT, **body}).json()
    options = SearchOptions(1, sampling=Sampling(**sampling))  # type: ignore[arg-type]
    for sentence in answer["sentences"]:
        record = translator.search(sentence["source"], options=options)
        assert sentence["translation"] == record.translation.text


def test_a_prefix_belongs_to_the_chosen_sentence(client: TestClient) -> None:
    free = client.post("/api/paragraph", json={"source": TEXT}).json()["sentences"]
    body = {"source": TEXT, "prefix": "you see", "chosen": 1}
    begun = client.post("/api/paragraph", json=body).json()["sentences"]
    assert begun[1]["translation"].startswith("you see")
    assert [begun[0], begun[2]["translation"]] == [free[0], free[2]["translation"]]


def test_a_text_without_a_sentence_or_too_long_or_with_a_choice_beyond_it_is_refused(
    client: TestClient,
) -> None:
    for source, count in ((TEXT, 0), (f"{TEXT} \ufffd\x07", 2)):
        answer = client.post("/api/paragraph", json={"source": source})
        assert answer.json()["deleted_characters"] == count
    for route in ("sentences", "paragraph"):
        for source, status, code in ((" ", 400, "blank"), ("나는 " * 1000, 413, "too-long")):
            answer = client.post(f"/api/{route}", json={"source": source})
            assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    answer = client.post("/api/paragraph", json={"source": "\ufffd\x07"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "blank")
    assert answer.json()["error"]["message"] == "The tokenizer deletes all characters of the text."
    begun = {"source": TEXT, "prefix": "見", "chosen": 1}
    answer = client.post("/api/paragraph", json=begun)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "prefix")
    answer = client.post("/api/paragraph", json={"source": TEXT, "chosen": 3})
    assert answer.status_code == 400
    assert answer.json()["error"]["message"] == (
        "'chosen' is 3, but the text has 3 sentences, counted from 0."
    )


def test_tags_before_a_text_are_put_before_each_of_its_sentences(served: Served) -> None:
    text = f"<2en> {TEXT}"
    requests = served.translator.requests
    sources = [own.source for own in sentences_of(served, TextBody(source=text))]
    assert len(sources) == len(SENTENCES)
    assert sources[0] == f"<2en> {SENTENCES[0]}"
    parts = requests.parts(text, at_most=1)
    for source, part in zip(sources, parts, strict=True):
        assert [own.ids for own in requests.parts(source)] == [part.ids]


@pytest.mark.parametrize("route", ["sentences", "paragraph"])
def test_text_without_a_tag_that_the_model_needs_is_refused(served: Served, route: str) -> None:
    bundle = served.translator.bundle
    own = bundle.source_tokenizer
    tagged = replace(
        bundle,
        record={"imported": {"tags": [">>deu<<", ">>fra<<"]}},
        source_tokenizer=renumbered(
            own.to_bytes(), own.pieces(range(4, len(own))), leading_tags=True
        ),
    )
    served = replace(served, translator=Translator(tagged))
    with TestClient(create_app([served]), base_url=OWN) as client:
        answer = client.post(f"/api/{route}", json={"source": TEXT})
    assert answer.status_code == 400
    assert "the model has >>deu<<, >>fra<<" in answer.json()["error"]["message"]
