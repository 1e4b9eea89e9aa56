"""The losses are drawn from the record; without matplotlib the run goes on and says so."""

import json
import sys
from pathlib import Path

import pytest

from headway.training.picture import draw_losses


@pytest.fixture
def metrics(tmp_path: Path) -> Path:
    path = tmp_path / "metrics.jsonl"
    records = [
        {"kind": "step", "step": 50, "loss": 3.0},
        {"kind": "validation", "step": 60, "loss": 2.5},
        {"kind": "step", "step": 100, "loss": 2.0},
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_a_picture_is_drawn(metrics: Path, tmp_path: Path) -> None:
    said: list[str] = []

    draw_losses(metrics, tmp_path / "loss.png", said.append)

    assert (tmp_path / "loss.png").read_bytes().startswith(b"\x89PNG")
    assert not said
    assert {path.name for path in tmp_path.iterdir()} == {"metrics.jsonl", "loss.png"}


def test_without_matplotlib_it_says_what_to_install(
    metrics: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    said: list[str] = []

    draw_losses(metrics, tmp_path / "loss.png", said.append)

    assert said == [
        "No loss picture: matplotlib is not installed. Install headway[plot] to have one."
    ]
    assert not (tmp_path / "loss.png").exists()
