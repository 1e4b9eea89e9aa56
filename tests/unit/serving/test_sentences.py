"""Traced sentences: manifests, bytes, statistics and explanations are those of Python."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from fastapi.testclient import TestClient

from headway.decoding.familiarity import FAMILIARITY, Familiarity
from headway.decoding.options import SearchOptions
from headway.inspection.edit import zero
from headway.inspection.one_sentence import trace_sentence
from headway.inspection.steps import target_rows
from headway.inspection.translator import Translator
from headway.serving.app import create_app
from headway.serving.models import Served

from .conftest import OWN

SOURCE = "나는 너를 본다 ."
NAME = "decoder.layers.1.cross_attention.weights"


def _tensor(answer: Any) -> torch.Tensor:
    kind = {"float32": "<f4", "bool": "u1"}[answer.headers["x-type"]]
    shape = [int(size) for size in answer.headers["x-shape"].split(",") if size]
    numbers = torch.from_numpy(np.frombuffer(answer.content, kind).copy()).reshape(shape)
    return numbers.bool() if kind == "u1" else numbers


def test_the_manifest_is_that_of_the_trace(traced: dict[str, Any], translator: Translator) -> None:
    seen = translator.trace(SOURCE)
    sentence = seen.sentence
    assert sentence is not None
    own = traced["sentence"]
    assert (own["source"], own["target"]) == (sentence.source, sentence.target)
    for key in ("source_pieces", "reads", "writes", "source_ids", "target_ids"):
        assert own[key] == list(getattr(sentence, key))
    rows = target_rows(seen, 10)
    assert len(traced["rows"]) == len(rows)
    for told, row in zip(traced["rows"], rows, strict=True):
        assert (told["reads"], told["writes"]) == (row.reads, row.writes)
        assert told["probability"] == row.probability
        assert [tuple(pair) for pair in told["best"]] == list(row.best)
        assert told["others"] == row.others
        assert told["other_pieces"] == row.other_pieces
        shares = [*(share for _, share in row.best)]
        assert sum(shares) + row.others == pytest.approx(1)
        assert 0 < told["entropy"] == row.entropy
    assert traced["nbytes"] == seen.nbytes
    assert (traced["edits"], traced["model"]) == ({}, "small")
    assert traced["unfamiliar"] is False


def test_a_sentence_beyond_a_calibrated_model_is_marked_unless_edited(served: Served) -> None:
    limits = Familiarity(-1.0, frozenset()).record()  # every sentence is beyond them
    bundle = replace(served.translator.bundle, record={FAMILIARITY: limits})
    calibrated = Served("limited", Translator(bundle, "reference"), "d" * 64)
    with TestClient(create_app([calibrated]), base_url=OWN) as client:
        plain, edited = (
            client.post("/api/trace", json={"source": SOURCE, **more}).json()
            for more in ({}, {"edits": [{"name": NAME, "kind": "zero"}]})
        )
        text = client.post("/api/paragraph", json={"source": "나는 본다. 너는 본다."}).json()
    assert (plain["unfamiliar"], edited["unfamiliar"]) == (True, False)
    assert [sentence["unfamiliar"] for sentence in text["sentences"]] == [True, True]


def test_every_tensor_of_the_manifest_has_its_shape_type_and_bytes(
    client: TestClient, traced: dict[str, Any], translator: Translator
) -> None:
    seen = translator.trace(SOURCE)
    assert {t["name"] for t in traced["tensors"]} == {*seen.names("*"), *seen.names(derived=True)}
    for row in traced["tensors"]:
        answer = client.get(f"/api/traces/{traced['id']}/tensors/{row['name']}")
        own = seen[row["name"]]
        assert row["shape"] == list(own.shape)
        assert [axis["name"] for axis in row["axes"]] == [axis.name for axis in own.axes]
        assert answer.headers["x-axes"] == ",".join(axis.name for axis in own.axes)
        assert answer.headers["x-type"] == row["type"]
        assert torch.equal(_tensor(answer), own.as_subclass(torch.Tensor))
        lengths = {"source": "source_pieces", "target": "writes", "reads": "reads"}
        for axis, size in zip(row["axes"], row["shape"], strict=True):
            if axis["pieces"] in lengths:
                assert size == len(traced["sentence"][lengths[axis["pieces"]]])
    assert sum(row["derived"] for row in traced["tensors"]) > 2


def test_parts_are_at_places(
    client: TestClient, traced: dict[str, Any], translator: Translator
) -> None:
    seen, path = translator.trace(SOURCE), f"/api/traces/{traced['id']}/tensors"
    part = client.get(f"{path}/{NAME}", params={"head": 2, "key": "</s>"})
    assert part.headers["x-axes"] == "query"
    assert torch.equal(_tensor(part), seen[NAME].at(head=2, key="</s>").as_subclass(torch.Tensor))
    stacked = client.get(f"{path}/decoder.layers.*.cross_attention.weights", params={"query": -1})
    assert stacked.headers["x-axes"] == "layer,head,key"
    own = seen["decoder.layers.*.cross_attention.weights"].at(query=-1)
    assert torch.equal(_tensor(stacked), own.as_subclass(torch.Tensor))


def test_other_types_are_sent_as_float32(client: TestClient, traced: dict[str, Any]) -> None:
    from headway.serving.sentences import tensor_bytes

    for dtype in (torch.bfloat16, torch.float64):
        kind, data = tensor_bytes(torch.tensor([1.5, -float("inf")], dtype=dtype))
        assert (kind, data) == ("float32", np.array([1.5, -np.inf], "<f4").tobytes())
    assert tensor_bytes(torch.tensor([True, False])) == ("bool", b"\x01\x00")


def test_statistics_leave_out_what_is_not_finite(
    client: TestClient, traced: dict[str, Any], translator: Translator
) -> None:
    name = "decoder.layers.0.self_attention.masked_scores"
    told = client.get(f"/api/traces/{traced['id']}/statistics/{name}").json()
    own = translator.trace(SOURCE)[name].as_subclass(torch.Tensor).double()
    finite = own[own.isfinite()]
    length = own.size(-1)
    assert told["not_finite"] == {"-inf": 3 * length * (length - 1) // 2}
    assert told["shape"] == [3, length, length]
    assert told["min"] == finite.min().item()
    assert told["mean"] == pytest.approx(finite.mean().item())
    assert told["std"] == pytest.approx(finite.std(correction=0).item())
    assert told["norm"] == pytest.approx(finite.norm().item())
    mask = client.get(f"/api/traces/{traced['id']}/statistics/target_mask").json()
    assert mask["zeros"] == pytest.approx((length - 1) / 2 / length)


@pytest.mark.parametrize("language", ["en", "ko"])
def test_explanations_are_those_of_python(
    client: TestClient, traced: dict[str, Any], translator: Translator, language: Any
) -> None:
    where: dict[str, Any] = {"head": 1, "query": 0, "key": 0}
    path = f"/api/traces/{traced['id']}/explain/{NAME}"
    told = client.get(path, params={**where, "language": language}).json()
    own = translator.trace(SOURCE).explain(NAME, language=language, **where)
    assert told == own.as_dict() | {"text": str(own)}
    assert told["value"] == own.value


def test_minus_infinity_is_null_in_json(client: TestClient, traced: dict[str, Any]) -> None:
    path = f"/api/traces/{traced['id']}/explain/decoder.layers.0.self_attention.masked_scores"
    told = client.get(path, params={"head": 0, "query": 0, "key": 1}).json()
    assert told["value"] is None
    assert "-∞" in told["text"]


def test_a_text_that_is_asked_for_as_one_sentence_has_a_trace_without_a_warning(
    client: TestClient,
) -> None:
    body = {"source": "나는 너를 본다 . 너는 나를 본다 .", "split_sentences": False}
    assert client.post("/api/trace", json=body).status_code == 200


def test_the_same_request_has_the_same_id_and_is_computed_once(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    def counted(*args: Any, **kwargs: Any) -> Any:
        made.append(args)
        return trace_sentence(*args, **kwargs)

    monkeypatch.setattr("headway.serving.sentences.trace_sentence", counted)
    first = client.post("/api/trace", json={"source": SOURCE}).json()
    # The model's own way to search, written out.
    body = {"source": SOURCE, "beam": 2, "length_penalty": 0.6, "prefix": " ", "model": "small"}
    assert client.post("/api/trace", json=body).json() == first
    assert len(made) == 1
    ids = {first["id"]}
    for other in ({"beam": 3}, {"model": "pre"}, {"target": "I see"}, {"prefix": "I"},
                  {"edits": [{"name": NAME, "kind": "zero"}]}):  # fmt: skip
        ids.add(client.post("/api/trace", json={"source": SOURCE, **other}).json()["id"])
    assert len(ids) == len(made) == 6


def test_targets_are_texts_or_pieces(client: TestClient) -> None:
    text = client.post("/api/trace", json={"source": SOURCE, "target": "I see"}).json()
    assert text["sentence"]["target"] == "I see"
    pieces = text["sentence"]["writes"][:-1]
    told = client.post("/api/trace", json={"source": SOURCE, "target": pieces}).json()
    assert told["sentence"] == text["sentence"]
    empty = client.post("/api/trace", json={"source": SOURCE, "target": ""}).json()
    assert empty["sentence"]["writes"] == ["</s>"]


def test_an_edited_trace_is_over_the_target_of_the_unedited_model(
    client: TestClient, traced: dict[str, Any], translator: Translator
) -> None:
    edits = [{"name": "decoder.layers.*.heads", "kind": "zero", "where": {"head": 1, "query": [0]}}]
    told = client.post("/api/trace", json={"source": SOURCE, "edits": edits}).json()
    assert told["sentence"] == traced["sentence"]
    own = translator.trace(SOURCE, edit={"decoder.layers.*.heads": zero(head=1, query=[0])})
    assert told["edits"] == own.edits
    answer = client.get(f"/api/traces/{told['id']}/tensors/logits")
    assert torch.equal(_tensor(answer), own["logits"].as_subclass(torch.Tensor))


def test_options_change_the_search(client: TestClient, translator: Translator) -> None:
    body = {"source": SOURCE, "beam": 1, "prefix": "you", "max_length": 6}
    told = client.post("/api/trace", json=body).json()
    own = translator.trace(SOURCE, options=SearchOptions(1, max_length=6), prefix="you")
    assert own.sentence is not None
    assert told["sentence"]["target"] == own.sentence.target
