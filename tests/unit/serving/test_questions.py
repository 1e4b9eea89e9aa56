"""Lens, comparison, ablation, attribution, alignment: those of Python."""

import math
from typing import Any

import pytest
from fastapi.testclient import TestClient

from headway.decoding.alignment import pharaoh
from headway.evaluation.aligning import Reading, align_by, all_readings
from headway.evaluation.alignment_error import alignment_error, parse_gold
from headway.inspection.ablation import Head, head_importance, without_heads
from headway.inspection.attribution import attribute
from headway.inspection.comparing import compare
from headway.inspection.edit import zero
from headway.inspection.lens import logit_lens
from headway.inspection.translator import Translator

SOURCE, TARGET = "나는 너를 본다 .", "I see you ."
HEADS = "decoder.layers.0.cross_attention.heads"


@pytest.fixture
def path(client: TestClient) -> str:
    traced = client.post("/api/trace", json={"source": SOURCE, "target": TARGET}).json()
    return f"/api/traces/{traced['id']}"


def test_the_lens_is_that_of_python(client: TestClient, path: str, translator: Translator) -> None:
    told = client.get(f"{path}/lens").json()["layers"]
    own = logit_lens(translator.trace(SOURCE, TARGET))
    assert [layer["name"] for layer in told] == [layer.name for layer in own]
    for layer, python in zip(told, own, strict=True):
        assert layer["rows"] == [[list(pair) for pair in row.best] for row in python.rows]
        assert layer["norms"] == [row.norm for row in python.rows]
        assert layer["written"] == [row.written for row in python.rows]


def test_two_traces_are_compared(client: TestClient, path: str, translator: Translator) -> None:
    body = {
        "source": SOURCE, "target": TARGET, "edits": [{"name": HEADS, "kind": "zero"}],
    }  # fmt: skip
    other = client.post("/api/trace", json=body).json()["id"]
    told = client.post(f"{path}/compare", json={"other": other}).json()
    before = translator.trace(SOURCE, TARGET)
    own = compare(before, translator.trace(SOURCE, TARGET, edit={HEADS: zero()}))
    assert told["moved"] == [{"name": name, "relative": value} for name, value in own.moved]
    assert told["sentence"] == {"en": own.sentence("en"), "ko": own.sentence("ko")}
    for row, old, new in zip(told["rows"], own.before, own.after, strict=True):
        assert (row["before"], row["after"]) == (old.probability, new.probability)
    unlike = client.post("/api/trace", json={"source": "나는 .", "target": TARGET}).json()["id"]
    answer = client.post(f"{path}/compare", json={"other": unlike})
    assert (answer.status_code, "cannot be compared" in answer.text) == (400, True)


def test_each_head_is_off_in_turn(client: TestClient, path: str, translator: Translator) -> None:
    row = 3
    told = client.post(f"{path}/ablate", json={"row": row}).json()
    own = head_importance(translator, [SOURCE], [TARGET], place=row)
    seen = translator.trace(SOURCE, TARGET)
    assert seen.sentence is not None
    assert told["piece"] == seen.sentence.writes[row]
    label = seen.sentence.label_ids[row]
    whole = float(seen["log_probs"][row, label])
    assert math.log(told["probability"]) == pytest.approx(whole, abs=1e-5)
    for kind, short in zip(own.rises, ("encoder", "decoder", "cross"), strict=True):
        assert told[short] == (-own.rises[kind]).tolist()
    # And by hand, for one of them.
    with without_heads(translator.bundle.model, [Head("decoder.layers.1.self_attention", 2)]):
        off = translator.bundle.model(*_ids(seen.sentence)).log_softmax(-1)[0, row, label]
    assert told["decoder"][1][2] == pytest.approx(off.item() - whole, abs=1e-5)


def _ids(sentence: Any) -> tuple[Any, Any]:
    import torch

    return torch.tensor([sentence.source_ids]), torch.tensor([sentence.target_ids])


@pytest.mark.parametrize("method", ["gradient_x_input", "integrated_gradients", "occlusion"])
def test_every_row_is_attributed(
    client: TestClient, path: str, translator: Translator, method: Any
) -> None:
    told = client.post(f"{path}/attribute", json={"method": method}).json()
    seen = translator.trace(SOURCE, TARGET)
    assert seen.sentence is not None
    assert told["rows"] == list(seen["logits"].axes[0].labels())
    assert told["columns"] == [*seen.sentence.source_pieces, *seen.sentence.reads]
    for place, values in enumerate(told["values"]):
        own = attribute(translator, SOURCE, TARGET, place, method=method)
        scores = [*own.source_scores, *own.prefix_scores]
        assert values == scores + [None] * (len(told["columns"]) - len(scores))
        assert (told["baselines"][place], told["gaps"][place]) == (own.baseline, own.gap)
    assert None not in told["values"][-1]
    again = client.post(f"{path}/attribute", json={"method": method})
    assert again.json() == told


