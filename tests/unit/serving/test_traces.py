"""The store of traces stays within its bytes."""

from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from headway.inspection.translator import Translator
from headway.serving.app import create_app
from headway.serving.failures import RefusedError
from headway.serving.models import Served
from headway.serving.traces import StoredTrace, TraceStore, trace_id

OWN = "http://127.0.0.1:8080"


@pytest.fixture
def sources() -> Iterator[str]:
    words = ["나는", "너를", "본다", "너는", "나를", "보고", "있다"]
    return iter(f"{a} {b} {c} ." for a in words for b in words for c in words)


def test_fifty_translations_stay_within_the_limit(served: Served, sources: Iterator[str]) -> None:
    limit = 400_000
    app = create_app([served], cache_bytes=limit)
    ids = []
    with TestClient(app, base_url=OWN) as client:
        for _ in range(50):
            answer = client.post("/api/trace", json={"source": next(sources), "target": "I see"})
            assert answer.status_code == 200
            ids.append(answer.json()["id"])
            assert 0 < app.state.explorer.traces.nbytes <= limit
        assert len(set(ids)) == 50
        assert 0 < len(app.state.explorer.traces) < 50
        assert client.get(f"/api/traces/{ids[-1]}/lens").status_code == 200
        assert client.get(f"/api/traces/{ids[0]}/lens").status_code == 404


def test_what_was_used_last_stays(translator: Translator) -> None:
    trace = translator.trace("나는 너를 본다 .", "I see")
    store: TraceStore[str] = TraceStore(int(2.5 * trace.nbytes))
    for name in ("a", "b"):
        store.put(StoredTrace(name, "model", trace))
    store.get("a")
    store.put(StoredTrace("c", "model", trace))
    assert [name for name in "abc" if store.find(name)] == ["a", "c"]
    with pytest.raises(RefusedError, match="no trace 'b'"):
        store.get("b")


def test_a_trace_that_can_never_fit_is_refused(served: Served) -> None:
    app = create_app([served], cache_bytes=1000)
    with TestClient(app, base_url=OWN) as client:
        answer = client.post("/api/trace", json={"source": "나는 .", "target": "I see"})
    assert answer.status_code == 400
    assert "1,000" in answer.json()["error"]["message"]


def test_ids_tell_models_and_requests_apart() -> None:
    ids = {trace_id(c, r) for c in "ab" for r in ({"source": "x"}, {"source": "y"})}
    assert len(ids) == 4
    assert trace_id("a", {"x": 1, "y": 2}) == trace_id("a", {"y": 2, "x": 1})
