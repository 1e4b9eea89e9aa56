"""The answers that a page in one file takes along are those of the server."""

import base64
import json
import re
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from headway.serving.addresses import write_address

SOURCE = "나는 너를 본다 ."
EDIT = {"name": "decoder.layers.1.cross_attention.heads", "kind": "zero", "where": {"head": 1}}


def _answers(client: TestClient, trace: dict[str, Any], **state: str) -> dict[str, Any]:
    address = write_address({"screen": "attention", "src": SOURCE, **state})
    answer = client.get(f"/api/traces/{trace['id']}/export.html", params={"state": address})
    assert answer.status_code == 200
    assert "attachment" in answer.headers["content-disposition"]
    found = re.search(r'id="answers">(.*?)</script>', answer.text, flags=re.DOTALL)
    assert found is not None
    return json.loads(found[1], parse_constant=pytest.fail)


def test_every_tensor_is_that_of_the_server(client: TestClient, traced: dict[str, Any]) -> None:
    tensors = _answers(client, traced)["tensors"][traced["id"]]
    assert set(tensors) == {entry["name"] for entry in traced["tensors"]}
    for name, packed in tensors.items():
        asked = client.get(f"/api/traces/{traced['id']}/tensors/{name}")
        assert base64.b64decode(packed["data"]) == asked.content
        assert ",".join(map(str, packed["shape"])) == asked.headers["x-shape"]
        assert ",".join(packed["axes"]) == asked.headers["x-axes"]
        assert packed["type"] == asked.headers["x-type"]


def test_the_other_answers_are_those_of_the_server(
    client: TestClient, traced: dict[str, Any]
) -> None:
    answers = _answers(client, traced, beam="3")
    assert answers["model"] == client.get("/api/model").json()
    assert answers["vocabulary"] == client.get("/api/vocabulary").json()["target"]
    assert answers["traces"] == [{"body": {"source": SOURCE}, "manifest": traced}]
    (search,) = answers["searches"]
    record = client.post("/api/search", json={"source": SOURCE, "beam": 3}).json()["record"]
    assert search["answer"]["record"] == record
    others = answers["others"]
    own = f"/api/traces/{traced['id']}"
    assert others[_key("lens", traced["id"])] == client.get(f"{own}/lens").json()
    aligned = client.get(f"{own}/align", params={"layer": 1, "head": 0, "reads": True}).json()
    options = {"layer": 1, "head": 0, "reads": True}
    assert others[_key("align", traced["id"], options)] == aligned
    assert others[_key("align", traced["id"], {})] == client.get(f"{own}/align").json()
    table = np.frombuffer(base64.b64decode(answers["position"]["data"]), "<f4")
    asked = client.get("/api/position", params={"length": 128})
    assert table.tobytes() == asked.content


def test_edits_of_the_state_are_traced_and_compared(
    client: TestClient, traced: dict[str, Any]
) -> None:
    answers = _answers(client, traced, edits=json.dumps([EDIT]))
    _, edited = answers["traces"]
    assert edited["body"]["edits"] == [EDIT]
    other = edited["manifest"]["id"]
    body = {"other": other}
    compared = client.post(f"/api/traces/{traced['id']}/compare", json=body).json()
    assert answers["others"][_key("compare", traced["id"], other)] == compared
    assert set(answers["tensors"][other]) == set(answers["tensors"][traced["id"]])


@pytest.mark.parametrize("wrong", ["[", "3", '"x"', '[{"name": "no.such", "kind": "zero"}]'])
def test_what_the_address_says_wrongly_is_left_out(
    client: TestClient, traced: dict[str, Any], wrong: str
) -> None:
    answers = _answers(client, traced, edits=wrong, beam="-7", lp="x")
    assert len(answers["traces"]) == 1


def test_a_trace_that_is_gone_is_asked_for_again(client: TestClient) -> None:
    assert client.get("/api/traces/none/export.html").status_code == 404


def _key(*question: Any) -> str:
    return json.dumps(question, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
