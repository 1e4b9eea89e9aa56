"""A saved trace is the same trace: every bit, axis and piece, in all three forms."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headway.errors import ConfigError, TraceError
from headway.inspection.edit import zero
from headway.inspection.trace import Trace, trace
from headway.inspection.translator import Translator
from headway.model.feed_forward import PositionwiseFeedForward

SENTENCE = "나는 너를 본다"
FORMS = ["safetensors", "json", "npz"]
by_form = pytest.mark.parametrize("form", FORMS)


@by_form
def test_a_trace_comes_back_as_it_was(translator: Translator, tmp_path: Path, form: str) -> None:
    edit = {"decoder.layers.0.cross_attention.heads": zero(head=1)}
    seen = translator.trace(SENTENCE, "I see", edit=edit)
    assert (seen["decoder.layers.0.self_attention.masked_scores"] == -math.inf).any()

    seen.save(tmp_path / f"trace.{form}")
    loaded = Trace.load(tmp_path / f"trace.{form}")

    assert loaded.equals(seen)
    assert loaded.sentence == seen.sentence
    assert loaded.variant == seen.variant
    assert loaded.edits == {"decoder.layers.0.cross_attention.heads": "zero(head=1)"}
    assert repr(loaded).split("\n")[1:] == repr(seen).split("\n")[1:]
    name = "decoder.layers.1.cross_attention.weights"
    assert loaded[name].at(head=0, query="I", key="나") == seen[name].at(head=0, query=1, key=1)
    assert torch.equal(loaded["probabilities"], seen["probabilities"])


@by_form
def test_a_trace_of_a_module_and_of_nothing_comes_back_too(tmp_path: Path, form: str) -> None:
    feed = PositionwiseFeedForward(4, 6).double()
    with trace(feed) as seen:
        feed(torch.randn(2, 3, 4).double())
    for number, one in enumerate((seen, Trace())):
        one.save(tmp_path / f"{number}.{form}")
        assert Trace.load(tmp_path / f"{number}.{form}").equals(one)


@by_form
def test_what_takes_weights_needs_the_model(
    translator: Translator, make, tmp_path: Path, form: str
) -> None:
    seen, path = translator.trace(SENTENCE, "I see"), tmp_path / f"trace.{form}"
    seen.save(path)
    loaded, place = Trace.load(path), {"target": 1, "vocabulary": 7}

    with pytest.raises(TraceError, match="Load it together with its model"):
        loaded.explain("logits", **place)
    with pytest.raises(TraceError, match="Load it together with its model"):
        loaded["decoder.layers.0.cross_attention.contributions"]
    assert str(loaded.explain("probabilities", **place)) == str(
        seen.explain("probabilities", **place)
    )

    whole = Trace.load(path, translator.bundle.model)
    assert str(whole.explain("logits", **place)) == str(seen.explain("logits", **place))
    with pytest.raises(TraceError, match="is the trace of another kind of model"):
        Trace.load(path, make(norm_position="pre").bundle.model)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    values=st.lists(st.floats(width=32), min_size=1, max_size=20),
    form=st.sampled_from(FORMS),
    dtype=st.sampled_from([torch.float32, torch.float64, torch.float16]),
)
def test_every_number_comes_back_and_json_stays_json(
    tmp_path: Path, values: list[float], form: str, dtype: torch.dtype
) -> None:
    one, path = Trace(), tmp_path / f"trace.{form}"
    numbers = torch.tensor(values, dtype=dtype)
    numbers[numbers.isnan()] = math.nan  # of the many bits of NaN, JSON keeps none
    one.put("x", numbers, [])

    one.save(path)

    assert Trace.load(path).equals(one)
    if form == "json":
        json.loads(path.read_text(), parse_constant=lambda name: pytest.fail(name))


def test_the_encoding_of_what_json_cannot_say(tmp_path: Path) -> None:
    one = Trace()
    one.put("x", torch.tensor([[1.5, -math.inf], [math.nan, math.inf], [-0.0, -math.inf]]), [])
    one.put("mask", torch.tensor([True, False]), [])
    one.save(tmp_path / "trace.json")

    saved = json.loads((tmp_path / "trace.json").read_text())

    assert saved["tensors"] == {
        "x": {
            "dtype": "float32",
            "shape": [3, 2],
            "not_finite": {"-inf": [1, 5], "inf": [3], "nan": [2]},
            "values": [1.5, None, None, None, -0.0, None],
        },
        "mask": {"dtype": "bool", "shape": [2], "values": [True, False]},
    }


def test_numpy_reads_the_npz_without_headway(translator: Translator, tmp_path: Path) -> None:
    seen = translator.trace(SENTENCE, "I see", record="attention")
    seen.save(tmp_path / "trace.npz")
    with np.load(tmp_path / "trace.npz") as file:
        name = "decoder.layers.0.cross_attention.weights"
        assert np.array_equal(file[name], seen[name].numpy())


def test_bfloat16_goes_into_safetensors_and_json_alone(tmp_path: Path) -> None:
    one = Trace()
    one.put("x", torch.tensor([1.5, -math.inf]).bfloat16(), [])
    for form in ("safetensors", "json"):
        one.save(tmp_path / f"trace.{form}")
        assert Trace.load(tmp_path / f"trace.{form}").equals(one)
    with pytest.raises(ConfigError, match="NumPy has no bfloat16"):
        one.save(tmp_path / "trace.npz")


def test_another_form_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot be written as '\.pt'"):
        Trace().save(tmp_path / "trace.pt")
    with pytest.raises(TraceError, match="cannot be written"):
        Trace().save(tmp_path / "none" / "trace.json")
    with pytest.raises(TraceError, match="cannot be read"):
        Trace.load(tmp_path / "none.json")


@by_form
@pytest.mark.parametrize("damage", [b"", b"{}", b"[1]", b"PK\x03\x04 nothing", b"\xff" * 40])
def test_what_is_no_trace_is_an_error_and_not_a_guess(
    tmp_path: Path, form: str, damage: bytes
) -> None:
    path = tmp_path / f"trace.{form}"
    path.write_bytes(damage)
    with pytest.raises(TraceError, match="is not a trace that this version can read"):
        Trace.load(path)


@by_form
def test_a_trace_of_another_version_is_refused(
    tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("headway.inspection.saving.FORMAT", 2)
        Trace().save(tmp_path / f"trace.{form}")
    with pytest.raises(TraceError, match="this version can read"):
        Trace.load(tmp_path / f"trace.{form}")


def test_what_cannot_be_read_is_not_said_to_be_written() -> None:
    with pytest.raises(ConfigError, match=r"cannot be read as '\.txt'\. Known: \.json"):
        Trace.load("trace.txt")
