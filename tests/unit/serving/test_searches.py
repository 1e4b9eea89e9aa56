"""Searches over HTTP: the same records, event by event and under edits."""

import asyncio
import json
import threading
from collections.abc import AsyncGenerator
from dataclasses import asdict, replace
from typing import Any, cast

import pytest
from fastapi.testclient import TestClient

from headway.decoding.options import Sampling, SearchOptions
from headway.inspection.edit import forbid, zero
from headway.inspection.edited_search import search_edited
from headway.inspection.translator import Translator
from headway.serving import searches
from headway.serving.models import Explorer, Served
from headway.serving.schemas import SearchBody

SOURCE = "나는 너를 본다 ."
HEADS = "decoder.layers.1.cross_attention.heads"


def _plain(value: Any) -> Any:
    """Return a value as JSON brings it back."""
    return json.loads(json.dumps(value))


def _events(text: str) -> list[tuple[str, Any]]:
    found = []
    for block in text.strip().split("\n\n"):
        name, data = block.split("\n")
        found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


@pytest.mark.parametrize(
    ("asked", "options", "prefix"),
    [
        ({}, None, None),
        ({"beam": 1}, SearchOptions(1), None),
        ({"beam": 3, "length_penalty": 1.0}, SearchOptions(3, 1.0), None),
        ({"prefix": "I see", "max_length": 9}, SearchOptions(2, max_length=9), "I see"),
    ],
    ids=str,
)
def test_a_search_has_the_record_of_python(
    client: TestClient, translator: Translator, asked: Any, options: Any, prefix: Any
) -> None:
    answer = client.post("/api/search", json={"source": SOURCE, **asked})
    record = translator.search(SOURCE, options=options, prefix=prefix)
    assert answer.json() == {"record": _plain(record.as_dict())}


def test_a_sample_has_a_record(client: TestClient, translator: Translator) -> None:
    sampling = {"temperature": 2.0, "top_k": 9, "top_p": 0.9, "seed": 5}
    answer = client.post("/api/search", json={"source": SOURCE, "beam": 1, "sampling": sampling})
    options = SearchOptions(1, sampling=Sampling(**sampling))  # type: ignore[arg-type]
    assert answer.json()["record"] == _plain(translator.search(SOURCE, options=options).as_dict())
    text = translator.translate(SOURCE, mend_runaways=False, options=options).text
    assert answer.json()["record"]["translation"]["text"] == text


def test_events_come_in_order_and_make_the_record(
    client: TestClient, translator: Translator
) -> None:
    answer = client.post("/api/translate", json={"source": SOURCE, "prefix": "I"})
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = _events(answer.text)
    record = translator.search(SOURCE, prefix="I")
    names = [name for name, _ in events]
    assert names == ["encoded", *["step"] * len(record.steps), "done"]
    assert events[0][1]["source_pieces"] == list(record.source_pieces)
    assert events[0][1]["seconds"] > 0
    assert events[-1][1] == _plain({"record": record.as_dict(), "prefix_pieces": ["▁", "I"]})
    steps = [value for _, value in events[1:-1]]
    assert [step["step"] for step in steps] == list(range(len(steps)))
    for step, own in zip(steps, record.steps, strict=True):
        assert step["expansions"] == _plain([asdict(expansion) for expansion in own])
    nodes = [node for step in steps for node in step["nodes"]]
    unscored = [asdict(replace(node, score=None, complete=True)) for node in record.nodes[1:]]
    assert nodes == _plain(unscored)


@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize(
    ("edits", "python"),
    [
        ([{"name": HEADS, "kind": "zero", "where": {"head": [0, 1, 2]}}], {HEADS: zero()}),
        (
            [{"name": "source_mask", "kind": "forbid", "where": {"key": "나"}}],
            {"source_mask": forbid(key=1)},
        ),
    ],
    ids=["heads", "mask"],
)
def test_a_search_runs_under_edits(
    client: TestClient, translator: Translator, edits: Any, python: Any, beam: int
) -> None:
    body = {"source": SOURCE, "edits": edits, "beam": beam}
    record = client.post("/api/search", json=body).json()["record"]
    own = search_edited(translator, SOURCE, python, options=SearchOptions(beam))
    assert record == _plain(own.as_dict())
    plain = translator.search(SOURCE, options=SearchOptions(beam)).as_dict()
    assert record["steps"] != _plain(plain)["steps"]
    assert _events(client.post("/api/translate", json=body).text)[-1][1]["record"] == record
    # Nothing of it is left.
    assert translator.search(SOURCE, options=SearchOptions(beam)).as_dict() == plain


