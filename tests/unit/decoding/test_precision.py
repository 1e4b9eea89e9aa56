"""The fastest precision is measured once, remembered, and never in the way."""

import itertools
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from headway.decoding import precision
from headway.decoding.build_engine import automatic_precision, build_engine
from headway.decoding.precision import DecoderSize, fastest
from headway.kernels import dispatch
from headway.kernels.dispatch import Precision
from headway.model.transformer import Transformer

CPU = torch.device("cpu")
ALL: list[Precision] = ["float32", "bfloat16", "int8"]
SMALL, OTHER = DecoderSize(1000, 8, 16, 30), DecoderSize(1000, 8, 32, 30)


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[DecoderSize]:
    calls: list[DecoderSize] = []

    def measure(device: torch.device, size: DecoderSize, candidates: Sequence[Precision]) -> str:
        assert candidates == ALL[1:]
        calls.append(size)
        return "int8"

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(precision, "_measure", measure)
    monkeypatch.setattr(dispatch, "scores_as_float32", lambda *_: True)
    monkeypatch.setattr(dispatch, "has_vnni", lambda: False)
    return calls


def test_with_vnni_nothing_is_measured(
    measured: list[DecoderSize], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "has_vnni", lambda: True)

    assert fastest(CPU, SMALL) == "int8"
    assert measured == []


def test_a_size_is_measured_once(measured: list[DecoderSize]) -> None:
    assert [fastest(CPU, SMALL) for _ in range(3)] == ["int8"] * 3
    assert fastest(CPU, OTHER) == "int8"

    assert measured == [SMALL, OTHER]


@pytest.mark.parametrize("content", ["", "[1]", "{", "null"])
def test_a_damaged_memory_is_replaced(
    content: str, measured: list[DecoderSize], tmp_path: Path
) -> None:
    file = tmp_path / "headway" / "precision.json"
    file.parent.mkdir()
    file.write_text(content)

    assert fastest(CPU, SMALL) == fastest(CPU, SMALL) == "int8"

    assert measured == [SMALL]
    assert list(json.loads(file.read_text()).values()) == ["int8"]


def test_a_precision_that_does_not_exist_is_not_believed(
    measured: list[DecoderSize], tmp_path: Path
) -> None:
    fastest(CPU, SMALL)
    file = tmp_path / "headway" / "precision.json"
    file.write_text(file.read_text().replace("int8", "int4"))

    assert fastest(CPU, SMALL) == "int8"
    assert len(measured) == 2


def test_where_nothing_can_be_written_it_is_measured_again(
    measured: list[DecoderSize], tmp_path: Path
) -> None:
    (tmp_path / "headway").write_text("a file where the folder should be")

    assert [fastest(CPU, SMALL) for _ in range(2)] == ["int8"] * 2

    assert len(measured) == 2


@pytest.mark.parametrize(
    ("least", "chosen"), [(0.5, "int8"), (0.95, "bfloat16"), (1.0, "bfloat16"), (2.8, "bfloat16")]
)
def test_the_least_time_wins_and_of_nearly_the_same_what_is_most_exact(
    least: float, chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = [[3.0, 2.0, 5.0], [3.0, 1.0, 5.0], [3.0, 2.0, least]]
    # A layer and the output, each with one row and with many.
    times = iter([seconds for turn in rounds for seconds in turn for _ in range(4)])
    threads: set[int] = set()

    def seconds(run: object, device: torch.device) -> float:
        threads.add(torch.get_num_threads())
        return next(times)

    monkeypatch.setattr(precision, "_seconds", seconds)
    before = torch.get_num_threads()

    assert precision._measure(CPU, SMALL, ALL) == chosen

    assert threads == {1}  # kernels have one
    assert torch.get_num_threads() == before
    assert next(times, None) is None


def test_a_step_is_its_layers_and_its_vocabulary(monkeypatch: pytest.MonkeyPatch) -> None:
    # int8 takes a third of the time in the output, and twice the time in the layers.
    times = itertools.cycle([3.0, 3.0] * 2 + [6.0, 1.0] * 2)
    monkeypatch.setattr(precision, "_seconds", lambda *_: next(times))

    few, many = (DecoderSize(640, 8, 16, vocabulary) for vocabulary in (30, 2**18))

    assert precision._measure(CPU, few, ["bfloat16", "int8"]) == "bfloat16"
    assert precision._measure(CPU, many, ["bfloat16", "int8"]) == "int8"


def test_auto_is_what_was_measured(measured: list[DecoderSize], tiny: Transformer) -> None:
    engine = build_engine(tiny, "packed", "auto")

    assert engine.backend.precision == "int8"  # pyright: ignore[reportAttributeAccessIssue]
    [size] = measured
    assert size[1:] == (14, 19, len(tiny.output_projection.weight))


@pytest.mark.parametrize(
    ("changes", "in_a_layer"),
    [
        # w_q, w_k, w_v and w_o of self-attention, w_q and w_o of cross-attention, two products.
        ({}, 6 * 12 * 12 + 2 * 12 * 7),
        ({"d_k": 5, "d_v": 2}, 12 * 3 * (5 + 5 + 2 + 2 + 5 + 2) + 2 * 12 * 7),
        ({"activation": "swiglu"}, 6 * 12 * 12 + 3 * 12 * 7),
        ({"decoder_past": "ssru"}, 4 * 12 * 12 + 2 * 12 * 7),
    ],
    ids=["plain", "widths of heads", "gated", "ssru"],
)
def test_the_weights_of_a_step_are_counted(
    changes: dict[str, Any],
    in_a_layer: int,
    build: Callable[..., Transformer],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = build(d_model=12, d_ff=7, num_heads=3, **{"d_k": 4, "d_v": 4} | changes)
    sizes: list[DecoderSize] = []
    monkeypatch.setattr(precision, "fastest", lambda device, size: sizes.append(size) or "float32")

    assert automatic_precision(model) == "float32"

    [size] = sizes
    assert size.weights == len(model.decoder.layers) * in_a_layer
    assert size.products_of_layers() * 12 * 7 == pytest.approx(size.weights)


def test_where_float32_alone_is_worth_it_nothing_is_measured(
    measured: list[DecoderSize], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "scores_as_float32", lambda name, *_: name == "float32")

    assert fastest(CPU, DecoderSize(2**24, 512, 2048, 37000)) == "float32"
    assert measured == []
