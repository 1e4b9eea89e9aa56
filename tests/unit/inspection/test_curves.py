"""Curves: positions, rates and losses, with their axes named."""

import json
import re
from pathlib import Path

import pytest

from headway.errors import DataError
from headway.inspection.curves import loss_curve, positional_encoding_map, rate_curve
from headway.model.positional_encoding import sinusoid_table


def texts_of(path: Path) -> list[str]:
    return re.findall(r"<!-- (.*?) -->", path.read_text(encoding="utf-8"))


def metrics(path: Path, losses: list[float]) -> Path:
    records: list[dict[str, object]] = [
        {"kind": "step", "step": step, "loss": loss, "rate": 0.1}
        for step, loss in enumerate(losses, 1)
    ]
    records += [
        {"kind": "validation", "step": len(losses), "loss": 1.0, "scores": {}},
        {"kind": "diagnosis", "step": 1, "problem": "p", "message": "m"},
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def test_positions_are_rows_and_dimensions_columns(tmp_path: Path) -> None:
    from matplotlib.image import imread

    positional_encoding_map(40, 16, tmp_path / "positions.png")

    # The last dimensions hardly change with the position: columns at the right are even.
    assert float(sinusoid_table(40, 16)[:, -2:].std(dim=0).max()) < 0.05
    picture = imread(tmp_path / "positions.png")[..., :3]
    height, width = picture.shape[:2]
    middle = slice(height // 4, height * 3 // 4)
    right = picture[middle, int(width * 0.72)]
    left = picture[middle, int(width * 0.12)]
    assert right.std(axis=0).max() < 0.05
    assert left.std(axis=0).max() > 0.15


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_every_figure_is_of_the_kind_that_its_name_says(tmp_path: Path, suffix: str) -> None:
    run = metrics(tmp_path / "metrics.jsonl", [3.0, 2.5, 2.0])
    paths = [tmp_path / f"{name}.{suffix}" for name in ("positions", "rate", "loss")]

    positional_encoding_map(10, 6, paths[0], layout="halved")
    rate_curve({"paper": [0.1, 0.2, 0.15], "flat": [0.1] * 5}, paths[1], title="제목")
    loss_curve(run, paths[2])

    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[suffix]
    assert all(path.read_bytes().startswith(start) for path in paths)


def test_axes_and_lines_have_names(tmp_path: Path) -> None:
    run = metrics(tmp_path / "metrics.jsonl", [3.0, 2.5, 2.0])
    rate_curve({"paper": [0.1, 0.2]}, tmp_path / "rate.svg")
    assert {"step", "learning rate", "paper"} <= set(texts_of(tmp_path / "rate.svg"))
    loss_curve(run, tmp_path / "one.svg", title="제목")
    assert {
        "step", "loss (nats per target token)", "training (smoothed labels)", "validation", "제목",
    } <= set(texts_of(tmp_path / "one.svg"))  # fmt: skip
    loss_curve({"작은": run, "big": run}, tmp_path / "two.svg")
    assert {"작은: validation", "big: validation"} <= set(texts_of(tmp_path / "two.svg"))


def test_nothing_to_draw_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no rate to draw"):
        rate_curve({"paper": []}, tmp_path / "rate.png")
    empty = tmp_path / "empty.jsonl"
    empty.write_text("", encoding="utf-8")
    with pytest.raises(DataError, match="has no losses"):
        loss_curve(empty, tmp_path / "loss.png")
    empty.write_text("\nno json\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 2: this is not JSON"):
        loss_curve(empty, tmp_path / "loss.png")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty.jsonl"]
