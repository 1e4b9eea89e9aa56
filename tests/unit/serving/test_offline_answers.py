"""The answers that a page in one file takes along are those of the server."""

import base64
import copy
import dataclasses
import json
import math
import re
from typing import Any

import numpy as np
import pytest
import torch
from fastapi.testclient import TestClient

from headway.inspection.translator import Translator
from headway.serving.addresses import write_address
from headway.serving.app import create_app
from headway.serving.models import Served

SOURCE = "나는 너를 본다 ."
OWN = "http://127.0.0.1:8080"
EDIT = {"name": "decoder.layers.1.cross_attention.heads", "kind": "zero", "where": {"head": 1}}


def _answers(client: TestClient, trace: dict[str, Any], **state: str) -> dict[str, Any]:
    address = write_address({"screen": "attention", "src": SOURCE, **state})
    answer = client.get(f"/api/traces/{trace['id']}/export.html", params={"state": address})
    assert answer.status_code == 200
    assert "attachment" in answer.headers["content-disposition"]
    found = re.search(r'id="answers">(.*?)</script>', answer.text, flags=re.DOTALL)
    assert found is not None
    return json.loads(found[1], parse_constant=pytest.fail)


def test_a_page_has_the_one_sentence_of_a_text_that_was_looked_at(client: TestClient) -> None:
    trace = client.post("/api/trace", json={"source": "너는 나를 본다."}).json()
    answers = _answers(client, trace, src="나는 너를 본다. 너는 나를 본다.", sent="1")
    address = write_address({"screen": "attention", "src": "너는 나를 본다."})
    assert answers["address"] == address
    assert [own["body"]["source"] for own in answers["searches"]] == ["너는 나를 본다."]


def test_every_tensor_is_that_of_the_server(client: TestClient, traced: dict[str, Any]) -> None:
    tensors = _answers(client, traced)["tensors"]
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
    assert answers["trace"] == {"body": {"source": SOURCE}, "manifest": traced}
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
    for method in ("gradient_x_input", "integrated_gradients", "occlusion"):
        attributed = client.post(f"{own}/attribute", json={"method": method}).json()
        assert others[_key("attribute", traced["id"], method)] == attributed
    table = np.frombuffer(base64.b64decode(answers["position"]["data"]), "<f4")
    asked = client.get("/api/position", params={"length": 128})
    assert table.tobytes() == asked.content


def test_nothing_is_inside_that_its_page_cannot_ask(
    client: TestClient, traced: dict[str, Any]
) -> None:
    answers = _answers(client, traced, edits=json.dumps([EDIT]))
    kinds = [json.loads(question)[0] for question in answers["others"]]
    # Two layers or none named, three heads or none, and two moments.
    assert {kind: kinds.count(kind) for kind in kinds} == {"lens": 1, "align": 24, "attribute": 3}
    assert {"vocabulary", "traces"}.isdisjoint(answers)


@pytest.mark.parametrize(
    ("given", "told"), [("runs/demo", "runs/demo"), ("/home/who/runs/demo", "demo"), (None, "own")]
)
def test_a_file_names_no_folder_of_the_machine(
    translator: Translator, given: str | None, told: str
) -> None:
    served = Served("own", translator, "c" * 64, path=given)
    with TestClient(create_app([served]), base_url="http://127.0.0.1:8080") as own:
        traced = own.post("/api/trace", json={"source": SOURCE}).json()
        assert own.get("/api/model").json()["given"] == (given or "own")
        assert _answers(own, traced)["model"]["given"] == told


@pytest.mark.parametrize("wrong", ["[", "3", '"x"', '[{"name": "no.such", "kind": "zero"}]'])
def test_what_the_address_says_wrongly_makes_no_difference(
    client: TestClient, traced: dict[str, Any], wrong: str
) -> None:
    answers = _answers(client, traced, edits=wrong, beam="-7", lp="x")
    assert answers["trace"]["manifest"] == traced


def test_a_trace_that_is_gone_is_asked_for_again(client: TestClient) -> None:
    assert client.get("/api/traces/none/export.html").status_code == 404


def _key(*question: Any) -> str:
    return json.dumps(question, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def test_a_page_shows_no_edited_trace(client: TestClient) -> None:
    trace = client.post("/api/trace", json={"source": SOURCE, "edits": [EDIT]}).json()
    answer = client.get(f"/api/traces/{trace['id']}/export.html")
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "edit"


def test_a_model_that_is_broken_can_be_looked_at(translator: Translator) -> None:
    model = copy.deepcopy(translator.bundle.model)
    with torch.no_grad():
        model.output_projection.weight[7, 3] = math.nan
    broken = Translator(dataclasses.replace(translator.bundle, model=model), engine="reference")
    with TestClient(create_app([Served("broken", broken, "d" * 64)]), base_url=OWN) as client:
        trace = client.post("/api/trace", json={"source": SOURCE, "target": "I see"}).json()
        answers = _answers(client, trace)  # refuses what is not a number
    assert answers["tensors"]