def test_the_first_step_under_edits_is_the_first_row_of_an_edited_trace(
    client: TestClient, translator: Translator
) -> None:
    edits = [{"name": HEADS, "kind": "zero", "where": {"head": 1}}]
    record = client.post("/api/search", json={"source": SOURCE, "edits": edits}).json()["record"]
    row = translator.trace(SOURCE, edit={HEADS: zero(head=1)})["probabilities"][0]
    for candidate in record["steps"][0][0]["candidates"]:
        assert candidate["probability"] == pytest.approx(float(row[candidate["piece_id"]]), 1e-5)


def test_two_edits_of_one_name_both_hold(client: TestClient) -> None:
    one_by_one = [{"name": HEADS, "kind": "zero", "where": {"head": h}} for h in (0, 2)]
    both = [{"name": HEADS, "kind": "zero", "where": {"head": [0, 2]}}]
    records = [
        client.post("/api/search", json={"source": SOURCE, "edits": edits}).json()
        for edits in (one_by_one, both)
    ]
    assert records[0] == records[1]


def test_a_tensor_of_another_trace_takes_its_place(client: TestClient) -> None:
    other = client.post("/api/trace", json={"source": "너는 나를 본다 ."}).json()
    same = client.post("/api/trace", json={"source": SOURCE}).json()
    records = []
    for trace in (same, other):
        edits = [{"name": "encoder.output", "kind": "replace", "trace": trace["id"]}]
        body = {"source": SOURCE, "edits": edits}
        records.append(client.post("/api/search", json=body).json()["record"])
    plain = client.post("/api/search", json={"source": SOURCE}).json()["record"]
    assert records[0] == plain
    assert records[1]["steps"] != plain["steps"]


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ({"name": "decoder.output", "kind": "zero", "where": {"target": 0}}, "one row of the"),
        ({"name": HEADS, "kind": "zero", "where": {"query": 0}}, "one row of the"),
        ({"name": HEADS, "kind": "zero", "where": {"batch": 0}}, "one row of the"),
        ({"name": "target_mask", "kind": "allow"}, "row by row"),
        ({"name": "probabilities", "kind": "zero"}, "finished pass"),
        ({"name": "encoder.outpt", "kind": "zero"}, "No pass has"),
        ({"name": HEADS, "kind": "zero", "value": 1.0}, "has a value"),
        ({"name": HEADS, "kind": "replace"}, "needs either"),
        ({"name": HEADS, "kind": "replace", "trace": "0"}, "no trace"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_edits_that_no_search_can_have_are_refused(
    client: TestClient, edit: Any, message: str
) -> None:
    for path in ("/api/search", "/api/translate"):
        answer = client.post(path, json={"source": SOURCE, "edits": [edit]})
        assert answer.status_code in (400, 404)
        assert message in answer.json()["error"]["message"]


def test_an_edit_that_fails_on_the_way_is_an_event(client: TestClient) -> None:
    edits = [{"name": HEADS, "kind": "zero", "where": {"head": 9}}]
    body = {"source": SOURCE, "edits": edits}
    events = _events(client.post("/api/translate", json=body).text)
    assert [name for name, _ in events] == ["encoded", "error"]
    assert "places 0 to 2" in events[-1][1]["error"]["message"]
    assert client.post("/api/search", json=body).status_code == 400


def test_a_search_ends_when_nobody_listens(served: Served) -> None:
    body = SearchBody(source=SOURCE, beam=1)
    task = searches.search_task(Explorer([served]), body)

    async def hear_one() -> None:
        stream = cast(AsyncGenerator[bytes, None], searches._events(task))
        async with served.turn:  # so that the search cannot have begun
            waiting = asyncio.ensure_future(anext(stream))
            await asyncio.sleep(0.01)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting

    before = set(threading.enumerate())
    asyncio.run(hear_one())
    for thread in set(threading.enumerate()) - before:
        thread.join(10)
        assert not thread.is_alive()


def test_a_search_for_several_sentences_is_refused_and_a_trace_of_a_pair_is_not(
    client: TestClient,
) -> None:
    text = "나는 너를 본다. 너는 나를 본다."
    for route in ("search", "translate", "trace"):
        answer = client.post(f"/api/{route}", json={"source": text})
        assert answer.status_code == 400
        assert answer.json()["error"] == {
            "message": "The text has 2 sentences, but a search is about one.",
            "remedy": "Give one of them, such as '나는 너를 본다.'; /api/sentences returns all of "
            "them, and /api/paragraph their translation.",
            "code": "sentences",
        }
    whole = {"source": text, "split_sentences": False}
    assert client.post("/api/search", json=whole).status_code == 200
    assert client.post("/api/trace", json={"source": text, "target": "I see"}).status_code == 200
