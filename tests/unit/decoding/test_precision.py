"""The fastest precision is measured once, remembered, and never in the way."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from headway.decoding import precision
from headway.decoding.build_engine import build_engine
from headway.decoding.precision import fastest
from headway.kernels import dispatch
from headway.kernels.dispatch import Precision
from headway.model.transformer import Transformer

CPU = torch.device("cpu")
ALL: list[Precision] = ["float32", "bfloat16", "int8"]


@pytest.fixture
def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    calls: list[tuple[int, int]] = []

    def measure(
        device: torch.device, d_model: int, d_ff: int, candidates: Sequence[Precision]
    ) -> str:
        assert candidates == ALL
        calls.append((d_model, d_ff))
        return "int8"

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(precision, "_measure", measure)
    monkeypatch.setattr(dispatch, "scores_as_float32", lambda *_: True)
    return calls


def test_a_size_is_measured_once(measured: list[tuple[int, int]]) -> None:
    assert [fastest(CPU, 8, 16) for _ in range(3)] == ["int8"] * 3
    assert fastest(CPU, 8, 32) == "int8"

    assert measured == [(8, 16), (8, 32)]


@pytest.mark.parametrize("content", ["", "[1]", "{", "null"])
def test_a_damaged_memory_is_replaced(
    content: str, measured: list[tuple[int, int]], tmp_path: Path
) -> None:
    file = tmp_path / "headway" / "precision.json"
    file.parent.mkdir()
    file.write_text(content)

    assert fastest(CPU, 8, 16) == fastest(CPU, 8, 16) == "int8"

    assert measured == [(8, 16)]
    assert list(json.loads(file.read_text()).values()) == ["int8"]


def test_a_precision_that_does_not_exist_is_not_believed(
    measured: list[tuple[int, int]], tmp_path: Path
) -> None:
    fastest(CPU, 8, 16)
    file = tmp_path / "headway" / "precision.json"
    file.write_text(file.read_text().replace("int8", "int4"))

    assert fastest(CPU, 8, 16) == "int8"
    assert len(measured) == 2


def test_where_nothing_can_be_written_it_is_measured_again(
    measured: list[tuple[int, int]], tmp_path: Path
) -> None:
    (tmp_path / "headway").write_text("a file where the folder should be")

    assert [fastest(CPU, 8, 16) for _ in range(2)] == ["int8"] * 2

    assert len(measured) == 2


@pytest.mark.parametrize(
    ("least", "chosen"), [(0.5, "int8"), (0.95, "bfloat16"), (1.0, "bfloat16"), (2.8, "bfloat16")]
)
def test_the_least_time_wins_and_of_nearly_the_same_what_is_most_exact(
    least: float, chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter([3.0, 2.0, 5.0, 3.0, 1.0, 5.0, 3.0, 2.0, least])
    threads: set[int] = set()

    def seconds(run: object, device: torch.device) -> float:
        threads.add(torch.get_num_threads())
        return next(times)

    monkeypatch.setattr(precision, "_seconds", seconds)
    before = torch.get_num_threads()

    assert precision._measure(CPU, 8, 16, ALL) == chosen

    assert threads == {1}  # kernels have one
    assert torch.get_num_threads() == before


def test_auto_is_what_was_measured(measured: list[tuple[int, int]], tiny: Transformer) -> None:
    engine = build_engine(tiny, "packed", "auto")

    assert engine.backend.precision == "int8"  # pyright: ignore[reportAttributeAccessIssue]
    assert measured == [(14, 19)]


def test_where_float32_alone_is_worth_it_nothing_is_measured(
    measured: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "scores_as_float32", lambda name, *_: name == "float32")

    assert fastest(CPU, 512, 2048) == "float32"
    assert measured == []