@pytest.mark.parametrize("moment", ["written", "read"])
@pytest.mark.parametrize("layer", [0, 1])
def test_words_are_aligned_as_by_the_command(
    client: TestClient, path: str, translator: Translator, layer: int, moment: Any
) -> None:
    asked = {"layer": layer, "reads": moment == "read"}
    told = client.get(f"{path}/align", params=asked).json()
    reading = Reading(layer, moment)
    own = align_by(translator, [SOURCE], [TARGET], [reading])[reading][0]
    assert told["pharaoh"] == pharaoh(own)
    assert told["source_words"] == SOURCE.split()
    assert told["target_words"] == TARGET.split()
    assert told["name"] == f"decoder.layers.{layer}.cross_attention.weights"
    for target, row in enumerate(told["matrix"]):
        assert 0 < sum(row) <= 1 + 1e-6
        assert (row.index(max(row)), target) in own


def test_heads_and_defaults_of_an_alignment(
    client: TestClient, path: str, translator: Translator
) -> None:
    last = client.get(f"{path}/align").json()
    assert last == client.get(f"{path}/align", params={"layer": 1, "reads": "false"}).json()
    heads = [client.get(f"{path}/align", params={"head": h}).json()["matrix"] for h in range(3)]
    mean = [
        [sum(cell) / 3 for cell in zip(*rows, strict=True)] for rows in zip(*heads, strict=True)
    ]
    for told, own in zip(last["matrix"], mean, strict=True):
        assert told == pytest.approx(own)


def test_a_word_with_an_unknown_character_is_one_word(client: TestClient) -> None:
    body = {"source": "나☃는 너를 본다 .", "target": "I s☃ee you ."}
    traced = client.post("/api/trace", json=body).json()
    own = f"/api/traces/{traced['id']}"

    told = client.get(f"{own}/align").json()

    assert told["source_words"] == ["나☃는", "너를", "본다", "."]
    assert told["target_words"] == ["I", "s⁇ee", "you", "."]
    assert client.post(f"{own}/align_error", json={"gold": "3-3"}).status_code == 200
    assert client.post(f"{own}/align_error", json={"gold": "3-4"}).status_code == 400


def test_an_alignment_by_hand_ranks_layers_and_heads(
    client: TestClient, path: str, translator: Translator
) -> None:
    rows = client.post(f"{path}/align_error", json={"gold": "0-0 1-2 2p1 3-3"}).json()["rows"]
    assert len(rows) == 2 * 4 * 2
    assert [row["error_rate"] for row in rows] == sorted(row["error_rate"] for row in rows)
    gold = [parse_gold("0-0 1-2 2p1 3-3")]
    readings = all_readings(translator.bundle.model)
    found = align_by(translator, [SOURCE], [TARGET], readings)
    means = {(r["layer"], r["reads"]): r["error_rate"] for r in rows if r["head"] is None}
    assert means == {
        (r.layer, r.moment == "read"): alignment_error(found[r], gold).error_rate for r in readings
    }
    body = {"gold": "0-0", "layer": 0, "head": 1, "reads": True}
    (only,) = client.post(f"{path}/align_error", json=body).json()["rows"]
    assert (only["layer"], only["head"], only["reads"]) == (0, 1, True)


@pytest.mark.parametrize(
    ("method", "question", "body"),
    [
        ("POST", "ablate", {"row": 99}),
        ("POST", "ablate", {"row": -1}),
        ("POST", "ablate", {}),
        ("POST", "attribute", {"method": "guess"}),
        ("POST", "compare", {"other": "0"}),
        ("POST", "align_error", {"gold": "9-9"}),
        ("POST", "align_error", {"gold": "one"}),
        ("POST", "align_error", {"gold": ""}),
        ("POST", "align_error", {"gold": "0-0", "head": 7}),
        ("GET", "align?layer=2", None),
        ("GET", "align?layer=-1", None),
        ("GET", "align?head=3", None),
        ("GET", "align?reads=maybe", None),
    ],
)
def test_questions_that_make_no_sense_are_refused(
    client: TestClient, path: str, method: str, question: str, body: Any
) -> None:
    answer = client.request(method, f"{path}/{question}", json=body)
    assert 400 <= answer.status_code < 500
    assert answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("name", "question", "refused"),
    [
        (HEADS, "ablate", True),
        (HEADS, "attribute", True),
        (HEADS, "lens", False),
        ("logits", "ablate", True),
        ("logits", "lens", True),
        ("logit*", "lens", True),
        ("decoder.output", "lens", True),
        ("decoder.layers.1.output", "lens", False),
    ],
)
def test_what_is_of_the_unedited_model_is_not_said_of_an_edited_one(
    client: TestClient, name: str, question: str, refused: bool
) -> None:
    edits = [{"name": name, "kind": "zero"}]
    body = {"source": SOURCE, "target": TARGET, "model": "pre", "edits": edits}
    path = f"/api/traces/{client.post('/api/trace', json=body).json()['id']}/{question}"
    asked = {"ablate": {"row": 0}, "attribute": {}}
    answer = client.post(path, json=asked[question]) if question in asked else client.get(path)
    assert answer.status_code == (400 if refused else 200)
    if refused:
        assert answer.json()["error"]["remedy"] == "Ask about the trace without edits."
